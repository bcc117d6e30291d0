"""The exit status that the reports of a session explain, and failures in quarantine, which stop nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.inject import Version, each_version
from support.projects import environment, write_project
from support.sessions import Heard, pytest_session

from proctor import events as e

PASS, FAIL = "def test_ok(): pass\n", "def test_bad(): assert 0\n"
SETS_STATUS = "def pytest_sessionfinish(session): session.exitstatus = 1\n"
COUNTS = "def pytest_sessionfinish(session): session.testsfailed += 1\n"
LATE = "def pytest_runtest_logreport(report): report.outcome = 'passed'\n"


def status(heard: Heard) -> tuple[int | None, int | None]:
    return heard.finished.exit_status, heard.finished.by_tests


@pytest.mark.parametrize(
    "files, options, expected",
    [
        ({"test_a.py": PASS}, [], (0, 0)),
        ({"test_a.py": PASS + FAIL}, [], (1, 1)),
        ({"test_a.py": PASS + FAIL}, ["-n2"], (1, 1)),
        ({"test_a.py": FAIL, "test_b.py": FAIL}, ["-x"], (1, 1)),
        ({"test_a.py": FAIL, "test_b.py": FAIL}, ["--stepwise"], (2, None)),
        ({"test_a.py": ""}, [], (5, 5)),
        ({"test_a.py": PASS}, ["-k", "nothing"], (5, 5)),
        ({"test_a.py": PASS, "test_b.py": "import nothing_\n"}, [], (2, 2)),
        ({"test_a.py": PASS, "test_b.py": "import nothing_\n"}, ["-x"], (2, 2)),
        ({"test_a.py": PASS, "test_b.py": "import nothing_\n"}, ["--continue-on-collection-errors"], (1, 1)),
        ({"test_a.py": PASS, "test_b.py": "import nothing_\n"}, ["-n2"], (1, 1)),
        ({"test_a.py": PASS, "conftest.py": SETS_STATUS}, [], (1, None)),
        ({"test_a.py": FAIL, "conftest.py": SETS_STATUS}, [], (1, None)),
        ({"test_a.py": FAIL, "conftest.py": COUNTS}, [], (1, None)),
        ({"test_a.py": PASS, "conftest.py": COUNTS}, [], (0, None)),
        ({"test_a.py": FAIL, "conftest.py": LATE}, [], (1, 1)),
        ({"test_a.py": "import pytest\ndef test_a(): pytest.exit('no', 7)\n"}, [], (7, None)),
        ({"test_a.py": "import pytest\n@pytest.mark.xfail(strict=True)\ndef test_a(): pass\n"}, [], (1, 1)),
        ({"test_a.py": "import pytest\n@pytest.mark.xfail\ndef test_a(): assert 0\n"}, [], (0, 0)),
    ],
)
def test_a_status_is_explained_by_reports_or_it_is_not(
    tmp_path: Path, files: dict[str, str], options: list[str], expected: tuple[int, int | None]
) -> None:
    heard = pytest_session(write_project(tmp_path, files), *options)

    assert status(heard) == expected
    assert heard.ran.code == expected[0]


@pytest.mark.parametrize("more", [[], ["-n2"]], ids=["alone", "xdist"])
def test_a_missed_coverage_limit_is_not_explained_by_a_failed_test(tmp_path: Path, more: list[str]) -> None:
    python = environment(sys.executable, ["pytest==8.4.2", "pytest-xdist==3.8.0", "pytest-cov==7.0.0"])
    source = "def double(x):\n    return 2 * x\n"
    root = write_project(tmp_path, {"test_a.py": FAIL, "code_.py": source})
    limit = ["--cov=code_", "--cov-fail-under=90", *more]

    assert status(pytest_session(root, *limit, python=python)) == (1, None)
    asked = {"quarantine": ["*"]}
    assert status(pytest_session(root, *limit, python=python, asked=asked)) == (1, None)


BOTH = """
    import pytest

    @pytest.fixture
    def broken():
        yield
        assert 0

    def test_1(broken): assert 0
    def test_2(): pass
    def test_3(): assert 0
    def test_4(): assert 0
    def test_5(): assert 0
"""
IDS = [f"test_a.py::test_{number}" for number in range(1, 6)]


@each_version
@pytest.mark.parametrize("option", ["-x", "--stepwise"])
def test_failures_in_quarantine_do_not_stop_a_session(tmp_path: Path, version: Version, option: str) -> None:
    root = write_project(tmp_path, {"test_a.py": BOTH})

    heard = pytest_session(
        root, option, python=version.interpreter(), asked={"quarantine": ["test_a.py::test_1", "*_3"]}
    )

    assert heard.tests == IDS[:4]
    assert [heard.ended[test].outcome for test in heard.tests] == ["failed", "passed", "failed", "failed"]
    assert status(heard) == ((2, None) if option == "--stepwise" else (1, 1))
    assert [described.maxfail for described in heard.of(e.SuiteDescribed)] == [1]


@each_version
@pytest.mark.parametrize("more", [[], ["-n1"]], ids=["alone", "xdist"])
def test_failures_in_quarantine_alone_leave_pytest_a_status_that_is_explained(
    tmp_path: Path, version: Version, more: list[str]
) -> None:
    root = write_project(tmp_path, {"test_a.py": BOTH})

    heard = pytest_session(
        root, "-x", *more, python=version.interpreter(), asked={"quarantine": ["test_a.py::test_[!2]", "*"]}
    )

    assert heard.tests == IDS
    assert status(heard) == (0, 0)


def test_the_limit_counts_what_is_not_in_quarantine_in_workers_too(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": BOTH})

    heard = pytest_session(root, "--maxfail=2", "-n1", asked={"quarantine": IDS[:3]})

    assert set(heard.tests) == set(IDS)
    assert "stopping after 2 failures" in heard.ran.out

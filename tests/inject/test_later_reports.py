"""What the first session wrote is there, byte for byte, after a second one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.inject import Version, each_version
from support.projects import environment, write_project
from support.sessions import Heard, only, pytest_session

REQUIREMENTS = [
    "pytest==8.4.2",
    "pytest-xdist==3.8.0",
    "pytest-cov==7.0.0",
    "pytest-html==4.1.1",
    "pytest-json-report==1.5.0",
    "pytest-reportlog==0.4.0",
    "allure-pytest==2.15.0",
    "pytest-md==0.2.0",
    "pytest-csv==3.0.0",
    "pytest-benchmark==5.1.0",
    "pytest-tap==3.5",
    "pytest-nunit==1.0.7",
    "pytest-split==0.10.0",
    "syrupy==4.9.1",
    "pytest-regressions==2.8.3",
]
TESTS = {
    "test_a.py": """
        import logging
        import code_

        def test_1(tmp_path):
            (tmp_path / "left").write_text("x")
            logging.warning("one")
            assert code_.one() == 1

        def test_2():
            logging.warning("two")
            assert code_.two() == 2
    """,
    "code_.py": "def one():\n    return 1\n\n\ndef two():\n    return 2\n",
}
ONE, TWO = "test_a.py::test_1", "test_a.py::test_2"
RUN, NAMED = ".proctor/session-2", ".proctor/session-N"


@pytest.fixture(scope="module")
def python() -> str:
    return environment(sys.executable, REQUIREMENTS)


def contents(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    skipped = ("__pycache__", ".pytest_cache", ".proctor", "only.json")
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in files
        if not any(word in path.parts for word in skipped)
    }


def again(
    root: Path, *arguments: str, python: str = "", tests: tuple[str, ...] = (TWO,), **asked: Any
) -> Heard:
    wanted = {"only": only(root, tests), "session": 2, "reports": str(root / RUN), **asked}
    return pytest_session(root, *arguments, python=python, asked=wanted)


OPTIONS = {
    "junit": (["--junitxml=out/junit.xml"], ["junit.xml"], "out/junit.xml (--junit-xml)"),
    "html": (["--html=report.html"], ["report.html"], "report.html (--html)"),
    "json": (["--json-report"], [".report.json"], ".report.json (--json-report-file)"),
    "json file": (["--json-report", "--json-report-file=a.json"], ["a.json"], "a.json (--json-report-file)"),
    "reportlog": (["--report-log=log.jsonl"], ["log.jsonl"], "log.jsonl (--report-log)"),
    "log": (["--log-file=out.log"], ["out.log"], "out.log (--log-file)"),
    "log setting": (["-o", "log_file=out.log"], ["out.log"], "out.log (--log-file)"),
    "md": (["--md=report.md"], ["report.md"], "report.md (--md)"),
    "csv": (["--csv=tests.csv"], ["tests.csv"], "tests.csv (--csv)"),
    "nunit": (["--nunit-xml=n.xml"], ["n.xml"], "n.xml (--nunit-xml)"),
    "tap": (["--tap-files", "--tap-outdir=taps"], ["taps"], "taps (--tap-outdir)"),
    "benchmark": (["--benchmark-json=b.json"], ["b.json"], "b.json"),
    "debug": (["--debug"], ["pytestdebug.log"], "pytestdebug.log (--debug)"),
    "debug file": (["--debug", "trace.log"], ["trace.log"], "trace.log (--debug)"),
    "debug equals": (["--debug=trace.log"], ["trace.log"], "trace.log (--debug)"),
    "same name": (
        ["--junitxml=a/x", "--report-log=b/x"],
        ["x", "x-2"],
        "a/x (--junit-xml), b/x as x-2 (--report-log)",
    ),
    "coverage": (
        [
            "--cov=code_",
            "--cov-report=xml",
            "--cov-report=html:h",
            "--cov-report=json",
            "--cov-report=lcov:l.info",
        ],
        ["coverage.json", "coverage.xml", "h", "l.info"],
        "coverage.xml (--cov-report), h (--cov-report), coverage.json (--cov-report), l.info (--cov-report)",
    ),
    "annotate": (["--cov=code_", "--cov-report=annotate"], ["annotated"], "annotated (--cov-report)"),
}


@pytest.mark.parametrize("options, written, told", OPTIONS.values(), ids=OPTIONS)
def test_a_report_of_the_first_session_is_unchanged(
    tmp_path: Path, python: str, options: list[str], written: list[str], told: str
) -> None:
    root = write_project(tmp_path, TESTS)
    pytest_session(root, *options, python=python)
    before = contents(root)
    assert len(before) > len(TESTS)

    heard = again(root, *options, python=python)

    assert heard.tests == [TWO]
    after = contents(root)
    for data in (before, after):
        data.pop(".coverage", None)  # to which it appends
    assert after == before
    assert sorted(path.name for path in (root / RUN).iterdir() if path.name != "assets") == written
    assert heard.notices == [
        f"sessions after the first wrote their reports to {NAMED}, so that earlier ones are kept: {told}"
    ]
    assert "INTERNALERROR" not in heard.ran.out + heard.ran.err


@each_version
@pytest.mark.parametrize("more", [[], ["-n1"]], ids=["alone", "xdist"])
def test_reports_of_pytest_itself_are_kept_in_each_version(
    tmp_path: Path, version: Version, more: list[str]
) -> None:
    root = write_project(tmp_path, TESTS)
    options = ["--junitxml=junit.xml", "--log-file=out.log", "--debug=d.log", "--basetemp=temp", *more]
    pytest_session(root, *options, python=version.interpreter())
    before = contents(root)
    assert {"junit.xml", "d.log"} < set(before) and any(name.startswith("temp/") for name in before)

    heard = again(root, *options, python=version.interpreter())

    after = {name: data for name, data in contents(root).items() if not name.startswith("temp-session-2")}
    assert after == before
    assert heard.notices[0].endswith(": d.log (--debug), junit.xml (--junit-xml), out.log (--log-file)")
    assert heard.notices[1:] == [
        "sessions after the first had --basetemp temp-session-N instead of temp,"
        " which pytest would have emptied"
    ]


def test_results_of_allure_and_durations_are_added_to_the_earlier_ones(tmp_path: Path, python: str) -> None:
    root = write_project(tmp_path, TESTS)
    options = ["--alluredir=allure", "--clean-alluredir", "--store-durations", "--clean-durations"]
    pytest_session(root, *options, python=python)
    before = contents(root)

    heard = again(root, *options, python=python)

    after = contents(root)
    durations = after.pop(".test_durations")
    assert ONE.encode() in durations and TWO.encode() in durations
    del before[".test_durations"]
    assert before.items() < after.items() and len(after) > len(before)
    assert heard.notices == []


COVERED = ["--cov=code_", "--cov-report=term"]


@pytest.mark.parametrize("more", [[], ["-n1"]], ids=["alone", "xdist"])
def test_coverage_is_appended_and_its_limit_counts_for_the_whole(
    tmp_path: Path, python: str, more: list[str]
) -> None:
    root = write_project(tmp_path, TESTS)
    limit = [*COVERED, *more, "--cov-fail-under=90"]
    first = pytest_session(root, *limit, "-k", "test_1", python=python)
    assert (first.finished.exit_status, first.finished.by_tests) == (1, None)

    heard = again(root, *limit, python=python)

    assert "100%" in heard.ran.out
    assert (heard.finished.exit_status, heard.finished.by_tests) == (0, 0)
    assert heard.notices == []


@pytest.mark.parametrize("setting", [False, True], ids=["option", "setting"])
def test_a_limit_that_lost_data_makes_it_miss_is_not_a_failure_and_a_notice_says_so(
    tmp_path: Path, python: str, setting: bool
) -> None:
    root = write_project(tmp_path, TESTS)
    limit = [] if setting else ["--cov-fail-under=90"]
    if setting:
        (root / ".coveragerc").write_text("[report]\nfail_under = 90\n")
    (root / ".coverage").unlink(missing_ok=True)

    heard = again(root, *COVERED, *limit, python=python, data_lost=True)

    assert (heard.finished.exit_status, heard.finished.by_tests) == (0, 0)
    assert heard.notices == [
        "coverage lacks what ran in a session that died; the limit of 90 % is not checked"
    ]
    assert again(root, *COVERED, *limit, python=python).finished.exit_status == 1


SNAPSHOTS = """
    import pytest

    @pytest.mark.parametrize("x", [1, 2])
    def test_a(x, snapshot): assert x == snapshot

    def test_b(snapshot): assert 'b' == snapshot

    def test_b_more(snapshot): assert "more" == snapshot
"""


@pytest.mark.parametrize("update", [["--snapshot-update"], []], ids=["update", "check"])
def test_snapshots_of_tests_that_ran_in_another_session_are_kept(
    tmp_path: Path, python: str, update: list[str]
) -> None:
    root = write_project(tmp_path, {"test_s.py": SNAPSHOTS, "test_t.py": SNAPSHOTS})
    pytest_session(root, "--snapshot-update", python=python)
    before = contents(root)
    assert len(before) == 4

    tests = "test_s.py::test_b", "test_s.py::test_a[2]"
    heard = again(root, *update, python=python, tests=tests, data_lost=True)

    assert heard.notices == ["unused snapshots were not looked for, because a session died"]
    assert heard.tests == ["test_s.py::test_b", "test_s.py::test_a[2]"]
    assert contents(root) == before
    assert (heard.finished.exit_status, heard.finished.by_tests) == (0, 0)


@pytest.mark.parametrize(
    "source, expected",
    [
        (SNAPSHOTS + "    def test_bad(): assert 0\n", (1, 1)),
        (SNAPSHOTS.replace("def test_b(", "def test_c(") + "    def test_bad(): assert 0\n", (1, None)),
        (SNAPSHOTS.replace("def test_b(snapshot): assert 'b' == snapshot", ""), (1, None)),
    ],
    ids=["failed", "failed and unused", "unused"],
)
def test_an_unused_snapshot_is_not_explained_by_a_failed_test(
    tmp_path: Path, python: str, source: str, expected: tuple[int, int | None]
) -> None:
    root = write_project(tmp_path, {"test_s.py": SNAPSHOTS})
    pytest_session(root, "--snapshot-update", python=python)
    heard = pytest_session(write_project(root, {"test_s.py": source}), python=python)

    assert (heard.finished.exit_status, heard.finished.by_tests) == expected


def test_files_of_regressions_are_kept(tmp_path: Path, python: str) -> None:
    source = "def test_a(data_regression): data_regression.check({'a': 1})\n"
    root = write_project(tmp_path, {"test_r.py": source + source.replace("test_a", "test_b")})
    pytest_session(root, "--regen-all", python=python)
    before = contents(root)
    assert len(before) == 3

    again(root, "--regen-all", python=python, tests=("test_r.py::test_b",))

    assert contents(root) == before


def test_the_cache_of_failures_keeps_what_another_session_found(tmp_path: Path) -> None:
    source = "def test_1(): assert 0\ndef test_2(): assert 0\n"
    root = write_project(tmp_path, {"test_a.py": source})
    pytest_session(root)

    again(root)

    assert (root / ".pytest_cache/v/cache/lastfailed").read_text().count("test_a.py::test_") == 2

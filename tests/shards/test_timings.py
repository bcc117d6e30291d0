"""How long tests take, by reports: their names are those of the list, however the report writes them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.made_runs import run_of
from support.projects import project_python, write_project

from proctor import events as e
from proctor.cli.read_report import read_report
from proctor.outcome import Outcome
from proctor.result import RunResult
from proctor.shards.timings import of_reports

SUITE = {
    "tests/test_a.py": """
        import pytest
        class TestX:
            class TestIn:
                def test_n(self): pass
            @pytest.mark.parametrize("v", ["a::b", "x.y", "[z]", "a/b", "t[1]::c.d", "é", ""])
            def test_y(self, v): pass
        def test_z(): pass
        """,
    "tests/pkg.x/test_b.py": "def test_z(): pass\ndef test_z_py(): pass\n",
    "test_top.py": "def test_z(): pass\n",
}
IDS = [
    "tests/test_a.py::TestX::TestIn::test_n",
    *(
        f"tests/test_a.py::TestX::test_y[{value}]"
        for value in ("a::b", "x.y", "[z]", "a/b", "t[1]::c.d", "\\xe9", "")
    ),
    "tests/test_a.py::test_z",
    "tests/pkg.x/test_b.py::test_z",
    "tests/pkg.x/test_b.py::test_z_py",
    "test_top.py::test_z",
]


def _listed(*tests: str) -> RunResult:
    return run_of(e.TestsSelected(tests))


def _ended(**seconds: float) -> RunResult:
    return run_of(
        *(e.TestFinished(f"a.py::{test}", Outcome.PASSED, spent) for test, spent in seconds.items())
    )


@pytest.mark.parametrize("family", ["xunit1", "xunit2"])
def test_every_test_of_pytests_own_junit_is_known(tmp_path: Path, family: str) -> None:
    write_project(tmp_path, SUITE)
    command = [project_python(), "-m", "pytest", "-q", "--import-mode=importlib", "--junitxml=junit.xml"]
    subprocess.run([*command, "-o", f"junit_family={family}"], cwd=tmp_path, check=True, capture_output=True)
    [report], gap = read_report((tmp_path / "junit.xml").read_bytes(), "junit.xml")

    times = of_reports(_listed(*IDS, "tests/test_a.py::test_new"), [report])

    assert not gap
    assert [*times.seconds] == IDS


def test_the_last_report_that_has_a_test_counts_and_others_take_the_median() -> None:
    reports = [_ended(x=1.0, y=2.0), _ended(y=3.0, z=9.0)]

    times = of_reports(_listed("a.py::x", "a.py::y", "a.py::z", "a.py::new"), reports)

    assert times.seconds == {"a.py::x": 1.0, "a.py::y": 3.0, "a.py::z": 9.0}
    assert times.usual == 3.0


def test_a_test_that_did_not_run_and_a_part_of_a_test_have_no_time() -> None:
    report = run_of(
        e.TestFinished("a.py::x", Outcome.NOT_RUN, 5.0),
        e.TestFinished("a.py::y", Outcome.PASSED, 5.0, part_of="a.py::x"),
    )

    times = of_reports(_listed("a.py::x", "a.py::y"), [report])

    assert not times


def test_without_a_test_in_common_nothing_is_known() -> None:
    assert not of_reports(_listed("b.py::x"), [_ended(x=1.0)])
    assert not of_reports(_listed("b.py::x"), [])

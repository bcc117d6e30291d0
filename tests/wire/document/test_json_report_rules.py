"""The rules of pytest-json-report, each by itself; `test_json_report` holds them against the real plugin."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from proctor import events as e
from proctor.fold import begin
from proctor.outcome import Outcome
from proctor.wire.document import json_report

CRASH: dict[str, Any] = {"path": "/project/a.py", "lineno": 3, "message": "no"}


def of(*phases: e.Phase, **more: Any) -> e.TestFinished:
    return e.TestFinished("a.py::x", Outcome.PASSED, phases=phases, **more)


def no_files(path: str) -> str:
    raise AssertionError(path)


@pytest.mark.parametrize(
    "phase, outcome",
    [
        (e.Phase("call", "passed"), "passed"),
        (e.Phase("setup", "passed"), "passed"),
        (e.Phase("call", "skipped"), "skipped"),
        (e.Phase("setup", "skipped"), "skipped"),
        (e.Phase("call", "failed"), "failed"),
        (e.Phase("???", "failed"), "failed"),
        (e.Phase("setup", "failed"), "error"),
        (e.Phase("teardown", "failed"), "error"),
        (e.Phase("call", "skipped", wasxfail="why"), "xfailed"),
        (e.Phase("setup", "skipped", wasxfail=""), "xfailed"),
        (e.Phase("call", "passed", wasxfail="why"), "xpassed"),
        (e.Phase("call", "failed", wasxfail="why"), "failed"),
        (e.Phase("call", "failed", status="rerun"), "rerun"),
        (e.Phase("call", "failed", status=""), "passed"),
    ],
)
def test_an_outcome_is_what_pytest_counts_a_phase_as(phase: e.Phase, outcome: str) -> None:
    assert json_report.reported(of(phase), no_files)["outcome"] == outcome


def test_the_last_word_that_is_not_passed_stands() -> None:
    phases = [e.Phase("setup", "passed"), e.Phase("call", "failed"), e.Phase("teardown", "passed")]

    assert json_report.reported(of(*phases), no_files)["outcome"] == "failed"
    phases[-1] = e.Phase("teardown", "failed")
    assert json_report.reported(of(*phases), no_files)["outcome"] == "error"


def test_a_test_without_phases_has_its_own_outcome() -> None:
    assert json_report.reported(e.TestFinished("x", Outcome.CRASH), no_files) == {
        "nodeid": "x",
        "lineno": None,
        "outcome": "crash",
    }


def test_a_passing_test_has_its_three_phases() -> None:
    test = of(passed_in=(0.1, 0.2, 0.3), place=e.Place("a.py", 7), keywords=("x",))

    assert msgspec.to_builtins(json_report.reported(test, no_files)) == {
        "nodeid": "a.py::x",
        "lineno": 6,
        "outcome": "passed",
        "keywords": ("x",),
        "setup": {"duration": 0.1, "outcome": "passed"},
        "call": {"duration": 0.2, "outcome": "passed"},
        "teardown": {"duration": 0.3, "outcome": "passed"},
    }


@pytest.mark.parametrize(
    "said",
    [{"longrepr": "trace"}, {"stdout": "out"}, {"stderr": "err"}, {"log": ({"msg": "m"},)}, {"crash": CRASH}],
)
def test_a_phase_tells_what_it_has_and_nothing_else(said: dict[str, Any]) -> None:
    stage = json_report.reported(of(e.Phase("call", "failed", 0.5, **said)), no_files)["call"]

    assert stage == {"duration": 0.5, "outcome": "failed", **said}


def test_a_traceback_belongs_to_a_crash_site() -> None:
    site = e.CrashSite(**CRASH)
    phase = e.Phase("call", "failed", crash=site, traceback=(site,))

    assert json_report.reported(of(phase), no_files)["call"]["traceback"] == (site,)


def test_what_was_too_long_to_carry_is_loaded() -> None:
    files = {"stdout": "1-call-stdout.txt", "log": "1-call-log.txt", "stderr": "lost.txt"}
    attached = (e.File("1-call-stdout.txt", "files/a", 3), e.File("1-call-log.txt", "files/b", 9))
    texts = {"files/a": "out", "files/b": '{"msg": "first"}\n[... 9 bytes ...]\n{"msg": "last"}\n'}
    phase = e.Phase("call", "passed", stderr="tail", files=files)

    stage = json_report.reported(of(phase, files=attached), texts.__getitem__)["call"]

    assert stage == {
        "duration": 0.0,
        "outcome": "passed",
        "stdout": "out",
        "stderr": "tail",
        "log": [{"msg": "first"}, {"msg": "[... 9 bytes ...]"}, {"msg": "last"}],
    }


@pytest.mark.parametrize(
    "finished, exited, exit_code",
    [
        (e.SessionFinished(1), e.ProcessExited(3), 1),
        (e.SessionFinished(0), e.ProcessExited(3), 0),
        (e.SessionFinished(None), e.ProcessExited(3), 3),
        (None, e.ProcessExited(3), 3),
        (e.SessionFinished(None), None, 0),
        (None, None, 0),
    ],
)
def test_the_exit_code_is_the_sessions_where_it_says_one(
    finished: e.SessionFinished | None, exited: e.ProcessExited | None, exit_code: int
) -> None:
    result = begin(e.RunStarted("r", "pytest", (), "/project", "", ""))
    session = result.suites[0].session
    session.finished, session.exited = finished, exited

    assert json_report.head(result)["exitcode"] == exit_code

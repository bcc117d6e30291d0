"""Tests that ran again or are in quarantine, and sessions after the first: in documents, streams and logs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from support.any_results import results
from support.full_runs import AGAIN
from support.records import GREEN, document_of, read, read_document, recorded, stream_of

from proctor import events as e
from proctor.archive.compare import reconcile
from proctor.outcome import Outcome, RunOutcome
from proctor.result import RunResult, Session
from proctor.text import literal
from proctor.wire.document import schema
from proctor.wire.document import writer as document
from proctor.wire.document.run import DocumentRun
from proctor.wire.stream.reader import StreamReader

Edit = Callable[[dict[str, Any]], None]

ONCE = (e.Attempt(Outcome.FAILED, 0.1, "once", e.Failure("E", "once", e.Place("t.py", 3))),)
CRASHED = (e.Attempt(Outcome.CRASH, 0.1, "SIGSEGV", e.Failure("", "SIGSEGV")),)
BEGUN = GREEN[:4]
FLAKY = (
    *BEGUN,
    e.ProcessExited(1),
    e.SessionStarted(2, tests=1),
    e.TestFinished("t.py::b", Outcome.PASSED, 0.2, session=2, attempts=ONCE),
    e.SessionFinished(0, 1),
    e.ProcessExited(0),
)
FLAKY_CRASH = (
    *BEGUN,
    e.ProcessExited(-11, "SIGSEGV"),
    e.SessionStarted(2, died=True, tests=1),
    e.TestFinished("t.py::b", Outcome.PASSED, 0.2, session=2, attempts=CRASHED),
    e.SessionFinished(0, 1),
    e.ProcessExited(0),
)
EXCUSED = (
    *BEGUN,
    e.TestsQuarantined({"t.py::b": "see #12"}),
    e.TestFinished("t.py::b", Outcome.FAILED, 0.2, "no", failure=e.Failure("E", "no")),
    e.SessionFinished(1, 2, by_tests=1),
    e.ProcessExited(1),
)


def ended(events: tuple[e.Event, ...], outcome: RunOutcome = RunOutcome.PASSED) -> tuple[e.Event, ...]:
    """The events with an end that says this."""
    return (*events, e.SuiteFinished(outcome, 1.0))


def log_of(events: tuple[e.Event, ...]) -> bytes:
    return b"".join(recorded(events)[1])


def facts(result: RunResult) -> dict[str, Any]:
    suite = result.suites[0]
    names = ("counts", "flaky", "excused", "restarts", "restarted", "quarantined", "outcome")
    found = {name: getattr(suite, name) for name in names}
    tests = ("outcome", "session", "worker", "attempts", "flaky", "message")
    of_tests = {name: [getattr(test, key) for key in tests] for name, test in suite.tests.items()}
    return {**found, "exited": suite.exited, "tests": of_tests}


@pytest.mark.parametrize("events", [AGAIN, ended(FLAKY), ended(FLAKY_CRASH), ended(EXCUSED)])
def test_every_record_is_read_back_as_the_same_result(events: tuple[e.Event, ...]) -> None:
    expected = facts(recorded(events)[0])

    for result, gaps in (read_document(document_of(events)), read(stream_of(events), StreamReader())):
        assert gaps == []
        assert facts(result) == expected


def test_the_log_has_every_attempt_and_is_read_back() -> None:
    result, gaps = read(log_of(AGAIN), StreamReader())

    assert gaps == []
    assert (result.flaky, result.excused, result.restarts) == (2, 1, 2)


def test_a_passing_run_has_the_exit_code_of_its_first_session_that_failed() -> None:
    found = document_of(ended(FLAKY_CRASH))

    assert (found["exit_code"], found["signal"], found["restarts"]) == (-11, "SIGSEGV", 1)
    assert (found["outcome"], found["restarted"]) == ("passed", True)
    assert found["json_report"]["exitcode"] == -11
    assert [test["outcome"] for test in found["json_report"]["tests"]] == ["passed", "passed"]


def test_the_counts_hold_each_test_once() -> None:
    assert document_of(AGAIN)["summary"] | {"duration": 0} == {
        "total": 6, "passed": 1, "failed": 1, "skipped": 1, "errors": 0, "xfailed": 0, "xpassed": 0,
        "flaky": 2, "quarantined": 1, "info": 0, "warn": 0, "deselected": 0, "not_run": 0, "duration": 0,
    }  # fmt: skip


def test_tests_that_were_not_asked_for_have_no_field_of_these() -> None:
    found = document_of(GREEN)

    assert (found["restarts"], "restarted" in found) == (0, False)
    new = {"session", "worker", "attempts", "flaky", "quarantined", "quarantine_reason"}
    assert not any(new & test.keys() for test in found["tests"])


def _not_flaky(found: dict[str, Any]) -> None:
    del found["tests"][1]["flaky"]


def _no_attempts(found: dict[str, Any]) -> None:
    del found["tests"][1]["attempts"]


def _passed_at_once(found: dict[str, Any]) -> None:
    found["tests"][1]["attempts"][0]["outcome"] = "passed"


def _other_end(found: dict[str, Any]) -> None:
    found["tests"][1]["attempts"][-1]["outcome"] = "failed"


def _counted_as_passed(found: dict[str, Any]) -> None:
    found["summary"] |= {"passed": 2, "flaky": 0}


def _not_restarted(found: dict[str, Any]) -> None:
    found["restarts"] = 0


def _many_sessions(found: dict[str, Any]) -> None:
    found["restarts"] = 10**9


def _not_quarantined(found: dict[str, Any]) -> None:
    del found["tests"][1]["quarantined"]


def _nothing_excused(found: dict[str, Any]) -> None:
    found["summary"]["quarantined"] = 0


def _one_more_quarantined(found: dict[str, Any]) -> None:
    found["tests"][1]["quarantined"] = True


@pytest.mark.parametrize(
    ("events", "edit", "said"),
    [
        (FLAKY, _not_flaky, "t.py::b is not flaky, and its attempts say otherwise"),
        (FLAKY, _no_attempts, "t.py::b is flaky, and its attempts say otherwise"),
        (FLAKY, _passed_at_once, "t.py::b is flaky, and its attempts say otherwise"),
        (FLAKY, _other_end, "t.py::b is passed, and its last attempt is failed"),
        (FLAKY, _counted_as_passed, "says 2 passed, and there are 1"),
        (FLAKY, _not_restarted, "t.py::b is of session 2, and there are 1"),
        (FLAKY, _many_sessions, "it says 1000000000 restarts"),
        (EXCUSED, _not_quarantined, "says 0 failed, and there are 1"),
        (EXCUSED, _nothing_excused, "says 0 quarantined, and there are 1"),
    ],
)
def test_an_edited_document_is_not_a_pass(events: tuple[e.Event, ...], edit: Edit, said: str) -> None:
    found = document_of(ended(events))
    assert read_document(found)[0].outcome is RunOutcome.PASSED
    edit(found)

    result, gaps = read_document(found)

    assert said in "; ".join(gaps)
    assert result.outcome not in (RunOutcome.PASSED, RunOutcome.NO_TESTS)


def test_a_failure_that_is_called_quarantined_is_disputed() -> None:
    events = (
        *BEGUN,
        e.TestFinished("t.py::b", Outcome.FAILED, message="no"),
        *GREEN[5:6],
        e.ProcessExited(1),
    )
    found = document_of(events)
    found["outcome"] = "passed"
    _one_more_quarantined(found)

    assert read_document(found)[0].outcome is RunOutcome.INCOMPLETE


@pytest.mark.parametrize(
    ("events", "exit_code", "signal"), [(FLAKY, -11, "SIGSEGV"), (FLAKY, 2, None), (EXCUSED, -9, "SIGKILL")]
)
def test_an_end_that_no_test_explains_is_no_pass(
    events: tuple[e.Event, ...], exit_code: int, signal: str | None
) -> None:
    found = document_of(ended(events)) | {"exit_code": exit_code, "signal": signal}

    result, gaps = read_document(found)

    assert gaps
    assert result.outcome in (RunOutcome.CRASHED, RunOutcome.FAILED)


def test_each_test_is_one_line_of_the_public_stream() -> None:
    lines = list(map(json.loads, stream_of(AGAIN).splitlines()))
    tests = {line["label"]: line for line in lines if line["type"] == "test"}

    assert len(lines) == len(tests) + 2
    assert {name: test["status"] for name, test in tests.items()} == {
        "t.py::flaky": "ok",
        "t.py::always": "fail",
        "t.py::crashes": "ok",
        "t.py::known": "ignore",
        "t.py::kept": "ok",
        "t.py::skips": "ignore",
    }
    flaky, known = tests["t.py::flaky"]["extra"], tests["t.py::known"]["extra"]
    assert flaky["flaky"] is True
    assert [one["outcome"] for one in flaky["attempts"]] == ["failed", "passed"]
    assert [one["outcome"] for one in tests["t.py::always"]["extra"]["attempts"]] == ["error", "failed"]
    assert (known["quarantined"], known["quarantine_reason"], known["outcome"]) == (True, "see #12", "error")
    assert lines[-1]["results"] == {"ok": 3, "fail": 1, "ignore": 2}


def test_attempts_that_contradict_the_status_are_kept_and_not_believed() -> None:
    changed = stream_of(ended(FLAKY)).replace(
        b'"outcome":"passed","duration"', b'"outcome":"failed","duration"'
    )

    result, _ = read(changed, StreamReader())

    test = result.tests["t.py::b"]
    assert test.attempts == ()
    assert test.foreign is not None
    assert "attempts" in test.foreign.more["extra"]


def test_a_quarantined_line_of_a_log_that_says_fail_is_disputed() -> None:
    changed = log_of(EXCUSED).replace(b'"status":"ignore"', b'"status":"fail"')

    assert any("says 'fail' of 't.py::b'" in gap for gap in read(changed, StreamReader())[1])


def test_an_archive_whose_document_counts_other_failures_is_not_believed() -> None:
    found = document_of(ended(EXCUSED))
    for field in ("quarantined", "quarantine_reason"):
        del found["tests"][1][field]
    found["summary"] |= {"failed": 1, "quarantined": 0}

    said = reconcile(recorded(ended(EXCUSED))[0], schema.read(json.dumps(found).encode()))

    assert "t.py::b is failed there, quarantined here" in said


def test_each_of_several_suites_has_its_own_sessions() -> None:
    events: tuple[e.Event, ...] = (
        e.SuiteEntered("one", "pytest", (), "/p"),
        *FLAKY,
        e.SuiteFinished(RunOutcome.PASSED, 1.0),
        e.SuiteEntered("two", "pytest", (), "/p"),
        *AGAIN,
        e.SuiteFinished(RunOutcome.FAILED, 1.0),
    )
    found = document_of(events)

    result, gaps = read_document(found)

    assert gaps == []
    assert [suite["restarts"] for suite in found["suites"]] == [1, 2]
    assert found["suites"][1]["counts"] == {
        "passed": 1,
        "failed": 1,
        "skipped": 1,
        "flaky": 2,
        "quarantined": 1,
    }
    assert [(suite.restarts, suite.restarted, suite.flaky) for suite in result.suites] == [
        (1, False, 1),
        (2, True, 2),
    ]
    found["suites"][1]["restarts"] = 1
    assert "it says 3 restarts, and its suites say 2" in "; ".join(read_document(found)[1])


def told(result: RunResult) -> list[Any]:
    """What can be said of any tests, whatever their names are made of."""
    quarantined = result.quarantined
    return [
        (
            test.outcome,
            test.session,
            test.worker,
            test.flaky,
            name in quarantined,
            [(one.outcome, literal(one.message or ""), one.failure is not None) for one in test.attempts],
        )
        for name, test in result.tests.items()
    ]


@given(results())
def test_attempts_and_quarantine_of_any_run_are_read_back(result: RunResult) -> None:
    result.suites[0].sessions.append(Session())  # some of its tests are of the second one
    raw = b"".join(document.chunks(result, lambda path: path))

    again = read(raw, DocumentRun())[0]

    assert told(again) == told(result)
    assert (again.flaky, again.excused, again.counts) == (result.flaky, result.excused, +result.counts)

"""Our own document and log, changed by somebody: the verdict is that of the facts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from msgspec.structs import replace
from support.cli import converted, shown
from support.records import GREEN, document_of, read, read_document, recorded
from support.streams import EVENTS

from proctor import events as e
from proctor.outcome import EXIT_CODES, Outcome, RunOutcome
from proctor.text import literal
from proctor.wire.document import writer as document
from proctor.wire.document.run import DocumentRun
from proctor.wire.stream.reader import StreamReader

Edit = Callable[[dict[str, Any]], None]

RED = (
    *GREEN[:4],
    e.TestFinished("t.py::b", Outcome.FAILED, 0.1, "no", failure=e.Failure("E", "no")),
    e.SessionFinished(1, 2),
    e.ProcessExited(1),
)
BROKEN = (*GREEN[:3], e.CollectionFailed("u.py", e.Failure("E", "no")), *GREEN[3:5], e.ProcessExited(2))
KILLED = (*GREEN[:4], e.ProcessExited(-11, "SIGSEGV"))
ENDED_EARLY = (*GREEN[:5], e.ProcessExited(0))


def said_to_pass(found: dict[str, Any]) -> None:
    found["outcome"], found["reason"] = "passed", ""
    for suite in found.get("suites", ()):
        suite["outcome"], suite["reason"] = "passed", ""


def _drop_failed(found: dict[str, Any]) -> None:
    found["tests"] = [test for test in found["tests"] if test["outcome"] != "failed"]


def _drop_failed_everywhere(found: dict[str, Any]) -> None:
    _drop_failed(found)
    report = found["json_report"]
    report["tests"] = [test for test in report["tests"] if test["outcome"] != "failed"]
    found["summary"] |= {"failed": 0, "total": 1}
    report["summary"] |= {"failed": 0, "total": 1}


def _turn_green(found: dict[str, Any]) -> None:
    for test in found["tests"]:
        test["outcome"] = "passed"
    found["summary"] |= {"failed": 0, "passed": 2}


def _nothing(found: dict[str, Any]) -> None:
    pass


@pytest.mark.parametrize(
    ("events", "edit", "outcome", "said"),
    [
        (RED, _nothing, RunOutcome.FAILED, "the record says passed, and its facts say failed"),
        (RED, _drop_failed, RunOutcome.INCOMPLETE, "its summary says 1 failed, and there are 0"),
        (RED, _drop_failed_everywhere, RunOutcome.FAILED, "exit status 1, though no test failed"),
        (RED, _turn_green, RunOutcome.INCOMPLETE, "t.py::b is passed in tests, and failed in json_report"),
        (
            GREEN,
            lambda found: found.update(not_run=["t.py::c"]),
            RunOutcome.INCOMPLETE,
            "says 0 not_run, and there are 1",
        ),
        (
            GREEN,
            lambda found: found.update(not_run=["t.py::c"], summary={}),
            RunOutcome.INCOMPLETE,
            "1 of 3 tests have no result",
        ),
        (
            GREEN,
            lambda found: found.update(not_run=["t.py::a"], summary={}),
            RunOutcome.INCOMPLETE,
            "t.py::a is among the tests and not run",
        ),
        (
            GREEN,
            lambda found: found.update(collection_errors=[{"file": "u.py"}], summary={}),
            RunOutcome.COLLECTION_ERROR,
            "collection error",
        ),
        (GREEN, lambda found: found.update(signal="SIGSEGV"), RunOutcome.CRASHED, "SIGSEGV"),
        (GREEN, lambda found: found.update(exit_code=None, signal="SIGKILL"), RunOutcome.CRASHED, "SIGKILL"),
        (GREEN, lambda found: found.update(exit_code=1), RunOutcome.FAILED, "exit status 1"),
        (GREEN, lambda found: found.update(exit_code=5), RunOutcome.FAILED, "exit status 5"),
        (
            GREEN,
            lambda found: found.update(current_test="t.py::a"),
            RunOutcome.INCOMPLETE,
            "its current test is t.py::a",
        ),
        (
            GREEN,
            lambda found: found["tests"].append(found["tests"][0]),
            RunOutcome.INCOMPLETE,
            "t.py::a is listed 2 times",
        ),
        (
            GREEN,
            lambda found: found["summary"].update(passed=2),
            RunOutcome.INCOMPLETE,
            "says 2 passed, and there are 1",
        ),
        (GREEN, lambda found: found["summary"].update(total="2"), RunOutcome.INCOMPLETE, ""),
        (
            GREEN,
            lambda found: found["tests"][0].update(outcome="failed"),
            RunOutcome.INCOMPLETE,
            "says 0 failed, and there are 1",
        ),
        (
            GREEN,
            lambda found: found["json_report"]["tests"].pop(),
            RunOutcome.INCOMPLETE,
            "t.py::b is in only one",
        ),
        (
            GREEN,
            lambda found: found["json_report"]["summary"].update(failed=1),
            RunOutcome.INCOMPLETE,
            "json_report says 1 failed",
        ),
        (GREEN, lambda found: found.update(outcome="no_tests"), RunOutcome.INCOMPLETE, "no tests"),
        (
            GREEN,
            lambda found: found.update(tests=[], summary={}, json_report={}),
            RunOutcome.NO_TESTS,
            "its facts say no tests",
        ),
        (BROKEN, _nothing, RunOutcome.COLLECTION_ERROR, "collection error"),
        (KILLED, _nothing, RunOutcome.CRASHED, "SIGSEGV"),
        (
            KILLED,
            lambda found: found.update(outcome="failed"),
            RunOutcome.CRASHED,
            "says failed, and its facts say crashed",
        ),
    ],
)
def test_an_edited_document_is_no_pass_and_says_what_disagrees(
    events: tuple[e.Event, ...], edit: Edit, outcome: RunOutcome, said: str, tmp_path: Path
) -> None:
    found = document_of(events)
    said_to_pass(found)
    edit(found)
    try:
        result, gaps = read_document(found)
    except Exception as error:  # noqa: BLE001  a value of another type
        assert "not a result document" in str(error)
        return

    assert result.outcome is outcome
    assert said in result.reason
    assert said in " ".join(gaps)
    path = tmp_path / "d.json"
    path.write_text(json.dumps(found))
    assert shown(path)[0] == EXIT_CODES[outcome]
    code, _, err = converted(path.read_bytes(), "junit", "json")
    assert code == 2
    assert said in err


def several() -> dict[str, Any]:
    suites = ("one", GREEN), ("two", RED)
    events = [
        event
        for name, facts in suites
        for event in (e.SuiteEntered(name, name, (), "/p"), *_renamed(facts, name))
    ]
    return document_of(tuple(events))


def _renamed(facts: tuple[e.Event, ...], name: str) -> list[e.Event]:
    from proctor.wire.relabel import relabelled

    return [relabelled(event, lambda test: f"{name}/{test}") for event in facts]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_nothing, "two: the record says passed, and its facts say failed"),
        (lambda found: found["suites"].pop(), "is of the suite 'two', which is not there"),
        (lambda found: found["suites"][1].update(name="one"), "2 suites are named 'one'"),
        (lambda found: found["suites"][1].update(exit_code=0), "its exit code is 1"),
        (lambda found: found["suites"][1].update(not_run=["x"]), "others at the top than in the suites"),
        (lambda found: found["suites"][1].update(counts={"passed": 2}), "suite 'two' says 2 passed"),
        (lambda found: found.update(signal="SIGKILL"), "its signal is SIGKILL"),
    ],
)
def test_an_edited_document_of_several_suites_is_no_pass(edit: Edit, said: str) -> None:
    found = several()
    said_to_pass(found)
    edit(found)

    result, gaps = read_document(found)

    assert EXIT_CODES[result.outcome] in (1, 2)
    assert said in " ".join([result.reason, *gaps])


def test_only_the_outcome_of_the_run_was_edited() -> None:
    found = several()
    found["outcome"] = "passed"

    assert read_document(found)[0].outcome is RunOutcome.FAILED


@pytest.mark.parametrize("events", [GREEN, RED, BROKEN, KILLED, ENDED_EARLY])
def test_a_document_and_a_log_that_nobody_edited_keep_their_word(events: tuple[e.Event, ...]) -> None:
    result, log = recorded(events)

    for again, gaps in (read_document(document_of(events)), read(b"".join(log), StreamReader())):
        assert (again.outcome, again.reason, gaps) == (result.outcome, result.reason, [])


def _skipped_as_a_whole(name: str) -> e.TestFinished:
    phase = e.Phase("collect", "skipped", 0.0)
    return e.TestFinished(name, Outcome.SKIPPED, 0.0, "no", phases=(phase,))


def test_modules_that_skip_themselves_do_not_make_a_document_incomplete() -> None:
    """pytest-json-report has no test for them. Twice: once for the tests and once for the doctests."""
    collector = e.CollectorFinished("s.py", "skipped", (), "('s.py', 2, 'Skipped: no')")
    modules = collector, collector, _skipped_as_a_whole("s.py"), _skipped_as_a_whole("s.py#2")
    found = document_of((*GREEN[:3], *modules, *GREEN[3:]))
    assert "s.py" not in {test["nodeid"] for test in found["json_report"]["tests"]}

    result, gaps = read_document(found)

    assert (result.outcome, gaps) == (RunOutcome.PASSED, [])


def test_a_test_that_is_said_to_be_skipped_must_be_in_both_lists() -> None:
    found = document_of((*GREEN[:3], e.CollectorFinished("s.py", "skipped", (), "no"), *GREEN[3:]))
    found["json_report"]["tests"].pop()

    assert "t.py::b is in only one of tests and json_report" in read_document(found)[0].reason


@given(events=EVENTS)
def test_no_log_of_a_run_of_ours_is_disputed(events: list[e.Event]) -> None:
    result, log = recorded(tuple(events))

    again, gaps = read(b"".join(log), StreamReader())

    assert (again.outcome, again.reason, gaps) == (result.outcome, result.reason, [])


@given(events=EVENTS)
def test_no_document_of_a_run_of_ours_is_disputed(events: list[e.Event]) -> None:
    alone = [replace(event, phases=()) if isinstance(event, e.TestFinished) else event for event in events]
    result, _ = recorded(tuple(alone))  # phases that contradict their test are not ours
    names = {*result.tests, *result.selected}
    assume(len(names) == len(set(map(literal, names))))  # JSON has the same text for `\\udc80` and that byte
    data = b"".join(document.chunks(result, lambda _: ""))

    again, gaps = read(data, DocumentRun())

    assert (again.outcome, gaps) == (result.outcome, [])


# The log


def edited(lines: list[bytes], change: Callable[[dict[str, Any]], None]) -> bytes:
    found = [json.loads(line) for line in lines]
    for line in found:
        change(line)
    return b"".join(json.dumps(line).encode() + b"\n" for line in found)


def _end_green(line: dict[str, Any]) -> None:
    if line["type"] == "final" or line.get("kind") == "suite_finished":
        line["extra"] |= {"outcome": "passed", "reason": ""}


def _end_run_green(line: dict[str, Any]) -> None:
    if line["type"] == "final":
        line["extra"] |= {"outcome": "passed", "reason": ""}


def _tests_green(line: dict[str, Any]) -> None:
    _end_green(line)
    if line["type"] == "test" and line["status"] == "fail":
        line["extra"]["outcome"] = "passed"


@pytest.mark.parametrize("change", [_end_green, _end_run_green, _tests_green])
@pytest.mark.parametrize("events", [RED, BROKEN, KILLED, ENDED_EARLY])
def test_an_edited_end_of_a_log_turns_nothing_green(
    events: tuple[e.Event, ...], change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    before, lines = recorded(events)
    data = edited(lines, change)

    result, gaps = read(data, StreamReader())

    assert before.outcome is not RunOutcome.PASSED
    assert EXIT_CODES[result.outcome] in (1, 2)
    assert gaps
    (tmp_path / "events.jsonl").write_bytes(data)
    assert shown(tmp_path / "events.jsonl")[0] in (1, 2)


@pytest.mark.parametrize("number", range(1, len(recorded(GREEN)[1])))
def test_a_line_that_is_missing_from_a_log_is_noticed(number: int) -> None:
    lines = recorded(GREEN)[1]

    result, _ = read(b"".join(lines[:number] + lines[number + 1 :]), StreamReader())

    assert result.outcome is RunOutcome.INCOMPLETE


def test_a_final_line_that_counts_other_tests_is_noticed() -> None:
    def change(line: dict[str, Any]) -> None:
        if line["type"] == "final":
            line["results"]["ok"] += 1

    result, gaps = read(edited(recorded(GREEN)[1], change), StreamReader())

    assert result.outcome is RunOutcome.INCOMPLETE
    assert "the final line says" in gaps[0]


def test_a_key_that_a_line_of_a_log_has_twice_is_noticed() -> None:
    lines = recorded(GREEN)[1]
    at = next(number for number, line in enumerate(lines) if b'"exit"' in line)
    lines[at] = lines[at].replace(b'"code":0', b'"code":1,"code":0')

    assert read(b"".join(lines), StreamReader())[0].outcome is RunOutcome.INCOMPLETE

"""What a program says about its tests and about itself, and how it ended."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.unique_names import UniqueNames
from proctor.wire.control.ledger import Finished, Partial
from proctor.wire.control.program import ProgramEnd, ProgramReader, reported

FINE = ProgramEnd(1.5, 0)
FILE = e.File("f", "files/f", 3)


def program() -> ProgramReader:
    return ProgramReader("t.sh", "run/output.txt", UniqueNames())


def own(**body: object) -> Finished:
    return Finished(None, dict(body), b"{}")


def made(**body: object) -> Finished:
    """The end that the ledger gives to a program that said nothing about itself."""
    return Finished(None, {**body, "by": "proctor"})


def ended(end: ProgramEnd, *said: Finished) -> e.TestFinished:
    reader = program()
    for frame in said:
        reader.read(frame)
    (event,) = reader.end(end)
    assert isinstance(event, e.TestFinished)
    return event


@pytest.mark.parametrize(
    "body, event",
    [
        (
            {"status": "pass", "note": "fine"},
            e.TestFinished("l", Outcome.PASSED, properties={"note": "fine"}),
        ),
        (
            {"status": "fail", "note": "no"},
            e.TestFinished(
                "l", Outcome.FAILED, message="no", failure=e.Failure("", "no"), properties={"note": "no"}
            ),
        ),
        ({"status": "error"}, e.TestFinished("l", Outcome.ERROR, failure=e.Failure("", "error"))),
        ({"status": "skip", "note": 7}, e.TestFinished("l", Outcome.SKIPPED, properties={"note": 7})),
        ({"status": "warn"}, e.TestFinished("l", Outcome.WARN)),
        ({}, e.TestFinished("l", Outcome.INFO)),
        (
            {"name": "n", "status": "info", "testout": "o", "files": []},
            e.TestFinished("l", Outcome.INFO, testout=e.OutputLink("o", "path")),
        ),
    ],
)
def test_a_result_is_told_in_the_words_of_its_reporter(body: dict[str, Any], event: e.TestFinished) -> None:
    found = reported("l", "whole", body, (FILE,), "path")

    assert (found.part_of, found.files) == ("whole", (FILE,))
    assert reported("l", "", body, (), "path") == event


def test_parts_are_told_at_once_and_the_program_itself_when_it_has_ended() -> None:
    reader = program()

    assert reader.start() == [e.TestStarted("t.sh")]
    assert (reader.full_name(None), reader.full_name("a")) == ("t.sh", "t.sh/a")
    assert reader.read(Partial("a", {"name": "a", "x": 1}, b"{}")) == [e.ResultAmended("t.sh/a", {"x": 1})]
    assert reader.read(Finished("a", {"name": "a", "status": "pass"}, b"{}"), (FILE,)) == [
        e.TestFinished("t.sh/a", Outcome.PASSED, files=(FILE,), part_of="t.sh")
    ]
    assert reader.read(own(status="pass", mine=2), (FILE,)) == [
        e.ResultAmended("t.sh", {"status": "pass", "mine": 2})
    ]
    assert reader.read(made(testout="output.txt")) == []
    assert reader.end(FINE) == [
        e.TestFinished(
            "t.sh",
            Outcome.ERROR,  # one of its results has no status
            1.5,
            message="its own result has no status",
            failure=e.Failure("", "its own result has no status"),
            files=(FILE,),
            testout=e.OutputLink("output.txt", "run/output.txt"),
            properties={"mine": 2},
        )
    ]


def test_many_parts_are_told_like_one() -> None:
    bodies: list[dict[str, Any]] = [
        {"name": "a", "status": "pass"},
        {"name": "b", "status": "fail"},
        {"name": "a", "status": "warn", "note": "hot", "n": [1]},
        {"name": "a", "status": "pass", "note": "fine", "x": None},
        {"name": "c", "status": "error", "note": 7},
    ]
    one_by_one = program()
    told = [
        event
        for body in bodies
        for event in one_by_one.read(Finished(body["name"], dict(body), msgspec.json.encode(body)))
    ]

    assert program().read_parts([f"t.sh/{body['name']}" for body in bodies], bodies) == told
    assert [event.test for event in told if isinstance(event, e.TestFinished)][2:4] == [
        "t.sh/a#2",
        "t.sh/a#3",
    ]


def test_a_part_whose_status_was_taken_back_is_an_error() -> None:
    (event,) = program().read(Finished("a", {"name": "a"}, b"{}", withdrawn=True))

    why = "its status was taken back, and none was reported in its place"
    failure = e.Failure("", why)
    assert event == e.TestFinished("t.sh/a", Outcome.ERROR, message=why, failure=failure, part_of="t.sh")


@pytest.mark.parametrize(
    "end, said, outcome, message",
    [
        (FINE, [own(status="pass", note="fine")], Outcome.PASSED, None),
        (FINE, [own(status="skip", note="not today")], Outcome.SKIPPED, "not today"),
        (FINE, [own(status="skip")], Outcome.SKIPPED, None),
        (FINE, [own(status="fail")], Outcome.FAILED, "failed"),
        (FINE, [own(status="fail", note="no")], Outcome.FAILED, "no"),
        # of several the most telling, and of equals the first
        (FINE, [own(status="pass"), own(status="fail", note="1"), own(status="fail")], Outcome.FAILED, "1"),
        (FINE, [own(status="info"), own(status="warn", note="w"), own(status="skip")], Outcome.WARN, "w"),
        # the process goes before its words
        (ProgramEnd(1.5, None, "SIGSEGV"), [own(status="pass")], Outcome.CRASH, "SIGSEGV"),
        (
            ProgramEnd(1.5, None, "SIGSEGV", output="one\n two \n\n"),
            [own(status="pass")],
            Outcome.CRASH,
            "SIGSEGV: two",
        ),
        (
            ProgramEnd(1.5, None, "SIGKILL", stopped=RunOutcome.TIMEOUT),
            [own(status="pass")],
            Outcome.TIMEOUT,
            "time limit reached",
        ),
        (
            ProgramEnd(1.5, None, "SIGKILL", stopped=RunOutcome.CANCELLED),
            [own(status="pass")],
            Outcome.ERROR,
            "run cancelled",
        ),
        (ProgramEnd(1.5, 0, channel_error="garbage"), [own(status="pass")], Outcome.ERROR, "garbage"),
        # its last words, where it said nothing about itself
        (
            ProgramEnd(1.5, 3, output="oh\nno\n"),
            [made(status="fail", note="exit code 3")],
            Outcome.FAILED,
            "exit code 3: no",
        ),
        (ProgramEnd(1.5, 3, output="oh\nno\n"), [own(status="fail", note="own")], Outcome.FAILED, "own"),
    ],
)
def test_what_the_process_did_goes_before_what_it_said(
    end: ProgramEnd, said: list[Finished], outcome: Outcome, message: str | None
) -> None:
    event = ended(end, *said)

    assert (event.outcome, event.message, event.seconds) == (outcome, message, 1.5)
    bad = outcome in (Outcome.FAILED, Outcome.ERROR, Outcome.CRASH, Outcome.TIMEOUT)
    assert event.failure == (e.Failure("", message or "") if bad else None)
    assert event.traceback == (end.output or None)


def test_what_proctor_added_is_no_property() -> None:
    event = ended(FINE, own(status="pass", mine=1), made(status="pass", note="exit code 0", testout="o"))

    assert event.properties == {"mine": 1}
    assert event.testout == e.OutputLink("o", "run/output.txt")

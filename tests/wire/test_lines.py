"""What is made of a process that prints its results, beyond what its own report says."""

from __future__ import annotations

import json

from proctor import events as e
from proctor.fold import begin
from proctor.launch import KnownTest, Launch, Voice
from proctor.outcome import Outcome
from proctor.wire.lines import LineReader

KNOWN = tuple(KnownTest(f"p::Test{n}", "a_test.go", n) for n in (1, 2, 3))
LAUNCH = Launch(("go",), "/project", "go", Voice.LINES, reader="go-json", known=KNOWN)
SO_FAR = begin(e.RunStarted("r", "go", (), "/project", "", ""))


def lines(*actions: tuple[str, str]) -> bytes:
    said = [{"Action": action, "Package": "p"} | ({"Test": test} if test else {}) for action, test in actions]
    return b"".join(json.dumps(line).encode() + b"\n" for line in said)


DIED = lines(("run", "Test1"), ("pass", "Test1"), ("run", "Test2"), ("run", "Test2/sub"), ("fail", ""))


def told(reader: LineReader, data: bytes, status: int) -> list[e.Event]:
    return [*reader.feed(data), *reader.close(status, SO_FAR)]


def ended(events: list[e.Event]) -> dict[str, Outcome]:
    return {event.test: event.outcome for event in events if isinstance(event, e.TestFinished)}


def test_known_tests_that_a_dead_process_never_came_to_are_named():
    events = told(LineReader(LAUNCH), DIED, 1)

    assert ended(events) == {"p::Test1": "passed", "p::Test2": "crash", "p::Test2/sub": "crash"}
    [selected] = [event for event in events if isinstance(event, e.TestsSelected)]
    assert selected.tests == ("p::Test3",)


def test_a_part_of_a_test_is_where_its_test_is():
    events = told(LineReader(LAUNCH), DIED, 1)
    places = {event.test: event.place for event in events if isinstance(event, e.TestStarted)}

    assert places["p::Test2/sub"] == e.Place("a_test.go", 2)


def test_what_we_ended_did_not_crash():
    reader = LineReader(LAUNCH)
    reader.stopped = True
    events = told(reader, DIED, -2)

    assert ended(events) == {"p::Test1": "passed"}
    assert [event.tests for event in events if isinstance(event, e.TestsSelected)] == [("p::Test3",)]


def test_a_process_that_came_to_its_end_has_lost_nothing():
    events = told(LineReader(LAUNCH), lines(("run", "Test1"), ("pass", "Test1"), ("pass", "")), 0)

    assert not any(isinstance(event, e.TestsSelected) for event in events)

"""A line costs as much as it is long: none of these ever came to its end while their patterns were looked for
from every character on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from time import process_time

import pytest
from support.made_runs import failed, run_of
from support.streams import STARTED

from proctor import events as e
from proctor.fold import begin
from proctor.launch import Lines
from proctor.render.agent import agent_text
from proctor.wire.reports.lines import LineReader
from proctor.wire.reports.pytest_text import TextReader

LONG = 100_000  # characters
HANGS = 20  # seconds


def filled(*units: str) -> list[str]:
    return [(unit * LONG)[:LONG] for unit in units]


def told(reader: str, *lines: str) -> list[e.Event]:
    reading = LineReader("x", "/project", Lines(reader))
    so_far = begin(STARTED).suites[0]
    return [*reading.feed("".join(f"{line}\n" for line in lines).encode()), *reading.close(1, so_far)]


@pytest.fixture(autouse=True)
def guard() -> Iterator[None]:
    began = process_time()
    yield
    assert process_time() - began < HANGS


@pytest.mark.parametrize("line", filled("::", "::[", "a::b ", "x::[]", " PASSED", "= ", "!! "))
def test_a_line_of_pytest(line: str) -> None:
    assert TextReader("pytest").feed(f"a{line}\n") == []


def test_a_line_of_pytest_that_never_ends_is_held_by_its_ends() -> None:
    reader = TextReader("pytest")
    for piece in ("test_a.py::test_x ", *filled("x") * 300, "PASSED\n"):
        assert reader.feed(piece) in ([], [e.TestStarted("test_a.py::test_x")])
        assert len(reader._rest) < LONG * 2


@pytest.mark.parametrize("line", filled("x", '-"', "a ", "a:"))
def test_a_line_of_a_process_that_has_no_tests(line: str) -> None:
    (failed,) = [event for event in told("tap", line) if isinstance(event, e.CollectionFailed)]

    assert failed.failure.place is None


@pytest.mark.parametrize("line", filled(" = ", "got "))
def test_a_line_of_a_test_in_go(line: str) -> None:
    says = {"Action": "output", "Package": "p", "Test": "TestA", "Output": f"    a_test.go:3: {line}\n"}
    ends = [{"Action": "fail", "Package": "p", "Test": "TestA"}, {"Action": "fail", "Package": "p"}]
    events = told("go-json", *map(json.dumps, [{**says, "Action": "run", "Output": ""}, says, *ends]))
    (failed,) = [event for event in events if isinstance(event, e.TestFinished)]

    assert failed.failure is not None
    assert failed.failure.place == e.Place("a_test.go", 3)


def test_a_line_of_a_test_in_rust() -> None:
    suite = {"type": "suite", "event": "started", "test_count": 1}
    test = {"type": "test", "event": "failed", "name": "a", "message": filled(" at ")[0] * 3}
    ended = {"type": "suite", "event": "failed", "passed": 0, "failed": 1, "ignored": 0, "measured": 0}
    events = told("libtest-json", *map(json.dumps, [suite, test, {**ended, "filtered_out": 0}]))
    (failed,) = [event for event in events if isinstance(event, e.TestFinished)]

    assert failed.failure is not None
    assert failed.failure.place is None


@pytest.mark.parametrize("line", filled(" ", "\t ", "a "))
def test_a_line_of_an_explanation(line: str) -> None:
    message = f"AssertionError: assert False\n  + where False = f({line})"

    assert "::test_x assert False\n where False = f(" in agent_text(run_of(failed("t.py::test_x", message)))

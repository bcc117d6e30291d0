"""The answer for a coding agent: the verdict, then a line for each thing that went wrong."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.events import CollectionFailed, Failure, TestFinished
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.render.neutral import neutral
from proctor.render.verdict_line import verdict_line
from proctor.result import Result

_LONG = 300  # characters of one line of a message

_HARNESS = (Outcome.CRASH, Outcome.TIMEOUT)


def agent_text(result: Result) -> str:
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Result) -> Iterator[str]:
    yield verdict_line(result)
    # A crash speaks through the test it killed, if it killed one.
    if result.reason and (result.outcome is not RunOutcome.CRASHED or result.current_test is None):
        yield neutral(result.reason)
    for error in result.collection_errors:
        yield _collection_line(error)
    bad = [test for test in result.tests.values() if test.outcome in BAD]
    for test in sorted(bad, key=lambda test: test.outcome not in _HARNESS):  # the harness comes first
        yield _test_line(test)
    for notice in result.notices:
        yield f"note: {neutral(notice)}"


def _test_line(test: TestFinished) -> str:
    place = _place(test.test.partition("::")[0], test.failure)
    phases = [
        f"[{p.when}] " for p in test.phases if p.outcome == "failed" and p.when in ("setup", "teardown")
    ]
    phase = phases[0] if test.outcome is Outcome.ERROR and phases else ""
    message = (test.failure.message if test.failure else "") or test.message or test.outcome
    return f"{neutral(test.test)}{place} {phase}{_first(message)}"


def _collection_line(error: CollectionFailed) -> str:
    return f"{neutral(error.file)}{_place(error.file, error.failure)} {_first(error.failure.message)}"


def _place(file: str, failure: Failure | None) -> str:
    """`:line` in the test's own file, `> file:line` elsewhere."""
    if failure is None or failure.place is None:
        return ""
    place = failure.place
    return f" :{place.line}" if place.file == file else f" > {neutral(str(place))}"


def _first(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if not lines:
        return ""
    first = lines[0]
    if first.endswith(":") and len(lines) > 1:
        first = f"{first} {lines[1]}"
    return neutral(first if len(first) <= _LONG else first[: _LONG - 3] + "...")

"""Failures in words, for people: one line for each failure when it happens, and one for each cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from proctor.events import AttemptFailed, CollectionFailed, Event, Failure, Place, TestFinished
from proctor.outcome import BAD
from proctor.render.neutral import neutral, neutral_block
from proctor.result import RunResult, SuiteResult
from proctor.text import first_line

if TYPE_CHECKING:  # loaded only if something failed
    from proctor.causes import Cause, Occurrence

_SHORT = 200  # characters of a message on one line
_NAMED = 12  # tests that are named one by one; more are named together: `all of FILE`, `FILE::{a,b}`

_ERRORS = ("setup", "teardown")  # phases in which a failure is an error


def causes_of(result: RunResult) -> list[Cause]:
    """The causes of all failures. Loads the module that finds them only if something failed."""
    if not result.collection_errors and not any(result.counts[outcome] for outcome in BAD):
        return []
    from proctor.causes import causes

    return causes(result)


class FailureLine(msgspec.Struct, frozen=True):
    """What is shown of a failure when it happens. Its texts are harmless."""

    word: str  # FAILED, ERROR, CRASH, TIMEOUT
    what: str  # the id of the test, or the file that cannot be collected
    place: Place | None
    message: str

    def __str__(self) -> str:
        return f"{self.word} {self.what}{_at(self.place)}: {self.message}"


def failure_line(event: Event, suite: SuiteResult) -> FailureLine | None:
    """None for an event that is no failure, or the failure of a test in quarantine."""
    if isinstance(event, CollectionFailed):
        return FailureLine("ERROR cannot collect", neutral(event.file), None, short(event.failure.message))
    if isinstance(event, AttemptFailed):
        return _test_line(event.result, " (to be run again)")
    if not isinstance(event, TestFinished) or event.outcome not in BAD or suite.excuses(event):
        return None
    return _test_line(event)


def _test_line(test: TestFinished, remark: str = "") -> FailureLine:
    failure = test.failure or Failure()
    message = _brief(failure, _message(test.message or failure.message, failure)) or "no reason given"
    return FailureLine(test.outcome.upper(), neutral(test.test), failure.place, f"{message}{remark}")


def headline(event: Event, suite: SuiteResult) -> str:
    """One line for a failure, when it happens; empty for any other event."""
    line = failure_line(event, suite)
    return str(line) if line is not None else ""


def word(occurrence: Occurrence) -> str:
    """How the failure counts: FAILED, ERROR, CRASH or TIMEOUT."""
    if occurrence.finished is None or occurrence.when in _ERRORS:
        return "ERROR"
    return "FAILED" if occurrence.subtest else occurrence.finished.outcome.upper()


def cause_headline(cause: Cause) -> str:
    """One line for a cause: what it broke, in which phase, and where."""
    first, count = cause.first, len(cause.tests)
    if first.finished is None:
        return f"ERROR cannot collect {neutral(first.test) if count == 1 else f'{count} files'}"
    what = label(first) if len(cause.occurrences) == 1 else neutral(first.test)
    if count > 1:
        what = f"{count} tests in the same way"
    elif len(cause.occurrences) > 1 and first.subtest:
        what += f" in {len(cause.occurrences)} subtests"
    place = _at(first.failure.place) if cause.one_place else ""
    return f"{word(first)} {what}{phase_text(first)}{place}"


def phase_text(occurrence: Occurrence) -> str:
    """` [setup of fixture NAME]` where the failure was outside of the test's call; otherwise empty."""
    if occurrence.when not in _ERRORS:
        return ""
    fixture = occurrence.failure.fixture
    return f" [{occurrence.when} of fixture {neutral(fixture)}]" if fixture else f" [{occurrence.when}]"


def attempts_text(occurrence: Occurrence) -> str:
    """`attempts: error, failed` of a test that was tried several times; otherwise empty."""
    tries = occurrence.finished.tries if occurrence.finished else ()
    return f"attempts: {', '.join(one.outcome for one in tries)}" if tries else ""


def label(occurrence: Occurrence) -> str:
    """The id of the test, with the name of the subtest if there is one."""
    name = neutral(occurrence.test)
    return f"{name} {neutral(occurrence.subtest)}" if occurrence.subtest else name


def _at(place: Place | None) -> str:
    return f" at {neutral(str(place))}" if place else ""


def rows(cause: Cause, result: RunResult) -> Iterator[str]:
    """A line for each failure of a group: the test, and its own place and message where they differ."""
    one_place, one_message = cause.one_place, cause.one_message
    if one_place and one_message and len(cause.occurrences) == len(cause.tests) > _NAMED:
        from proctor.render.ids import Known, factored

        yield from factored(cause.tests, Known.of(result))
        return
    for occurrence in cause.occurrences:
        where = "" if one_place else _at(occurrence.failure.place)
        why = "" if one_message else f": {brief(occurrence)}"
        yield f"{label(occurrence)}{where}{why}"


def message_of(occurrence: Occurrence) -> str:
    """The message of a failure, or that of its test; without the place, which stands beside it."""
    of_test = occurrence.finished.message if occurrence.finished else None
    return _message(occurrence.failure.message or of_test or "", occurrence.failure)


def _message(text: str, failure: Failure) -> str:
    return neutral_block(text.removesuffix(f" at {failure.place}") if failure.place else text).strip()


def brief(occurrence: Occurrence) -> str:
    """Why it failed, on one line: where two values differ, if they were compared, or what was raised."""
    return _brief(occurrence.failure, message_of(occurrence))


def _brief(failure: Failure, message: str) -> str:
    if not failure.message:
        return short(message)
    from proctor.render.failure_text import TextLimits, failure_text

    return neutral(failure_text(failure, TextLimits(width=_SHORT, more=False)).line).removesuffix(":")


def short(text: str) -> str:
    """The first line of a message, harmless."""
    return neutral(first_line(text, _SHORT))

"""What went wrong, for people: each cause once, with the tests that it broke."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from proctor.events import CollectionFailed, Event, Failure, Phase, Place, TestFinished
from proctor.outcome import BAD, RunOutcome
from proctor.render.neutral import neutral, neutral_block
from proctor.render.printed import quoted_output
from proctor.render.writer import Tone
from proctor.result import RunResult
from proctor.text import first_line

if TYPE_CHECKING:  # loaded only if something failed
    from proctor.causes import Cause, Occurrence

_OUTPUT_LINES = 30  # of a failed test's captured output; the rest is in the run's directory
_TRACE_HEAD, _TRACE_TAIL = 12, 36  # lines of a trace
_SHORT = 200  # characters of a message on one line
_NAMED = 12  # tests that are named one by one; more are named together: `all of FILE`, `FILE::{a,b}`
_RERUN = 5  # tests named in one command

# Frames of pytest and the interpreter's start in the text of faulthandler.
_HARNESS = re.compile(
    r"(?:^  File \"(?:\S*/(?:_pytest|pluggy|pytest)/|<frozen runpy>).*\n?){3,}", re.MULTILINE
)

_DEBUG = "debug: "  # begins the note of a test that stopped at a breakpoint
_LOUD = ("crash", "timeout", "collect")
_ERRORS = ("setup", "teardown")  # phases in which a failure is an error


class Block(msgspec.Struct, frozen=True):
    """A headline in its tone, and what stands below it."""

    head: str
    body: str
    tone: Tone


def blocks(result: RunResult) -> Iterator[Block]:
    """What went wrong, worst first. The output of a test stands in the first block that the test begins."""
    if result.broke is not None and result.outcome is not RunOutcome.USAGE_ERROR:
        yield Block("INTERNAL ERROR", _trace(result.broke.traceback or result.broke.failure.message), "loud")
    if result.outcome is RunOutcome.USAGE_ERROR and result.stderr.text().strip():
        yield Block("USAGE ERROR", neutral_block(result.stderr.text()).strip(), "loud")
    for title, lines in quoted_output(result):
        yield Block(title, "\n".join(lines), "loud")
    shown: set[str] = set()
    for cause in causes_of(result):
        body, test = [*_body(cause, result)], cause.first.finished
        if test is not None and test.test not in shown:
            shown.add(test.test)
            whose = " (of the first)" if len(cause.occurrences) > 1 else ""
            body += [line for phase in test.phases for line in _captured(phase, whose)]
        if command := _rerun(cause, result):
            body.append(f"  rerun: {command}")
        body += [f"  {neutral(note)}" for note in cause.first.failure.notes if note.startswith(_DEBUG)]
        yield Block(cause_headline(cause), "\n".join(body), "loud" if cause.first.when in _LOUD else "bad")


def headlines(result: RunResult) -> Iterator[str]:
    """One line for each block."""
    if result.broke is not None and result.outcome is not RunOutcome.USAGE_ERROR:
        yield f"INTERNAL ERROR: {short(result.broke.failure.message)}"
    for cause in causes_of(result):
        yield f"{cause_headline(cause)}: {short(message_of(cause.first))}"


def causes_of(result: RunResult) -> list[Cause]:
    """The causes of all failures. Loads the module that finds them only if something failed."""
    if not result.collection_errors and not any(result.counts[outcome] for outcome in BAD):
        return []
    from proctor.causes import causes

    return causes(result)


def headline(event: Event) -> str:
    """One line for a failure, when it happens; empty for any other event."""
    if isinstance(event, CollectionFailed):
        return f"ERROR cannot collect {neutral(event.file)}: {short(event.failure.message)}"
    if not isinstance(event, TestFinished) or event.outcome not in BAD:
        return ""
    failure = event.failure or Failure()
    message = short(_message(event.message or failure.message, failure))
    return (
        f"{event.outcome.upper()} {neutral(event.test)}{_at(failure.place)}: {message or 'no reason given'}"
    )


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
        why = "" if one_message else f": {short(message_of(occurrence))}"
        yield f"{label(occurrence)}{where}{why}"


def _body(cause: Cause, result: RunResult) -> Iterator[str]:
    if len(cause.occurrences) > 1:
        yield from (f"  {row}" for row in rows(cause, result))
        if not (cause.one_place and cause.one_message):
            yield "the first of them:"
    message, trace = message_of(cause.first), _trace(cause.first.traceback)
    if not all(line.strip() in trace for line in message.splitlines()):  # each stands behind a mark there
        yield message
    yield from _compared(cause.first.failure)
    if trace:
        yield trace


def _rerun(cause: Cause, result: RunResult) -> str:
    """The command that runs these tests again; empty where nobody knows who ran them."""
    tests = dict.fromkeys(o.finished.part_of or o.test for o in cause.occurrences if o.finished)
    if not tests or not result.run.runner:
        return ""
    if len(tests) > _RERUN:
        return "proctor run --last-failed"
    from shlex import quote

    return " ".join(["proctor run", *(neutral(quote(test)) for test in tests)])


def message_of(occurrence: Occurrence) -> str:
    """The message of a failure, or that of its test; without the place, which stands beside it."""
    of_test = occurrence.finished.message if occurrence.finished else None
    return _message(occurrence.failure.message or of_test or "", occurrence.failure)


def _message(text: str, failure: Failure) -> str:
    return neutral_block(text.removesuffix(f" at {failure.place}") if failure.place else text).strip()


def _compared(failure: Failure) -> Iterator[str]:
    for name, value in (("expected", failure.expected), ("actual", failure.actual)):
        if value is not None:
            shown = neutral_block(value).rstrip("\n").split("\n")
            yield f"  {name:>8}: {shown[0]}"
            yield from (f"            {line}" for line in shown[1:])


def _trace(text: str) -> str:
    """A long one keeps its beginning and its end, which say who called and what broke."""
    folded = _HARNESS.sub(
        lambda frames: f"  ... {len(frames[0].splitlines())} frames of pytest ...\n", neutral_block(text)
    )
    lines = folded.rstrip().split("\n")
    cut = len(lines) - _TRACE_HEAD - _TRACE_TAIL
    if cut > 1:
        lines[_TRACE_HEAD:-_TRACE_TAIL] = [f"... {cut} lines left out ..."]
    return "\n".join(lines)


def _captured(phase: Phase, whose: str) -> Iterator[str]:
    for name, text in (("stdout", phase.stdout), ("stderr", phase.stderr)):
        if text.strip():
            shown = neutral_block(text).rstrip().splitlines()
            cut = f" (last {_OUTPUT_LINES} of {len(shown)} lines)" if len(shown) > _OUTPUT_LINES else ""
            yield f"  {name} of {phase.when}{whose}:{cut}"
            yield from (f"    {line}" for line in shown[-_OUTPUT_LINES:])


def short(text: str) -> str:
    """The first line of a message, harmless."""
    return neutral(first_line(text, _SHORT))

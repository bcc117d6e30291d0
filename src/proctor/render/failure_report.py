"""What went wrong, for people: each cause once, with the tests that it broke."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from proctor.events import CollectionFailed, Failure, Phase, TestFinished
from proctor.outcome import BAD, RunOutcome
from proctor.render.neutral import neutral, neutral_block
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

# Frames of the interpreter's last words between a test and the shell that nobody has to look at.
_HARNESS = re.compile(
    r"(?:^  File \"(?:\S*/(?:_pytest|pluggy|pytest)/|<frozen runpy>).*\n?){3,}", re.MULTILINE
)

_LOUD = ("crash", "timeout", "collect")
_ERRORS = ("setup", "teardown")  # phases in which a failure is an error


class Block(msgspec.Struct, frozen=True):
    """A headline in its tone, and what stands below it."""

    head: str
    body: str
    tone: Tone


def blocks(result: RunResult) -> Iterator[Block]:
    """What went wrong, worst first. The output of a test stands in the first block that the test begins."""
    if result.broke is not None:
        yield Block("INTERNAL ERROR", _trace(result.broke.traceback or result.broke.failure.message), "loud")
    if result.outcome is RunOutcome.USAGE_ERROR and result.stderr.text().strip():
        yield Block("USAGE ERROR", neutral_block(result.stderr.text()).strip(), "loud")
    shown: set[str] = set()
    for cause in causes_of(result):
        body = [*_body(cause, result)]
        test = failed_test(cause.first, result)
        if test is not None and test.test not in shown:
            shown.add(test.test)
            whose = " (of the first)" if len(cause.occurrences) > 1 else ""
            body += [line for phase in test.phases for line in _captured(phase, whose)]
        body += _rerun_line(cause, result)
        yield Block(cause_headline(cause, result), "\n".join(body), _tone(cause))


def headlines(result: RunResult) -> Iterator[str]:
    """One line for each block."""
    if result.broke is not None:
        yield f"INTERNAL ERROR: {short(result.broke.failure.message)}"
    for cause in causes_of(result):
        message = short(message_of(cause.first, result))
        yield f"{cause_headline(cause, result)}: {message}"


def causes_of(result: RunResult) -> list[Cause]:
    """The causes of all failures. Loads the module that finds them only if something failed."""
    if not result.collection_errors and not any(result.counts[outcome] for outcome in BAD):
        return []
    from proctor.causes import causes

    return causes(result)


def headline(test: TestFinished) -> str:
    """One line for a failure, when it happens."""
    failure = test.failure or Failure()
    place = f" at {neutral(str(failure.place))}" if failure.place else ""
    message = short(_message(test.message or failure.message, failure))
    return f"{_word(test)} {neutral(test.test)}{place}: {message or 'no reason given'}"


def collection_headline(error: CollectionFailed) -> str:
    return f"ERROR cannot collect {neutral(error.file)}: {short(error.failure.message)}"


def failed_test(occurrence: Occurrence, result: RunResult) -> TestFinished | None:
    """The test that failed; None for a file that could not be collected."""
    return None if occurrence.when == "collect" else result.tests.get(occurrence.test)


def word(occurrence: Occurrence, result: RunResult) -> str:
    """How the failure counts: FAILED, ERROR, CRASH or TIMEOUT."""
    test = failed_test(occurrence, result)
    if test is None or occurrence.when in _ERRORS:
        return "ERROR"
    return "FAILED" if occurrence.subtest else _word(test)


def _word(test: TestFinished) -> str:
    return str(test.outcome).upper()


def _tone(cause: Cause) -> Tone:
    return "loud" if cause.first.when in _LOUD else "bad"


def cause_headline(cause: Cause, result: RunResult) -> str:
    """One line for a cause: what it broke, in which phase, and where."""
    first, count = cause.first, len(cause.tests)
    if first.when == "collect":
        what = neutral(first.test) if count == 1 else f"{count} files"
        return f"ERROR cannot collect {what}"
    what = label(first) if len(cause.occurrences) == 1 else neutral(first.test)
    if count > 1:
        what = f"{count} tests in the same way"
    elif len(cause.occurrences) > 1 and first.subtest:
        what += f" in {len(cause.occurrences)} subtests"
    place = f" at {neutral(str(first.failure.place))}" if first.failure.place and _one_place(cause) else ""
    return f"{word(first, result)} {what}{phase_text(first)}{place}"


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


def _one_place(cause: Cause) -> bool:
    return len({occurrence.failure.place for occurrence in cause.occurrences}) == 1


def _one_message(cause: Cause) -> bool:
    return len({occurrence.failure.message for occurrence in cause.occurrences}) == 1


def rows(cause: Cause, result: RunResult) -> Iterator[str]:
    """A line for each failure of a group: the test, and its own place and message where they differ."""
    one_place, one_message = _one_place(cause), _one_message(cause)
    if one_place and one_message and len(cause.occurrences) == len(cause.tests) > _NAMED:
        from proctor.render.ids import Known, factored

        yield from factored(cause.tests, Known.of(result))
        return
    for occurrence in cause.occurrences:
        place = occurrence.failure.place
        where = f" at {neutral(str(place))}" if place and not one_place else ""
        why = "" if one_message else f": {short(message_of(occurrence, result))}"
        yield f"{label(occurrence)}{where}{why}"


def _body(cause: Cause, result: RunResult) -> Iterator[str]:
    first = cause.first
    if len(cause.occurrences) > 1:
        yield from (f"  {row}" for row in rows(cause, result))
        if not (_one_place(cause) and _one_message(cause)):
            yield "the first of them:"
    message, trace = message_of(first, result), _trace(first.traceback)
    if not _says(trace, message):
        yield message
    yield from _compared(first.failure)
    if trace:
        yield trace


def _rerun_line(cause: Cause, result: RunResult) -> Iterator[str]:
    tests = (failed_test(occurrence, result) for occurrence in cause.occurrences)
    names = list(dict.fromkeys(test.part_of or test.test for test in tests if test is not None))
    if names and (command := rerun(result, names)):
        yield f"  rerun: {command}"


def message_of(occurrence: Occurrence, result: RunResult) -> str:
    """The message of a failure, or that of its test; without the place, which stands beside it."""
    test = failed_test(occurrence, result)
    return _message(occurrence.failure.message or (test.message if test else "") or "", occurrence.failure)


def _message(text: str, failure: Failure) -> str:
    return neutral_block(text.removesuffix(f" at {failure.place}") if failure.place else text).strip()


def _says(trace: str, message: str) -> bool:
    """A trace usually ends with the message, each line of it behind a mark."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return not lines or all(line in trace for line in lines)


def _compared(failure: Failure | None) -> Iterator[str]:
    if failure is not None:
        for name, value in (("expected", failure.expected), ("actual", failure.actual)):
            if value is not None:
                shown = neutral_block(value).rstrip("\n").split("\n")
                yield f"  {name:>8}: {shown[0]}"
                yield from (f"            {line}" for line in shown[1:])


def _trace(text: str) -> str:
    """A long one keeps its beginning and its end, which say who called and what broke."""
    folded = _HARNESS.sub(_count_frames, neutral_block(text))
    lines = folded.rstrip().split("\n")
    cut = len(lines) - _TRACE_HEAD - _TRACE_TAIL
    if cut > 1:
        lines[_TRACE_HEAD:-_TRACE_TAIL] = [f"... {cut} lines left out ..."]
    return "\n".join(lines)


def _count_frames(frames: re.Match[str]) -> str:
    return f"  ... {len(frames[0].splitlines())} frames of pytest ...\n"


def _captured(phase: Phase, whose: str) -> Iterator[str]:
    for name, text in (("stdout", phase.stdout), ("stderr", phase.stderr)):
        if text.strip():
            shown = neutral_block(text).rstrip().splitlines()
            cut = f" (last {_OUTPUT_LINES} of {len(shown)} lines)" if len(shown) > _OUTPUT_LINES else ""
            yield f"  {name} of {phase.when}{whose}:{cut}"
            yield from (f"    {line}" for line in shown[-_OUTPUT_LINES:])


def rerun(result: RunResult, tests: Sequence[str]) -> str:
    """The command that runs these tests again; nothing where we do not know who ran them."""
    if not result.run.runner:
        return ""
    if len(tests) > _RERUN:
        return "proctor run --last-failed"
    from shlex import quote

    return " ".join(["proctor run", *(neutral(quote(test)) for test in tests)])


def short(text: str) -> str:
    """The first line of a message, harmless."""
    return neutral(first_line(text, _SHORT))

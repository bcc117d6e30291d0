"""What went wrong, for people: each failure once, those that are the same together, the worst first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from proctor.events import CollectionFailed, Failure, Phase, TestFinished
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.render.neutral import neutral, neutral_block
from proctor.render.say import Tone
from proctor.result import RunResult
from proctor.text import first_line

_OUTPUT_LINES = 30  # of a failed test's captured output; the rest is in the run's directory
_TRACE_HEAD, _TRACE_TAIL = 12, 36  # lines of a trace
_SHORT = 200  # characters of a message on one line
_NAMED = 12  # tests named in one group
_RERUN = 5  # tests named in one command

# Frames of the interpreter's last words between a test and the shell that nobody has to look at.
_HARNESS = re.compile(
    r"(?:^  File \"(?:\S*/(?:_pytest|pluggy|pytest)/|<frozen runpy>).*\n?){3,}", re.MULTILINE
)

_ORDER = {Outcome.CRASH: 0, Outcome.TIMEOUT: 1, Outcome.ERROR: 2, Outcome.FAILED: 3}


class Block(msgspec.Struct, frozen=True):
    """A headline in its tone, and what stands below it."""

    head: str
    body: str
    tone: Tone


class Group(msgspec.Struct, frozen=True):
    """Tests that failed in the same way, in the order in which they did."""

    tests: tuple[TestFinished, ...]

    @property
    def first(self) -> TestFinished:
        return self.tests[0]


def groups(result: RunResult) -> list[Group]:
    """The bad tests of a run; the harness's failures before those of tests."""
    alike: dict[tuple[object, ...], list[TestFinished]] = {}
    for test in result.tests.values():
        if test.outcome in BAD:
            alike.setdefault(_likeness(test), []).append(test)
    found = [Group(tuple(tests)) for tests in alike.values()]
    return sorted(found, key=lambda group: _ORDER[group.first.outcome])


def _likeness(test: TestFinished) -> tuple[object, ...]:
    failure = test.failure
    if failure is None or not failure.message or failure.place is None:
        return (test.test,)  # too little is known to call it the same as another
    return (test.outcome, failure.type, test.message, failure.place)


def blocks(result: RunResult) -> Iterator[Block]:
    for error in result.collection_errors:
        yield Block(f"ERROR cannot collect {neutral(error.file)}", _collection_body(error), "loud")
    if result.broke is not None:
        yield Block("INTERNAL ERROR", _trace(result.broke.traceback or result.broke.failure.message), "loud")
    if result.outcome is RunOutcome.USAGE_ERROR and result.stderr.text().strip():
        yield Block("USAGE ERROR", neutral_block(result.stderr.text()).strip(), "loud")
    for group in groups(result):
        yield Block(_head(group), "\n".join(_body(group, result)), _tone(group.first))


def headlines(result: RunResult) -> Iterator[str]:
    """The same in a line each, for where there is no room for more."""
    yield from map(collection_headline, result.collection_errors)
    if result.broke is not None:
        yield f"INTERNAL ERROR: {short(result.broke.failure.message)}"
    for group in groups(result):
        yield f"{_head(group)}: {short(_message(group.first))}"


def headline(test: TestFinished) -> str:
    """One line for a failure, when it happens."""
    place = f" at {neutral(str(test.failure.place))}" if test.failure and test.failure.place else ""
    return f"{word(test)} {neutral(test.test)}{place}: {short(_message(test)) or 'no reason given'}"


def collection_headline(error: CollectionFailed) -> str:
    return f"ERROR cannot collect {neutral(error.file)}: {short(error.failure.message)}"


def word(test: TestFinished) -> str:
    return str(test.outcome).upper()


def _tone(test: TestFinished) -> Tone:
    return "loud" if test.outcome in (Outcome.CRASH, Outcome.TIMEOUT) else "bad"


def _head(group: Group) -> str:
    test, failure = group.first, group.first.failure
    what = neutral(test.test) if len(group.tests) == 1 else f"{len(group.tests)} tests in the same way"
    return f"{word(test)} {what}" + (
        f" at {neutral(str(failure.place))}" if failure and failure.place else ""
    )


def _body(group: Group, result: RunResult) -> Iterator[str]:
    test, several = group.first, len(group.tests) > 1
    if several:
        yield from (f"  {neutral(one.test)}" for one in group.tests[:_NAMED])
        if len(group.tests) > _NAMED:
            yield f"  ... and {len(group.tests) - _NAMED} more"
    message, trace = _message(test), _trace(test.traceback or "")
    if not _says(trace, message):
        yield message
    yield from _compared(test.failure)
    if trace:
        yield trace
    for phase in test.phases:
        yield from _captured(phase, " (of the first)" if several else "")
    if command := rerun(result, list(dict.fromkeys(one.part_of or one.test for one in group.tests))):
        yield f"  rerun: {command}"


def _message(test: TestFinished) -> str:
    """Without the place, which is told beside it."""
    failure = test.failure or Failure()
    place = f" at {failure.place}" if failure.place else ""
    return neutral_block((test.message or failure.message).removesuffix(place)).strip()


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


def _collection_body(error: CollectionFailed) -> str:
    message, trace = neutral_block(error.failure.message).strip(), _trace(error.traceback)
    return trace if _says(trace, message) else f"{message}\n{trace}".rstrip()


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

"""The answer for a person, without a terminal's help: readable in a log, a pipe, a pager."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from proctor.events import CollectionFailed, Entry, Phase, RunFinished, TestFinished
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.render.neutral import neutral, neutral_block
from proctor.render.verdict_line import verdict_line
from proctor.result import Result

HEARTBEAT = 30.0  # seconds of silence after which a log says that we are still there
_OUTPUT_LINES = 30  # of a failed test's captured output; the rest is in the run's directory

Write = Callable[[str], None]


class PlainLog:
    """Failures as they happen, a sign of life in long silence, and the report at the end."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._spoke = 0.0

    def handle(self, entry: Entry, so_far: Result) -> None:
        event = entry.event
        if isinstance(event, TestFinished) and event.outcome in BAD:
            self._say(entry.at, headline(event) + "\n")
        elif isinstance(event, CollectionFailed):
            self._say(entry.at, f"ERROR {neutral(event.file)}: {_first(event.failure.message)}\n")
        elif isinstance(event, RunFinished):
            self._say(entry.at, report(so_far))

    def tick(self, now: float, so_far: Result) -> None:
        if now - self._spoke >= HEARTBEAT and so_far.outcome is RunOutcome.RUNNING:
            self._say(now, f"... {progress(so_far)} after {now:.0f} s\n")

    def _say(self, now: float, text: str) -> None:
        self._spoke = now
        self._write(text)


def headline(test: TestFinished) -> str:
    return f"{str(test.outcome).upper()} {neutral(test.test)}: {_first(test.message or '')}"


def progress(result: Result) -> str:
    done = f"{len(result.tests)}/{result.count}" if result.count is not None else "collecting"
    running = ", ".join(neutral(test) for test in list(result.running)[:3])
    return f"{done}: {running}" if running else done


def report(result: Result) -> str:
    """Everything a person wants at the end: each failure with its trace and output, then the verdict."""
    parts = [*_harness(result), *(_failure(test) for test in result.tests.values() if test.outcome in BAD)]
    parts += _skips(result)
    parts += [f"note: {neutral(notice)}" for notice in result.notices]
    verdict = f"{verdict_line(result) or result.outcome} in {result.seconds:.2f}s"
    if result.reason:
        verdict += f" ({neutral(result.reason)})"
    return "\n".join([*parts, verdict]) + "\n"


def _harness(result: Result) -> Iterator[str]:
    for error in result.collection_errors:
        yield f"\n--- cannot collect {neutral(error.file)}\n{neutral_block(error.traceback).rstrip()}\n"
    if result.broke is not None:
        yield f"\n--- internal error\n{neutral_block(result.broke.traceback).rstrip()}\n"
    if result.outcome is RunOutcome.USAGE_ERROR:
        yield f"\n{neutral_block(result.stderr.text()).strip()}\n"


def _failure(test: TestFinished) -> str:
    lines = [f"\n--- {str(test.outcome).upper()} {neutral(test.test)}"]
    if test.failure and test.failure.place:
        lines[0] += f"  at {neutral(str(test.failure.place))}"
    lines.append(neutral_block(test.traceback or test.message or "").rstrip())
    for phase in test.phases:
        lines += _captured(phase)
    return "\n".join(lines) + "\n"


def _captured(phase: Phase) -> Iterator[str]:
    for name, text in (("stdout", phase.stdout), ("stderr", phase.stderr)):
        if text:
            shown = neutral_block(text).rstrip().splitlines()
            cut = len(shown) - _OUTPUT_LINES
            yield f"  {name} of {phase.when}:" + (
                f" (last {_OUTPUT_LINES} of {len(shown)} lines)" if cut > 0 else ""
            )
            yield from (f"    {line}" for line in shown[-_OUTPUT_LINES:])


def _skips(result: Result) -> list[str]:
    reasons: dict[str, int] = {}
    for test in result.tests.values():
        if test.outcome is Outcome.SKIPPED:
            reason = _first(test.message or "no reason given")
            reasons[reason] = reasons.get(reason, 0) + 1
    return [f"skipped {count}x: {reason}" for reason, count in reasons.items()]


def _first(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return neutral(line if len(line) <= 200 else line[:197] + "...")

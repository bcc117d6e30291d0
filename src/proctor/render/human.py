"""The report for people as plain text, for a log, a pipe or a pager."""

from __future__ import annotations

from collections import Counter

from proctor.events import Entry, RunFinished
from proctor.outcome import Outcome, RunOutcome
from proctor.render.failure_report import blocks, headline, short
from proctor.render.neutral import neutral
from proctor.render.verdict_line import suites_not_run, verdict_of_tests
from proctor.render.writer import Tone, Writer, plain_writer
from proctor.result import RunResult
from proctor.verdict import not_run_reason

HEARTBEAT = 30.0  # seconds without output after which a log shows that the run goes on


class PlainLog:
    """Failures as they happen, the progress after a long silence, and the report at the end."""

    name = "human"

    def __init__(self, write: Writer) -> None:
        self._write = write
        self._wrote = 0.0

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        if line := headline(entry.event):
            self._write_line(entry.at, line, "bad")
        elif isinstance(entry.event, RunFinished):
            write_report(so_far, self._write)

    def tick(self, now: float, so_far: RunResult) -> None:
        if now - self._wrote >= HEARTBEAT and so_far.outcome is RunOutcome.RUNNING:
            self._write_line(now, f"... {progress(so_far)} after {now:.0f} s", "quiet")

    def _write_line(self, now: float, line: str, tone: Tone) -> None:
        self._wrote = now
        self._write(f"{line}\n", tone)


def progress(result: RunResult) -> str:
    done = f"{result.done}/{result.expected}" if result.expected is not None else result.collecting
    running = ", ".join(neutral(test) for test in list(result.running)[:3])
    return f"{done}: {running}" if running else done


def write_report(result: RunResult, write: Writer) -> None:
    """Each cause with its trace and output, then skips, notices and the verdict."""
    found = list(blocks(result))
    for block in found:
        write(f"\n--- {block.head}\n", block.tone)
        if block.body:
            write(f"{block.body}\n")
    if found:
        write("\n")
    for reason, count in skip_reasons(result).items():
        write(f"skipped {count}x: {reason}\n", "odd")
    for why in map(not_run_reason, result.missing):
        if why not in result.reason:  # which the verdict ends with
            write(f"{neutral(why)}\n", "odd")
    for notice in result.notices:
        write(f"note: {neutral(notice)}\n", "odd")
    write(verdict(result) + "\n", tone(result))


def report_text(result: RunResult) -> str:
    parts: list[str] = []
    write_report(result, plain_writer(parts.append))
    return "".join(parts).lstrip("\n")


def verdict(result: RunResult) -> str:
    """The last line of a report."""
    tests = f"{verdict_of_tests(result) or result.outcome} in {result.seconds:.2f}s"
    text = ", ".join([tests, *suites_not_run(result)])
    return f"{text} ({neutral(result.reason)})" if result.reason else text


def tone(result: RunResult) -> Tone:
    return "good" if result.outcome is RunOutcome.PASSED else "loud"


def skip_reasons(result: RunResult) -> Counter[str]:
    skipped = [test.message for test in result.tests.values() if test.outcome is Outcome.SKIPPED]
    return Counter(short(message or "no reason given") for message in skipped)

"""The report for people as plain text, for a log, a pipe or a pager."""

from __future__ import annotations

from collections import Counter

from proctor.outcome import Outcome, RunOutcome
from proctor.render.failure_report import blocks, short
from proctor.render.neutral import neutral
from proctor.render.verdict_line import verdict_line
from proctor.render.writer import Tone, Writer, plain_writer
from proctor.result import RunResult


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
    for notice in result.notices:
        write(f"note: {neutral(notice)}\n", "odd")
    write(verdict(result) + "\n", tone(result))


def report_text(result: RunResult) -> str:
    parts: list[str] = []
    write_report(result, plain_writer(parts.append))
    return "".join(parts).lstrip("\n")


def verdict(result: RunResult) -> str:
    """The last line of a report."""
    text = f"{verdict_line(result) or result.outcome} in {result.seconds:.2f}s"
    return f"{text} ({neutral(result.reason)})" if result.reason else text


def tone(result: RunResult) -> Tone:
    return "good" if result.outcome is RunOutcome.PASSED else "loud"


def skip_reasons(result: RunResult) -> Counter[str]:
    skipped = [test.message for test in result.tests.values() if test.outcome is Outcome.SKIPPED]
    return Counter(short(message or "no reason given") for message in skipped)

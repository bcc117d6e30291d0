"""The answer for a person, without a terminal's help: readable in a log, a pipe, a pager."""

from __future__ import annotations

from proctor.events import CollectionFailed, Entry, RunFinished, TestFinished
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.render.failure_report import blocks, collection_headline, first_line, headline
from proctor.render.neutral import neutral
from proctor.render.say import Listener, Say, Tone
from proctor.render.verdict_line import verdict_line
from proctor.result import Result

HEARTBEAT = 30.0  # seconds of silence after which a log says that we are still there


class PlainLog:
    """Failures as they happen, a sign of life in long silence, and the report at the end."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._spoke = 0.0

    def handle(self, entry: Entry, so_far: Result) -> None:
        event = entry.event
        if isinstance(event, TestFinished) and event.outcome in BAD:
            self._speak(entry.at, headline(event), "bad")
        elif isinstance(event, CollectionFailed):
            self._speak(entry.at, collection_headline(event), "bad")
        elif isinstance(event, RunFinished):
            report(so_far, self._say)

    def tick(self, now: float, so_far: Result) -> None:
        if now - self._spoke >= HEARTBEAT and so_far.outcome is RunOutcome.RUNNING:
            self._speak(now, f"... {progress(so_far)} after {now:.0f} s", "quiet")

    def _speak(self, now: float, line: str, tone: Tone) -> None:
        self._spoke = now
        self._say(f"{line}\n", tone)


def progress(result: Result) -> str:
    done = f"{result.done}/{result.expected}" if result.expected is not None else "collecting"
    running = ", ".join(neutral(test) for test in list(result.running)[:3])
    return f"{done}: {running}" if running else done


def report(result: Result, say: Say) -> None:
    """Everything a person wants at the end: each failure with its trace and output, then the verdict."""
    found = list(blocks(result))
    for block in found:
        say(f"\n--- {block.head}\n", block.tone)
        if block.body:
            say(f"{block.body}\n")
    if found:
        say("\n")
    for reason, count in skip_reasons(result).items():
        say(f"skipped {count}x: {reason}\n", "odd")
    for notice in result.notices:
        say(f"note: {neutral(notice)}\n", "odd")
    say(verdict(result) + "\n", tone(result))


def report_text(result: Result) -> str:
    heard = Listener()
    report(result, heard)
    return heard.text().lstrip("\n")


def verdict(result: Result) -> str:
    """The last line of a report."""
    text = f"{verdict_line(result) or result.outcome} in {result.seconds:.2f}s"
    return f"{text} ({neutral(result.reason)})" if result.reason else text


def tone(result: Result) -> Tone:
    return "good" if result.outcome is RunOutcome.PASSED else "loud"


def skip_reasons(result: Result) -> dict[str, int]:
    reasons: dict[str, int] = {}
    for test in result.tests.values():
        if test.outcome is Outcome.SKIPPED:
            reason = first_line(test.message or "no reason given")
            reasons[reason] = reasons.get(reason, 0) + 1
    return reasons

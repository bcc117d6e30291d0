"""The log of a run as plain lines, for people who follow it off a terminal."""

from __future__ import annotations

from proctor.events import Entry, RunFinished
from proctor.outcome import RunOutcome
from proctor.render.failure_report import headline
from proctor.render.human import write_report
from proctor.render.neutral import neutral
from proctor.render.writer import Tone, Writer
from proctor.result import RunResult

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

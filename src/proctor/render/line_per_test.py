"""A line for each test, as it ends."""

from __future__ import annotations

from proctor.events import Entry, RunFinished, TestFinished
from proctor.outcome import BAD, Outcome
from proctor.render.failure_report import headline, short
from proctor.render.human import write_report
from proctor.render.neutral import neutral
from proctor.render.writer import Tone, Writer
from proctor.result import RunResult

_WIDTH = max(len(outcome) for outcome in Outcome)


class LinePerTest:
    name = "names"

    def __init__(self, write: Writer) -> None:
        self._write = write

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        event = entry.event
        if isinstance(event, TestFinished):
            write_test_line(event, self._write)
        elif line := headline(event):
            self._write(f"{line}\n", "bad")
        elif isinstance(event, RunFinished):
            for test in so_far.not_run:
                self._write(f"{mark(Outcome.NOT_RUN)} {neutral(test)}\n", "odd")
            write_report(so_far, self._write)

    def tick(self, now: float, so_far: RunResult) -> None:
        pass


def write_test_line(test: TestFinished, write: Writer) -> None:
    write(f"{mark(test.outcome)} {neutral(test.test)}{remark(test)}\n", tone(test.outcome))


def mark(outcome: Outcome) -> str:
    """The outcome as a word in a column; bad ones in capitals, so that they stand out without colour."""
    word = str(outcome)
    return f"{word.upper() if outcome in BAD else word:{_WIDTH}}"


def remark(test: TestFinished) -> str:
    """The rest of the line: how long the test took, and why it did not pass."""
    took = f" {test.seconds:.2f}s" if test.seconds >= 0.005 else ""
    why = f": {short(test.message)}" if test.message and test.outcome is not Outcome.PASSED else ""
    return took + why


def tone(outcome: Outcome) -> Tone:
    if outcome in BAD:
        return "bad"
    return "good" if outcome in (Outcome.PASSED, Outcome.INFO) else "odd"

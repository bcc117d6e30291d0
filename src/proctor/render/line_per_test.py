"""A line for each test, as it ends."""

from __future__ import annotations

import msgspec

from proctor.events import Entry, RunFinished, TestFinished
from proctor.outcome import BAD, FLAKY, Outcome
from proctor.render.failure_report import headline, short
from proctor.render.human import write_report
from proctor.render.neutral import neutral
from proctor.render.progress import session_line
from proctor.render.writer import Tone, Writer
from proctor.result import RunResult, SuiteResult

_WIDTH = max(len(outcome) for outcome in Outcome)


class LinePerTest:
    name = "names"

    def __init__(self, write: Writer) -> None:
        self._write = write

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        event = entry.event
        suite = so_far.suites[entry.suite]
        if isinstance(event, TestFinished):
            write_test_line(event, self._write, suite)
        elif line := headline(event, suite):
            self._write(f"{line}\n", "bad")
        elif line := session_line(event):
            self._write(f"{line}\n", "quiet")
        elif isinstance(event, RunFinished):
            for test in so_far.not_run:
                self._write(f"{mark(Outcome.NOT_RUN)} {neutral(test)}\n", "odd")
            write_report(so_far, self._write)

    def tick(self, now: float, so_far: RunResult) -> None:
        pass


def write_test_line(test: TestFinished, write: Writer, suite: SuiteResult) -> None:
    line = TestLine.of(test, suite)
    write(f"{line.mark} {neutral(test.test)}{line.remark}\n", line.tone)


class TestLine(msgspec.Struct, frozen=True):
    """What a line says of a test beside its name."""

    mark: str
    tone: Tone
    remark: str = ""  # how long it took, and why it did not pass

    @classmethod
    def of(cls, test: TestFinished, suite: SuiteResult) -> TestLine:
        took = f" {test.seconds:.2f}s" if test.seconds >= 0.005 else ""
        if suite.excuses(test):
            from proctor.wire.reports.contents import excuse  # few runs need it

            why = short(excuse(test, suite.quarantined))
            return cls(f"{test.outcome:{_WIDTH}}", "odd", f"{took}: {why}")
        if test.flaky:
            tries = ", ".join(one.outcome for one in test.tries)
            return cls(f"{FLAKY:{_WIDTH}}", "odd", f"{took}: {tries}")
        reason = f": {short(test.message)}" if test.message and test.outcome is not Outcome.PASSED else ""
        return cls(mark(test.outcome), tone(test.outcome), took + reason)


def mark(outcome: Outcome) -> str:
    """The outcome as a word in a column; bad ones in capitals, so that they stand out without colour."""
    word = str(outcome)
    return f"{word.upper() if outcome in BAD else word:{_WIDTH}}"


def tone(outcome: Outcome) -> Tone:
    if outcome in BAD:
        return "bad"
    return "good" if outcome in (Outcome.PASSED, Outcome.INFO) else "odd"

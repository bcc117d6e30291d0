"""A character for each test, as it ends; a failure is named at once."""

from __future__ import annotations

from proctor.events import Entry, RunFinished, TestFinished
from proctor.outcome import Outcome
from proctor.render.failure_report import headline
from proctor.render.human import write_report
from proctor.render.writer import Tone, Writer
from proctor.result import RunResult

_ROW = 60  # characters of a row; the count stands behind it
_SIGNS: dict[Outcome, tuple[str, Tone]] = {
    Outcome.PASSED: (".", "good"),
    Outcome.SKIPPED: ("s", "odd"),
    Outcome.XFAILED: ("x", "odd"),
    Outcome.XPASSED: ("X", "odd"),
    Outcome.NOT_RUN: ("-", "odd"),
    Outcome.INFO: ("i", "good"),
    Outcome.WARN: ("w", "odd"),
}


class Dots:
    name = "dots"

    def __init__(self, write: Writer) -> None:
        self._write = write
        self._column = 0

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        event = entry.event
        if line := headline(event, so_far.suites[entry.suite]):
            self._break_row()
            self._write(f"{line}\n", "bad")
        elif isinstance(event, TestFinished):
            self._dot(_sign(event), so_far)
        elif isinstance(event, RunFinished):
            self._break_row()
            write_report(so_far, self._write)

    def tick(self, now: float, so_far: RunResult) -> None:
        pass

    def _dot(self, sign: tuple[str, Tone], so_far: RunResult) -> None:
        self._write(*sign)
        self._column += 1
        if self._column == _ROW:
            total = f"/{so_far.expected}" if so_far.expected else ""
            self._write(f" {so_far.done}{total}\n", "quiet")
            self._column = 0

    def _break_row(self) -> None:
        if self._column:
            self._write("\n")
            self._column = 0


def _sign(test: TestFinished) -> tuple[str, Tone]:
    """What ended badly and is no failure is in quarantine."""
    return ("~", "odd") if test.flaky else _SIGNS.get(test.outcome, ("q", "odd"))

"""Reads the failure index from the output of a run: rows, and their events.

A test may print the opening line too, so the last block counts.
"""

from __future__ import annotations

import codecs
import re

from proctor import events as e
from proctor.errors import StreamError
from proctor.failure_row import CLOSE, OPEN, PHASES, Row, decode, truncation
from proctor.outcome import Outcome
from proctor.unique_names import UniqueNames

_MOST = 1 << 20  # characters of a line that may still be a row
_PLACE = re.compile("(.*):([0-9]{1,9})", re.S)


class FailuresReader:
    """Takes the output of a run in pieces; holds one block and one line of it."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._rest = ""
        self._line = 0
        self._begin(opened=False)

    def _begin(self, opened: bool = True) -> None:
        self.rows: list[Row] = []
        self.more = 0  # failures that have no row
        self._fault = ""
        self._open = opened

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        for line in lines:
            self._take(line)
        if len(self._rest) > _MOST:
            self._rest = self._rest[:_MOST] + " "  # not a row; it need not grow

    def close(self) -> list[Row]:
        """The rows of the last block; none where there is no block. Raises StreamError if it is damaged."""
        self._rest += self._decoder.decode(b"", True)
        if self._rest:
            self._take(self._rest)
            self._rest = ""
        if self._open:
            raise StreamError(f"the failures end at line {self._line} without {CLOSE}")
        if self._fault:
            raise StreamError(self._fault)
        return self.rows

    def _take(self, line: str) -> None:
        self._line += 1
        line = line.rstrip("\r")
        if line == OPEN:
            self._begin()
        elif not self._open:
            return
        elif line == CLOSE:
            self._open = False
        elif not self._fault:
            self._take_row(line)

    def _take_row(self, line: str) -> None:
        if (more := truncation(line)) is not None:
            self.more = more
            return
        try:
            self.rows.append(decode(line))
        except ValueError as error:  # raised at the end, if this is the last block
            self._fault = f"line {self._line} is no row of failures: {error}; it is {line[:80]!r}"
            self.rows = []


class FailuresReport:
    """The block as the report of a run with these failures."""

    def __init__(self) -> None:
        self._reader = FailuresReader()

    def feed(self, data: bytes) -> list[e.Event]:
        self._reader.feed(data)
        return []

    def close(self) -> list[e.Event]:
        rows = self._reader.close()
        if not rows and not self._reader.more:
            return [e.ChannelBroken(f"there is no {OPEN} block, and nothing else says how the run ended")]
        return [*events(rows, self._reader.more), e.SessionFinished(1)]


def events(rows: list[Row], more: int = 0) -> list[e.Event]:
    """The failures of the rows. Passed tests have no row."""
    labels = UniqueNames()
    tests: dict[str, e.TestFinished] = {}
    found: list[e.Event] = []
    for row in rows:
        phase, message = _phase(row.error)
        failure = e.Failure("", message, _place(row.place))
        if phase == "collect":
            found.append(e.CollectionFailed(row.test, failure))
            continue
        earlier = tests.get(row.test)
        phases = (e.Phase(phase or "call", "failed", failure=failure),)
        if phase == "teardown" and earlier is not None:  # a test can fail, and then in its teardown again
            tests[row.test] = _failed(row.test, earlier.outcome, (*earlier.phases, *phases))
        else:
            label = labels.unique(row.test)
            tests[label] = _failed(label, Outcome.ERROR if phase else Outcome.FAILED, phases)
    found += tests.values()
    if more:
        found.append(e.Noticed(f"{more} more failures are not in the list"))
    return found


def _failed(test: str, outcome: Outcome, phases: tuple[e.Phase, ...]) -> e.TestFinished:
    failures = [phase.failure for phase in phases if phase.failure is not None]
    message = "\n".join(failure.message for failure in failures)
    return e.TestFinished(test, outcome, message=message, failure=failures[0], phases=phases)


def _phase(error: str) -> tuple[str, str]:
    for phase in PHASES:
        if error.startswith(f"[{phase}] "):
            return phase, error[len(phase) + 3 :]
    return "", error


def _place(text: str) -> e.Place | None:
    if found := _PLACE.fullmatch(text):
        return e.Place(found[1], int(found[2]))
    return e.Place(text) if text else None

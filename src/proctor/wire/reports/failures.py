"""The failure index, read back from whatever it was printed behind: rows, and the events they stand for.

A test may print sentinels of its own: the last line that is one counts. What comes before it is not read.
"""

from __future__ import annotations

import codecs

from proctor import events as e
from proctor.errors import StreamError
from proctor.failure_row import CLOSE, OPEN, PHASES, Row, decode, truncation
from proctor.outcome import Outcome
from proctor.unique_names import UniqueNames

_MOST = 1 << 20  # characters of a line that may still be a row


class FailuresReader:
    """Fed with the text of a run as it comes; holds no more of it than one block and one line."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._rest = ""
        self._line = 0
        self._begin()
        self._open = False
        self._found = False

    def _begin(self) -> None:
        self.rows: list[Row] = []
        self.more = 0  # failures that have no row
        self._fault = ""
        self._open = self._found = True

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        for line in lines:
            self._take(line)
        if len(self._rest) > _MOST:
            self._rest = self._rest[:_MOST] + " "  # no row of ours; it need not grow

    def close(self) -> list[Row]:
        """The rows of the last block; none where there is no block. Raises StreamError if it is damaged."""
        self._rest += self._decoder.decode(b"", True)
        if self._rest:
            self._take(self._rest)
            self._rest = ""
        if self._found and self._open:
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
        more = truncation(line)
        if more is not None:
            self.more = more
            return
        try:
            self.rows.append(decode(line))
        except ValueError as error:  # perhaps not of the last block, so nobody may ever care
            self._fault = f"line {self._line} is no row of failures: {error}; it is {line[:80]!r}"
            self.rows = []


class FailuresReport:
    """The block as a report: a run with these failures; without a block, nothing is known to have failed."""

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
    """What the rows say: how each test failed. Nobody says which tests passed."""
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
    file, colon, line = text.rpartition(":")
    if colon and line.isascii() and line.isdigit() and len(line) < 10:
        return e.Place(file, int(line))
    return e.Place(text) if text else None

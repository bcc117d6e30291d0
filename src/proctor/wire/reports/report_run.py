"""Reads a report of another tool as the entries of a run, with the beginning and the end that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from proctor import events as e
from proctor.errors import StreamError
from proctor.fold import begin, closing_events, fold
from proctor.launch import Voice
from proctor.wire.reports.report import Reader


class RunReader(Protocol):
    """Bytes in pieces, entries out; each run begins with its `RunStarted`."""

    def feed(self, data: bytes) -> list[e.Entry]: ...

    def close(self) -> list[e.Entry]: ...

    @property
    def gap(self) -> str:
        """What is missing or wrong, once all of it was read."""
        ...


class ReportRun:
    """One run: it begins with the first bytes, and gets its verdict at the end."""

    def __init__(self, form: str, reader: Reader) -> None:
        self._reader = reader
        started = e.RunStarted("", form, (), "", "", "", source=Voice.REPORT)
        self._result = begin(started)
        self._entries: list[e.Entry] = []
        self._seq = 0
        self._take(started)

    def feed(self, data: bytes) -> list[e.Entry]:
        self._read(lambda: self._reader.feed(data))
        return self._taken()

    def close(self) -> list[e.Entry]:
        self._read(self._reader.close)
        finished = self._result.suites[0].session.finished
        for suite, event in closing_events(self._result, finished.duration if finished else 0.0):
            self._take(event, suite)
        return self._taken()

    @property
    def gap(self) -> str:
        """What is missing or wrong in the report, once all of it was read."""
        return self._result.suites[0].session.channel_error or ""

    def _read(self, read: Callable[[], list[e.Event]]) -> None:
        try:
            for event in read():
                self._take(event)
        except StreamError as error:
            if not self.gap:  # a reader stays broken, and raises its error each time
                self._take(e.ChannelBroken(str(error)))

    def _take(self, event: e.Event, suite: int = 0) -> None:
        entry = e.Entry(self._seq, 0.0, suite, event)
        self._seq += 1
        fold(self._result, entry)
        self._entries.append(entry)

    def _taken(self) -> list[e.Entry]:
        taken, self._entries = self._entries, []
        return taken

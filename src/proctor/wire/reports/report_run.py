"""Any report as the run that it tells of: what a stream of ours has, other tools' reports get here."""

from __future__ import annotations

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


class ReportRun:
    """One run: begun when the first bytes come, and judged when there are no more."""

    def __init__(self, form: str, reader: Reader) -> None:
        self._reader = reader
        started = e.RunStarted("", form, (), "", "", "", source=Voice.REPORT)
        self._result = begin(started)
        self._entries: list[e.Entry] = []
        self._seq = 0
        self._take(started)

    def feed(self, data: bytes) -> list[e.Entry]:
        try:
            for event in self._reader.feed(data):
                self._take(event)
        except StreamError as error:
            self._break(error)
        return self._told()

    def close(self) -> list[e.Entry]:
        try:
            for event in self._reader.close():
                self._take(event)
        except StreamError as error:
            self._break(error)
        finished = self._result.suites[0].session.finished
        for suite, event in closing_events(self._result, finished.duration if finished else 0.0):
            self._take(event, suite)
        return self._told()

    @property
    def gap(self) -> str:
        """What keeps the report from being complete, once all of it was read."""
        return self._result.suites[0].session.channel_error or ""

    def _break(self, error: StreamError) -> None:
        if not self.gap:  # a reader stays broken, and says so each time
            self._take(e.ChannelBroken(str(error)))

    def _take(self, event: e.Event, suite: int = 0) -> None:
        entry = e.Entry(self._seq, 0.0, suite, event)
        self._seq += 1
        fold(self._result, entry)
        self._entries.append(entry)

    def _told(self) -> list[e.Entry]:
        told, self._entries = self._entries, []
        return told

"""Carries events from their source to the fold and to every reader, in one order for all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from proctor.events import Entry, Event, Noticed, RunStarted
from proctor.fold import begin, closing_events, fold, fold_all, session_closing_events, suite_closing_events
from proctor.outcome import RunOutcome
from proctor.result import RunResult


class Sink(Protocol):
    """A reader. It gets each entry with the result so far, and counts nothing itself."""

    name: str  # what users call it: a format, an option, a file

    def handle(self, entry: Entry, so_far: RunResult) -> None: ...

    def tick(self, now: float, so_far: RunResult) -> None:
        """Called after each batch of entries, and now and then in silence; `now` counts from the start."""
        ...


@runtime_checkable
class BatchSink(Sink, Protocol):
    """A reader for whom many entries in one piece are less work than one by one."""

    def handle_all(self, first: Entry, events: Sequence[Event], so_far: RunResult) -> None:
        """Events of one suite and one moment, all of them in `so_far`. `first` is the entry of the first; the
        others follow it in number."""
        ...


Fault: TypeAlias = tuple[Sink, Exception]  # a reader, and why it stopped


def why_stopped(sink: Sink, error: Exception) -> str:
    return f"{sink.name} stopped: {type(error).__name__}: {error}"


class Relay:
    """Every reader sees the same entries, numbered from 0 on; the last is `RunFinished`, and none follows it.

    A reader that fails is removed. The others get an entry about it, after the one at which it failed; if
    that was the last entry, it is only in the faults.
    """

    def __init__(self, started: RunStarted, sinks: Iterable[Sink], faults: list[Fault] | None = None) -> None:
        self.result = begin(started)
        self.faults: list[Fault] = [] if faults is None else faults
        self._set_sinks(sinks)
        self._seq = 0
        self._dropped: deque[str] = deque()  # notices that wait for the entry under way
        self.publish(started, 0.0)

    def publish(self, event: Event, at: float, suite: int = 0) -> None:
        self.publish_all((event,), at, suite)

    def publish_all(self, events: Sequence[Event], at: float, suite: int = 0) -> None:
        """Events of one suite that became known at the same moment."""
        if self._batches and len(events) > 1:
            self._publish_batch(events, at, suite)
            return
        result = self.result
        for event in events:
            entry = Entry(self._seq, at, suite, event)
            self._seq += 1
            fold(result, entry)
            for sink in self._sinks:
                try:
                    sink.handle(entry, result)
                except Exception as error:  # noqa: BLE001  the one place: a reader must not cost the run
                    self._drop(sink, error)
            if self._dropped:
                self._announce(at)

    def _publish_batch(self, events: Sequence[Event], at: float, suite: int) -> None:
        """No reader needs the result between two of them."""
        first = Entry(self._seq, at, suite, events[0])
        self._seq += len(events)
        fold_all(self.result, first, events)
        for sink in self._batches:
            try:
                sink.handle_all(first, events, self.result)
            except Exception as error:  # noqa: BLE001
                self._drop(sink, error)
        self._announce(at)

    def tick(self, now: float, shown: RunResult | None = None) -> None:
        """`shown`: what the readers see instead of the result, which it never enters."""
        for sink in self._sinks:
            try:
                sink.tick(now, self.result if shown is None else shown)
            except Exception as error:  # noqa: BLE001
                self._drop(sink, error)
        self._announce(now)

    def close_session(self, now: float, suite: int) -> None:
        """Give an ending to the tests with which a session ended, before another one of the suite begins."""
        self._publish_numbered(session_closing_events(self.result, suite), now)

    def close_suite(self, now: float, suite: int) -> None:
        """Give an ending to the suite, and to whatever in it has none."""
        self._publish_numbered(suite_closing_events(self.result, suite, now), now)
        self.tick(now)

    def close(self, now: float) -> RunResult:
        """Give an ending to whatever has none; the last entry is the verdict."""
        self._publish_numbered(closing_events(self.result, now), now)
        self.tick(now)
        return self.result

    def _publish_numbered(self, events: Iterable[tuple[int, Event]], now: float) -> None:
        for suite, event in events:
            self.publish(event, now, suite)

    def _set_sinks(self, sinks: Iterable[Sink]) -> None:
        self._sinks = list(sinks)
        batches = [sink for sink in self._sinks if isinstance(sink, BatchSink)]
        self._batches = batches if len(batches) == len(self._sinks) else []  # all of them, or none

    def _drop(self, sink: Sink, error: Exception) -> None:
        self._set_sinks(other for other in self._sinks if other is not sink)
        self.faults.append((sink, error))
        self._dropped.append(why_stopped(sink, error))

    def _announce(self, at: float) -> None:
        """Publish which readers were dropped, after every other reader has the entry at which they failed."""
        while self._dropped:
            text = self._dropped.popleft()
            if self.result.outcome is RunOutcome.RUNNING:  # nothing follows the verdict
                self.publish(Noticed(text), at)

"""Carries events from their source to the fold and to every reader, in one order for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from proctor.events import Entry, Event, Noticed, RunStarted, TestFinished
from proctor.fold import begin, closing_events, fold, fold_parts, suite_closing_events
from proctor.result import Result


class Sink(Protocol):
    """A reader. It gets each entry with the result so far, and counts nothing itself."""

    def handle(self, entry: Entry, so_far: Result) -> None: ...

    def tick(self, now: float, so_far: Result) -> None:
        """Called after each batch of entries, and now and then in silence; `now` counts from the start."""
        ...


@runtime_checkable
class PartsSink(Sink, Protocol):
    """A reader for whom many entries in one piece are less work than one by one."""

    def handle_parts(self, first: int, at: float, parts: Sequence[TestFinished], so_far: Result) -> None:
        """`first` is the number of the first entry."""
        ...


Fault: TypeAlias = tuple[Sink, Exception]  # a reader, and why it stopped


class Relay:
    def __init__(self, started: RunStarted, sinks: Iterable[Sink], faults: list[Fault] | None = None) -> None:
        self.result = begin(started)
        self.faults: list[Fault] = [] if faults is None else faults
        self._sinks = list(sinks)
        self._seq = 0
        self.publish(started, 0.0)

    def publish(self, event: Event, at: float) -> None:
        self.publish_all((event,), at)

    def publish_all(self, events: Iterable[Event], at: float) -> None:
        """Events that became known at the same moment."""
        result = self.result
        for event in events:
            entry = Entry(self._seq, at, event)
            self._seq += 1
            fold(result, entry)
            for sink in self._sinks:
                try:
                    sink.handle(entry, result)
                except Exception as error:  # noqa: BLE001  the one place: a reader must not cost the run
                    self._drop(sink, error, at)

    def publish_parts(self, parts: Sequence[TestFinished], at: float) -> None:
        """Parts of a test that became known together: a reader may take them in one piece."""
        first = self._seq
        self._seq += len(parts)
        fold_parts(self.result, parts)
        for sink in self._sinks:
            try:
                if isinstance(sink, PartsSink):
                    sink.handle_parts(first, at, parts, self.result)
                else:
                    for seq, part in enumerate(parts, first):
                        sink.handle(Entry(seq, at, part), self.result)
            except Exception as error:  # noqa: BLE001
                self._drop(sink, error, at)

    def tick(self, now: float) -> None:
        for sink in self._sinks:
            try:
                sink.tick(now, self.result)
            except Exception as error:  # noqa: BLE001
                self._drop(sink, error, now)

    def close_suite(self, now: float) -> None:
        """The same for the present one of several suites."""
        self.publish_all(suite_closing_events(self.result, now), now)
        self.tick(now)

    def close(self, now: float) -> Result:
        """Give an ending to whatever has none; the last entry is the verdict."""
        for event in closing_events(self.result, now):
            self.publish(event, now)
        self.tick(now)
        return self.result

    def _drop(self, sink: Sink, error: Exception, at: float) -> None:
        self._sinks = [other for other in self._sinks if other is not sink]
        self.faults.append((sink, error))
        self.publish(Noticed(f"{type(sink).__name__} stopped: {type(error).__name__}: {error}"), at)

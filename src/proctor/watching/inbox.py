"""What happens while tests run and while nobody does anything: changes, keys, signals, in their order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TypeAlias

import msgspec

from proctor.outcome import RunOutcome
from proctor.process.stop import Stop


class Changed(msgspec.Struct, frozen=True):
    paths: Mapping[str, int]  # relative, and when they were changed, in nanoseconds


class Pressed(msgspec.Struct, frozen=True):
    key: str


class Signalled(msgspec.Struct, frozen=True):
    number: int


class Resumed(msgspec.Struct, frozen=True):
    """After Ctrl-Z."""


class Failed(msgspec.Struct, frozen=True):
    """Changes can no longer be seen."""

    why: str


Event: TypeAlias = Changed | Pressed | Signalled | Resumed | Failed
#: Why the event ends the run that is under way; None: it does not.
Ends: TypeAlias = Callable[[Event], RunOutcome | None]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Inbox:
    """Any thread may put something into it, and so may a signal handler."""

    def __init__(self, ends: Ends) -> None:
        self._ends = ends
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._next: Event | None = None  # taken out of them already
        self._stop: Stop | None = None
        #: Of `ends` and of the stop; a handler may interrupt whoever holds it.
        self.lock = threading.RLock()

    def put(self, event: Event) -> None:
        with self.lock:
            self._events.put(event)
            if self._stop is not None and (reason := self._ends(event)) is not None:
                self._stop.ask(reason)

    def get(self) -> Event | None:
        """The next event that has happened."""
        if self._next is not None:
            found, self._next = self._next, None
            return found
        try:
            return self._events.get_nowait()
        except Empty:
            return None

    def wait(self, seconds: float) -> None:
        """Until something happens, but not for longer."""
        with suppress(Empty):
            self._next = self._next or self._events.get(timeout=seconds)

    @contextmanager
    def run(self) -> Iterator[Stop]:
        """Events may end what is done meanwhile."""
        stop = Stop()
        with self.lock:
            self._stop = stop
        try:
            yield stop
        finally:
            with self.lock:
                self._stop = None
            stop.close()

    @contextmanager
    def signals(self, heard: Callable[[int], None]) -> Iterator[None]:
        """Those that end a program are events; `heard` is called first."""

        def handle(number: int, _frame: object) -> None:
            heard(number)
            self.put(Signalled(number))

        before = {
            number: signal.signal(number, handle)
            for number in _SIGNALS
            if signal.getsignal(number) is not signal.SIG_IGN  # as under nohup and in background jobs
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

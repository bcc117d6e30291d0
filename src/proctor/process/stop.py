"""A request to end a run, from a signal handler or another thread."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from proctor.outcome import RunOutcome


class Stop:
    """A request to end a run, which the loop sees at its next wait."""

    def __init__(self) -> None:
        self.reason: RunOutcome | None = None
        self.hurried = False
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)

    def ask(self, reason: RunOutcome) -> None:
        """The first request ends the run gently, the second at once."""
        self.hurried = self.hurried or self.reason is not None or reason is RunOutcome.CANCELLED
        self.reason = self.reason or reason
        try:
            os.write(self._write, b".")
        except OSError:
            pass  # full: the loop is awake already

    def fileno(self) -> int:
        return self._read

    def clear(self) -> None:
        os.read(self._read, 64)

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


@contextmanager
def stoppable(interrupted: Callable[[], None] | None = None) -> Iterator[Stop]:
    """Ctrl-C ends the run gently, a second one at once; SIGTERM and SIGHUP cancel it.

    `interrupted` is called at the first Ctrl-C, whatever the run is doing then.
    """
    stop = Stop()
    reasons = {
        signal.SIGINT: RunOutcome.INTERRUPTED,
        signal.SIGTERM: RunOutcome.CANCELLED,
        signal.SIGHUP: RunOutcome.CANCELLED,
    }

    def ask(number: int, _frame: object) -> None:
        first = stop.reason is None
        stop.ask(reasons[signal.Signals(number)])
        if first and number == signal.SIGINT and interrupted is not None:
            interrupted()

    before = {
        number: signal.signal(number, ask)
        for number in reasons
        if signal.getsignal(number) is not signal.SIG_IGN  # as under nohup and in background jobs
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stop.close()

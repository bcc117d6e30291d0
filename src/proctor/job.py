"""A running process and its listener: what it writes is read, and it is ended step by step."""

from __future__ import annotations

from typing import Generic

from proctor.listener import Listener
from proctor.outcome import RunOutcome
from proctor.process.deadline import Ending
from proctor.process.process import Chunk, P


class Job(Generic[P]):
    def __init__(self, process: P, listener: Listener) -> None:
        self.process, self.listener = process, listener
        self.ending: Ending | None = None

    def take(self, chunks: list[Chunk]) -> None:
        for chunk in sorted(chunks, key=lambda chunk: chunk.stream == "control"):
            self.listener.take(chunk)
        if self.listener.deaf:
            self.process.stop_hearing()
        self.process.diversion = self.listener.diversion

    def heard(self, now: float) -> None:
        """The session has reported that it was interrupted."""
        if self.ending is not None:
            self.ending.heard(now)

    def stop(self, reason: RunOutcome, now: float) -> None:
        """Begins to end the process, unless it has ended by itself."""
        if self.ending is None and self.process.exit_status is None:
            self.listener.stopped = reason
            self.ending = Ending(now)

    def interrupt_test(self, now: float) -> None:
        """Begins to end the process because a test takes too long, unless it is ending."""
        if self.ending is None and self.process.exit_status is None:
            self.listener.interrupting = True
            self.ending = Ending(now)

    def let_go_on(self) -> None:
        """The test that took too long has ended by itself."""
        if self.listener.stopped is None:
            self.listener.interrupting, self.ending = False, None

    def push(self, now: float, hurried: bool) -> None:
        if self.ending is not None:
            if hurried:
                self.ending.hurry(now)
            if push := self.ending.due(now):
                self.process.push(push)

    def wait(self, now: float) -> float | None:
        """Seconds until something has to happen."""
        if self.ending:
            return self.ending.wait(now)
        left, next_overdue = self.listener.allowance.remaining(now), self.listener.next_overdue()
        until = None if next_overdue is None else max(0.0, next_overdue - now)
        return min((wait for wait in (left, until) if wait is not None), default=None)

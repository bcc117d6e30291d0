"""When to interrupt, abort and kill a process that must end. Time is an argument: no clock is read here."""

from __future__ import annotations

from enum import Enum

INTERRUPT_SECONDS = 2.0  # for a sign that the interrupt was heard
CLEANUP_SECONDS = 10.0  # for fixtures and reports, once it was heard
ABORT_SECONDS = 0.5  # for faulthandler to write where the process hangs


class Push(Enum):
    """What to do to the main process, from gentle to final."""

    INTERRUPT = b"i"
    ABORT = b"a"
    KILL = b"k"


class Ending:
    """The steps to end a process: interrupt, abort, kill, with a pause after each."""

    def __init__(self, now: float, steps: tuple[Push, ...] = (Push.INTERRUPT, Push.ABORT, Push.KILL)) -> None:
        self._steps = list(steps)
        self._next = now
        self._heard = False

    def hurry(self, now: float) -> None:
        """Kill at once."""
        if self._steps:
            self._steps, self._next = [Push.KILL], now

    def heard(self, now: float) -> None:
        """The process reacts to the interrupt: it cleans up and does not hang."""
        if Push.ABORT in self._steps and not self._heard:
            self._heard = True
            self._next = now + CLEANUP_SECONDS

    def due(self, now: float) -> Push | None:
        if not self._steps or now < self._next:
            return None
        push = self._steps.pop(0)
        self._next = now + (INTERRUPT_SECONDS if push is Push.INTERRUPT else ABORT_SECONDS)
        return push

    def wait(self, now: float) -> float | None:
        """Seconds until something is due; None when nothing more is."""
        return max(0.0, self._next - now) if self._steps else None

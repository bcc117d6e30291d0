"""How long an engine has been unable to continue, what to show people meanwhile, and when to give up."""

from __future__ import annotations

from collections.abc import Callable

from proctor.durations import clock
from proctor.engines.engine import Engine

_LOOK = 1.0  # seconds between two questions to the engine
_SHORT = 3.0  # seconds that are worth no words: workers start, and others take their place


class Waiting:
    """Every `now` is in seconds since the start of the run."""

    def __init__(self, engine: Engine, limit: float, tell: Callable[[str], None] | None) -> None:
        """`limit`: seconds after which to give up. `tell` is called once, with what the run waits for."""
        self._engine, self._limit, self._tell = engine, limit, tell
        self._lack, self._since, self._looked = "", 0.0, 0.0

    def start(self, now: float) -> None:
        self._since = now

    def look(self, now: float) -> str:
        """Why to give up; empty: not yet."""
        if now - self._looked < min(_LOOK, self._limit):
            return ""
        self._looked, self._lack = now, self._engine.lack()
        if not self._lack:
            self._since = now
        elif now - self._since >= self._limit:
            return f"{self._lack} for {self._limit:g} s"
        elif now - self._since >= _SHORT and self._tell is not None:
            self._tell(f"{self._lack}: the run waits for up to {self._limit:g} s")
            self._tell = None
        return ""

    def text(self, now: float) -> str:
        """For a line that is always new; empty: there is nothing to wait for."""
        waited = now - self._since
        if not self._lack or waited < _SHORT:
            return ""
        return f"{self._lack}: waiting, {clock(max(0.0, self._limit - waited))} left"

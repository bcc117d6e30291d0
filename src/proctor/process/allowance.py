"""The time limit of one test, which the test may change. Time is an argument, as in `deadline`."""

from __future__ import annotations

from typing import assert_never

from proctor.wire.control.decoder import Duration, DurationAction


class Allowance:
    """The time limit that `duration` messages change; without one, adding and subtracting has no effect."""

    def __init__(self, seconds: float | None, now: float) -> None:
        self._end = None if seconds is None else now + seconds
        self._saved: list[float | None] = []

    def remaining(self, now: float) -> float | None:
        """Seconds; not more than 0 when time is up, None when there is no limit."""
        return None if self._end is None else self._end - now

    def change(self, word: Duration, now: float) -> None:
        match word.action:
            case DurationAction.SET:
                self._end = now + word.seconds
            case DurationAction.ADD:
                self._move(word.seconds)
            case DurationAction.SUBTRACT:
                self._move(-word.seconds)
            case DurationAction.SAVE:
                self._saved.append(self.remaining(now))
            case DurationAction.RESTORE:
                left = self._saved.pop()
                self._end = None if left is None else now + left
            case _:
                assert_never(word.action)

    def _move(self, seconds: float) -> None:
        if self._end is not None:
            self._end += seconds

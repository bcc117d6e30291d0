"""What a report for people shows."""

from __future__ import annotations

import msgspec


class Shown(msgspec.Struct, frozen=True):
    verbosity: int = 0  # 1: a line for each test, and whole differences; -1: only verdict and failures
    durations: int | None = None  # how many of the slowest tests; 0: all; None: three, if they are slow
    introduced: bool = True  # who runs the tests, and how many there are, before the first one

    @property
    def quiet(self) -> bool:
        return self.verbosity < 0

    @property
    def whole(self) -> bool:
        return self.verbosity > 0


USUAL = Shown()

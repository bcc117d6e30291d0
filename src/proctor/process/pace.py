"""How often to read: a wake-up takes longer than a message, so a busy channel is read in batches."""

from __future__ import annotations

LEAST, MOST = 0.001, 0.15  # seconds between two reads
_FEW, _MANY = 0.25, 0.5  # how full a pipe was found: it can wait longer, or must not wait


class Pace:
    """Batches large enough to be worth it, and small enough that no writer ever finds its pipe full."""

    def __init__(self) -> None:
        self.pause = 0.0  # before the next read
        self._step = LEAST

    def read(self, fullness: float) -> None:
        """Call it after each read: how full the fullest pipe was, from 0 (nothing came) to 1."""
        if fullness >= _MANY:
            self._step = max(LEAST, self._step / 4)
        elif 0 < fullness < _FEW:
            self._step = min(MOST, self._step * 2)
        self.pause = self._step if 0 < fullness < _MANY else 0.0

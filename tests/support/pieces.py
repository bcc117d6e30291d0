"""Data that arrives in pieces of any size, for tests of whatever is fed."""

from __future__ import annotations

from typing import AnyStr


def pieces(data: AnyStr, size: int = 0) -> list[AnyStr]:
    """All of it; a size of 0 is one piece."""
    size = size or max(1, len(data))
    return [data[start : start + size] for start in range(0, len(data), size)]

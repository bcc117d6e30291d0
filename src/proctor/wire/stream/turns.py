"""Puts items of suites that overlap in time into the order of the suites."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """Items of suites in, items in the order of the suites out: the first to begin is written as it comes."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[T]] = {}
        self._ended: set[int] = set()

    def take(self, suite: int, items: Iterable[T], ended: bool = False) -> list[T]:
        """The items that can be written now."""
        self._waiting.setdefault(suite, []).extend(items)
        if ended:
            self._ended.add(suite)
        found: list[T] = []
        while self._waiting:
            first = next(iter(self._waiting))
            found += self._waiting[first]
            if first not in self._ended:
                self._waiting[first] = []
                break
            del self._waiting[first]
            self._ended.discard(first)
        return found

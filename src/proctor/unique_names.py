"""Makes names unique: the second `x` becomes `x#2`."""

from __future__ import annotations

import re
from collections.abc import Collection

_NUMBER = re.compile(r"#[0-9]+\Z")


class UniqueNames:
    """The names given so far, none of them twice. Its time and memory are linear in the names asked for."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}  # a name that was given -> the last number that was tried for it

    def __len__(self) -> int:
        return len(self._last)

    def unique(self, name: str) -> str:
        """The name itself or, where it was given before, with the first number that makes a new name."""
        last = self._last
        if name not in last:
            last[name] = 1
            return name
        found, number = name, last[name]
        while found in last:
            number += 1
            found = f"{name}#{number}"
        last[name] = number
        last[found] = 1
        return found

    def unique_all(self, names: list[str]) -> list[str]:
        """`unique` of each, in one step where all are new."""
        fresh = dict.fromkeys(names, 1)
        if len(fresh) == len(names) and self._last.keys().isdisjoint(fresh):  # nearly always
            self._last |= fresh
            return names
        return [self.unique(name) for name in names]


def without_number(name: str, known: Collection[str] = ()) -> str:
    """What `name` was before it was made unique, unless it is known as it is."""
    return name if name in known else _NUMBER.sub("", name)

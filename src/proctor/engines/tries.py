"""Which shard starts next, and how often: what to do when workers die. No engine, no clock."""

from __future__ import annotations

import uuid

import msgspec

MOST_TRIES = 3  # of a shard, the first included
_MOST_STARTS = 10  # of a shard, those included that never began


class Try(msgspec.Struct, eq=False):
    """One try at a shard."""

    shard: int  # from 1 on
    id: str
    alone: bool = False  # nothing else was given to the executor: if that breaks, this did it
    shipped: bool = False  # the project goes with it


class Tries:
    """Every shard is waiting, suspected, under way, or settled.

    When an executor breaks, all that it was working on is lost, and one of them may have done it. So they
    run again one at a time: a shard that kills its worker each time uses up its own tries, and no others'.
    """

    def __init__(self, shards: list[int]) -> None:
        self._waiting = list(shards)
        self._suspects: list[int] = []
        self.under_way: dict[str, Try] = {}
        self._starts = dict.fromkeys(shards, 0)
        self.count = dict.fromkeys(shards, 0)  # tries of each shard that began, or may have begun

    @property
    def left(self) -> list[int]:
        """Shards that wait for their turn."""
        return [*self._suspects, *self._waiting]

    def start(self) -> list[Try]:
        """Those that may begin now."""
        if self.under_way and (self._suspects or any(one.alone for one in self.under_way.values())):
            return []
        if self._suspects:
            return [self._begun(self._suspects.pop(0), alone=True)]
        waiting, self._waiting = self._waiting, []
        return [self._begun(shard) for shard in waiting]

    def ship(self, one: Try) -> Try:
        """The same try again, with the project: it has not begun for lack of that."""
        return self._under_way(Try(one.shard, uuid.uuid4().hex, one.alone, shipped=True))

    def settle(self, one: Try) -> None:
        del self.under_way[one.id]

    def lose(self, one: Try, broken: bool = False, began: bool = True, final: bool = False) -> bool:
        """A try that came to nothing. Returns whether the shard gets another one: not if this was `final`.

        `broken`: so did every other try that its executor had. `began`: as far as anybody knows.
        """
        self.settle(one)
        if broken and not began:
            self.count[one.shard] -= 1
        if final or self.count[one.shard] >= MOST_TRIES or self._starts[one.shard] >= _MOST_STARTS:
            return False
        suspected = broken and began
        (self._suspects if suspected else self._waiting).append(one.shard)
        return True

    def drop_left(self) -> list[int]:
        """Nothing more begins. Returns the shards that were waiting."""
        left = self.left
        self._waiting, self._suspects = [], []
        return left

    def _begun(self, shard: int, alone: bool = False) -> Try:
        self.count[shard] += 1
        return self._under_way(Try(shard, uuid.uuid4().hex, alone))

    def _under_way(self, one: Try) -> Try:
        self._starts[one.shard] += 1
        self.under_way[one.id] = one
        return one

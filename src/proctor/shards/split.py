"""Divides tests into shards. Pure: the same tests and times give the same shards."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping

import msgspec

from proctor.digest import blake2b
from proctor.shards.plan import Shard


class Group(msgspec.Struct):
    """Tests that must stay together: those of a file, and of files that a mark joins."""

    name: str
    runner: str
    tests: list[str] = []


_LEAST = 0.001  # seconds that every test takes, however short it is


def by_time(
    groups: Iterable[Group], seconds: Mapping[str, float], usual: float, shards: int
) -> tuple[Shard, ...]:
    """The longest group goes first, always to the shard with the least to do. `usual`: seconds of each test
    whose time is not known. If no time is known at all, the number of tests counts."""
    timed = bool(seconds or usual)
    one = max(usual, _LEAST) if timed else 1.0
    known = {test: max(spent, _LEAST) for test, spent in seconds.items()}
    costs = [(sum(known.get(test, one) for test in group.tests), group) for group in groups]
    costs.sort(key=lambda cost: (-cost[0], cost[1].runner, cost[1].name))
    loads = [(0.0, 0, number) for number in range(shards)]
    parts: list[list[Group]] = [[] for _ in range(shards)]
    for cost, group in costs:
        load, size, number = loads[0]
        parts[number].append(group)
        heapq.heapreplace(loads, (load + cost, size + len(group.tests), number))
    times = {number: load for load, _, number in loads} if timed else {}
    return tuple(_shard(part, times.get(number, 0.0)) for number, part in enumerate(parts))


def by_hash(groups: Iterable[Group], shards: int) -> tuple[Shard, ...]:
    """By the name of each group alone: adding or removing one moves no other."""
    parts: list[list[Group]] = [[] for _ in range(shards)]
    for group in groups:
        number = int.from_bytes(blake2b(group.name.encode(errors="surrogatepass"), digest_size=8).digest())
        parts[number % shards].append(group)
    return tuple(_shard(part, 0.0) for part in parts)


def _shard(groups: list[Group], seconds: float) -> Shard:
    by_runner: dict[str, list[Group]] = {}
    for group in groups:
        by_runner.setdefault(group.runner, []).append(group)
    ordered = {runner: by_runner[runner] for runner in sorted(by_runner)}
    tests = {
        runner: sorted(test for group in parts for test in group.tests) for runner, parts in ordered.items()
    }
    listed = tuple(test for names in tests.values() for test in names)
    return Shard(listed, round(seconds, 3), {runner: len(names) for runner, names in tests.items()})

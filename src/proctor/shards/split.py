"""Divides tests into shards. Pure: the same tests and times give the same shards."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping

import msgspec

from proctor.digest import blake2b
from proctor.shards.plan import Shard


class Group(msgspec.Struct):
    """Tests that must stay together, because they share a file or what they set up."""

    name: str
    runner: str
    tests: list[str] = []


def by_time(
    groups: Iterable[Group], seconds: Mapping[str, float], usual: float, shards: int
) -> tuple[Shard, ...]:
    """The longest group goes first, always to the shard that has least to do. `usual`: seconds of a test that
    is not among those that are known; without any, the number of tests decides."""
    one = usual or (0.0 if seconds else 1.0)
    costs = [(sum(seconds.get(test, one) for test in group.tests), group) for group in groups]
    costs.sort(key=lambda cost: (-cost[0], cost[1].name))
    loads = [(0.0, 0, number) for number in range(shards)]
    parts: list[list[Group]] = [[] for _ in range(shards)]
    for cost, group in costs:
        load, size, number = loads[0]
        parts[number].append(group)
        heapq.heapreplace(loads, (load + cost, size + len(group.tests), number))
    times = {number: load for load, _, number in loads} if seconds or usual else {}
    return tuple(_shard(part, times.get(number, 0.0)) for number, part in enumerate(parts))


def by_hash(groups: Iterable[Group], shards: int) -> tuple[Shard, ...]:
    """By the name of each group alone: what is added elsewhere moves nothing."""
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
        runner: [test for group in sorted(parts, key=lambda part: part.name) for test in group.tests]
        for runner, parts in ordered.items()
    }
    listed = tuple(test for names in tests.values() for test in names)
    return Shard(listed, round(seconds, 3), {runner: len(names) for runner, names in tests.items()})

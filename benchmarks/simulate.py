"""A run on many machines, simulated: how long it takes, and what it costs.

The planner is proctor's own; how long tests take was recorded from suites of others (data/durations.json).
Everything else is a number in `World`. The same seed gives the same figures. Nothing is started, and no
clock is read.
"""

from __future__ import annotations

import heapq
import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from proctor.engines.tries import MOST_TRIES
from proctor.shards.plan import Shard
from proctor.shards.split import Group, by_hash, by_time

RECORDED = Path(__file__).parent / "data" / "durations.json"
_HOUR = 3600.0


@dataclass(frozen=True)
class World:
    """What is not the tests themselves. Times are in seconds."""

    machine: float = 30.0  # until a machine can begin: boot, checkout, install
    shard: float = 0.6  # to start one: proctor, its supervisor, pytest
    collect: float = 0.000_25  # for each test, wherever it is collected
    merge: float = 0.000_05  # for each test
    noise: float = 0.4  # how far a test is from what it took before: sigma of a log-normal factor
    speed: float = 0.1  # how far machines are from each other: the same
    losses: float = 0.05  # how often a machine is lost in an hour


@dataclass(frozen=True)
class Suite:
    groups: list[Group]  # files
    known: dict[str, float]  # seconds that each test took before: what a plan is made from
    took: dict[str, float]  # seconds that it takes this time

    @property
    def tests(self) -> int:
        return len(self.known)

    @property
    def work(self) -> float:
        return sum(self.took.values())


@dataclass(frozen=True)
class Outcome:
    makespan: float  # seconds until the merged result is there
    cost: float  # seconds of all machines together
    lost: int = 0  # machines
    given_up: int = 0  # shards that never ended: the run is incomplete


Split = Callable[[Suite, int], Sequence[Shard]]


def plan_by_time(suite: Suite, shards: int) -> Sequence[Shard]:
    return by_time(suite.groups, suite.known, 0.0, shards)


def plan_by_count(suite: Suite, shards: int) -> Sequence[Shard]:
    return by_time(suite.groups, {}, 0.0, shards)


def plan_by_hash(suite: Suite, shards: int) -> Sequence[Shard]:
    return by_hash(suite.groups, shards)


def plan_test_by_test(suite: Suite, shards: int) -> Sequence[Shard]:
    """As if the tests of a file could be separated: what grouping by file costs."""
    alone = [Group(test, group.runner, [test]) for group in suite.groups for test in group.tests]
    return by_time(alone, suite.known, 0.0, shards)


@cache
def recorded() -> list[list[float]]:
    """Files of real suites: the seconds of each of their tests."""
    suites: dict[str, list[list[int]]] = json.loads(RECORDED.read_text())
    return [[microseconds / 1e6 for microseconds in file] for files in suites.values() for file in files]


def sample(tests: int, world: World, seed: int = 0) -> Suite:
    """So many tests, in files drawn from the recorded ones. A file that would be over a tenth of the suite is
    drawn again."""
    random_ = random.Random(f"suite {seed} {tests}")
    noise = _noise(random_, world.noise)
    groups: list[Group] = []
    known: dict[str, float] = {}
    while len(known) < tests:
        file = random_.choice(recorded())
        if len(file) > max(tests // 10, 1):
            continue
        name = f"tests/test_{len(groups):06d}.py"
        names = [f"{name}::test_{number}" for number in range(min(len(file), tests - len(known)))]
        groups.append(Group(name, "pytest", names))
        known.update(zip(names, file, strict=False))
    return Suite(groups, known, {test: seconds * noise() for test, seconds in known.items()})


def alone(suite: Suite, world: World) -> Outcome:
    """One machine, without a plan."""
    seconds = world.machine + world.shard + suite.tests * world.collect + suite.work
    return Outcome(seconds, seconds)


def simulate(
    suite: Suite, shards: Sequence[Shard], workers: int, world: World, seeds: Iterable[int] = (0,)
) -> list[Outcome]:
    """A machine plans, `workers` machines take one shard after the other, and a machine merges."""
    before = world.machine + world.shard + suite.tests * world.collect
    after = world.machine + suite.tests * world.merge
    work = _work(suite, shards, world)
    ran = [_Machines(work, workers, world, seed).run() for seed in seeds]
    return [
        replace(one, makespan=before + one.makespan + after, cost=before + one.cost + after) for one in ran
    ]


def _work(suite: Suite, shards: Sequence[Shard], world: World) -> list[float]:
    """Seconds of each shard on a machine of the usual speed; one without tests is not started."""
    took = suite.took
    return [
        world.shard + len(shard.tests) * world.collect + sum([took[test] for test in shard.tests])
        for shard in shards
        if shard.tests
    ]


class _Machines:
    """Machines that take the shards in order; whatever is lost goes to the end of the queue."""

    def __init__(self, work: Sequence[float], workers: int, world: World, seed: int) -> None:
        self._work, self._world = work, world
        self._random = random.Random(f"machines {seed} {workers} {len(work)}")
        self._queue = [(0.0, number) for number in range(len(work))]  # from when on, which shard
        self._tries = [0] * len(work)
        self._free = [self._started(0.0) for _ in range(min(workers, len(work)))]
        heapq.heapify(self._free)
        self._until = self._cost = 0.0
        self._lost = self._given_up = 0

    def run(self) -> Outcome:
        while self._queue:
            ready, shard = heapq.heappop(self._queue)
            free, speed, since = heapq.heappop(self._free)
            self._take(shard, max(free, ready), speed, since)
        self._cost += sum(free - since for free, _, since in self._free)
        return Outcome(self._until, self._cost, self._lost, self._given_up)

    def _take(self, shard: int, at: float, speed: float, since: float) -> None:
        seconds, lost = self._work[shard] * speed, self._loss()
        if lost >= seconds:
            self._until = max(self._until, at + seconds)
            heapq.heappush(self._free, (at + seconds, speed, since))
            return
        self._lost += 1
        self._cost += at + lost - since
        self._tries[shard] += 1
        if self._tries[shard] < MOST_TRIES:
            heapq.heappush(self._queue, (at + lost, shard))
        else:
            self._given_up += 1
            self._until = max(self._until, at + lost)
        heapq.heappush(self._free, self._started(at + lost))

    def _started(self, at: float) -> tuple[float, float, float]:
        """When a machine can begin, how slow it is, and since when it costs."""
        return at + self._world.machine, _noise(self._random, self._world.speed)(), at

    def _loss(self) -> float:
        """Seconds until the machine is lost."""
        rate = self._world.losses / _HOUR
        return self._random.expovariate(rate) if rate else math.inf


def _noise(random_: random.Random, sigma: float) -> Callable[[], float]:
    """Factors around 1, their mean."""
    return partial(random_.lognormvariate, -sigma * sigma / 2, sigma)

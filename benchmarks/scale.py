"""From one machine to a thousand: tables and pictures of the simulator."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from measure import REPOSITORY, table
from plot import DARK, LIGHT, Axis, Panel, svg
from simulate import (
    Outcome,
    Split,
    Suite,
    World,
    alone,
    plan_by_count,
    plan_by_hash,
    plan_by_time,
    plan_test_by_test,
    sample,
    simulate,
)

WORLD = World()
PICTURES = REPOSITORY / "docs" / "pictures"
THEMES = {"light": LIGHT, "dark": DARK}
SIZES = (1_000, 10_000, 100_000, 1_000_000)
WORKERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
SHOWN = (1, 10, 100, 1_000)  # workers with a column of their own
PER_WORKER = (1, 2, 4, 8, 16, 32)  # shards
USUAL = 4  # shards for each worker
SEEDS = range(9)
SPLITS: dict[str, Split] = {
    "by hash": plan_by_hash,
    "by time": plan_by_time,
    "by count": plan_by_count,
    "by time, test by test": plan_test_by_test,
}
_TIMES = (20.0, 60.0, 600.0, 3600.0, 43_200.0)
_NAMES_RIGHT = (165.0, 48.0)


def bench_scale(quick: bool) -> str:
    """Simulated, with proctor's own planner and what 9,054 tests of attrs, Jinja2 and networkx took. A
    machine plans, workers take shards, a machine merges; each needs 30 s to start, and is lost after 20 hours
    in the mean. Medians of nine seeds. Cost is the time of all machines together, against one machine."""
    sizes = SIZES[:3] if quick else SIZES
    grid = {tests: {workers: _run(tests, workers) for workers in WORKERS} for tests in sizes}
    middle = sizes[-2]
    panels = [_makespans(grid), _costs(grid), _divided(middle), _per_worker(sizes[-1], 100)]
    for name, theme in THEMES.items():
        (PICTURES / f"scale-{name}.svg").write_text(svg(panels, theme, columns=2), encoding="utf-8")
    return "\n".join(
        [
            f"![Time and cost against workers](../docs/pictures/scale-light.svg)\n\n### Time, with {USUAL} "
            f"shards for each worker\n\n{_grid(grid, lambda out: spell(out.makespan))}",
            f"### Cost, against one machine\n\n{_grid(grid, _relative(grid))}",
            f"### {middle:,} tests, time of the slowest worker against an even split without starts\n\n"
            f"{_rows(panels[2])}",
            f"### {sizes[-1]:,} tests, 100 workers: time against an even split\n\n{_rows(panels[3])}",
        ]
    )


@cache
def suite(tests: int) -> Suite:
    return sample(tests, WORLD)


def _run(tests: int, workers: int) -> Outcome:
    if workers == 1:
        return alone(suite(tests), WORLD)
    return median(tests, workers, USUAL, plan_by_time, WORLD)


def median(tests: int, workers: int, per_worker: int, split: Split, world: World) -> Outcome:
    shards = split(suite(tests), workers * per_worker)
    runs = simulate(suite(tests), shards, workers, world, SEEDS)
    return Outcome(
        statistics.median(run.makespan for run in runs),
        statistics.median(run.cost for run in runs),
        sum(run.lost for run in runs),
        sum(run.given_up for run in runs),
    )


def _makespans(grid: dict[int, dict[int, Outcome]]) -> Panel:
    curves = {
        f"{tests:,} tests": [(workers, out.makespan) for workers, out in runs.items()]
        for tests, runs in grid.items()
    }
    up = Axis("time", _TIMES, spell)
    return Panel("How long it takes", _workers(), up, curves, _NAMES_RIGHT)


def _costs(grid: dict[int, dict[int, Outcome]]) -> Panel:
    curves = {
        f"{tests:,} tests": [(workers, out.cost / runs[1].cost) for workers, out in runs.items()]
        for tests, runs in grid.items()
    }
    up = Axis("cost, in times of one machine", (0.9, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0), _times)
    return Panel("What it costs", _workers(), up, curves)


def _divided(tests: int) -> Panel:
    """Without starts and losses: what is left is how even the shards are."""
    world = replace(WORLD, machine=0.0, shard=0.0, collect=0.0, merge=0.0, speed=0.0, losses=0.0)
    work = suite(tests).work
    curves = {
        name: [
            (workers, median(tests, workers, 1, split, world).makespan / (work / workers))
            for workers in WORKERS[1:]
        ]
        for name, split in SPLITS.items()
    }
    up = Axis("slowest worker, in times of the even share", (1.0, 2.0, 5.0, 10.0, 20.0, 50.0), _times)
    return Panel(f"How {tests:,} tests are divided", _workers(WORKERS[1:]), up, curves)


def _per_worker(tests: int, workers: int) -> Panel:
    even = alone(suite(tests), replace(WORLD, machine=0.0, shard=0.0, collect=0.0)).makespan / workers
    worlds = {
        "no losses": replace(WORLD, losses=0.0),
        "machines lost after 20 h": WORLD,
        "machines lost after 1 h": replace(WORLD, losses=1.0),
    }
    curves = {
        name: [
            (count, median(tests, workers, count, plan_by_time, world).makespan / even)
            for count in PER_WORKER
        ]
        for name, world in worlds.items()
    }
    across = Axis("shards for each worker", tuple(map(float, PER_WORKER)), _plain)
    title = f"{tests:,} tests on {workers} workers"
    ticks = (1.5, 2.0, 2.5, 3.0, 3.5)
    up = Axis("time, in times of an even split", ticks, _times)
    return Panel(title, across, up, curves, _NAMES_RIGHT)


def _workers(counts: Sequence[int] = WORKERS) -> Axis:
    ends = {counts[0], *(count for count in counts if count in (1, 10, 100, 1_000))}
    return Axis("workers", tuple(map(float, sorted(ends))), _plain)


def _grid(grid: dict[int, dict[int, Outcome]], cell: Callable[[Outcome], str]) -> str:
    rows = [[f"{tests:,}", *(cell(runs[workers]) for workers in SHOWN)] for tests, runs in grid.items()]
    return table(["tests", "1 worker", *(f"{workers:,} workers" for workers in SHOWN[1:])], rows)


def _relative(grid: dict[int, dict[int, Outcome]]) -> Callable[[Outcome], str]:
    base = {id(out): runs[1].cost for runs in grid.values() for out in runs.values()}
    return lambda out: f"{out.cost / base[id(out)]:.2f}"


def _rows(panel: Panel) -> str:
    across = [x for x, _ in next(iter(panel.curves.values()))]
    rows = [[name, *(f"{y:.2f}" for _, y in curve)] for name, curve in panel.curves.items()]
    return table([panel.across.name, *(f"{x:,.0f}" for x in across)], rows)


def spell(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"


def _times(value: float) -> str:
    return f"{value:g}x" if value >= 1 else ""


def _plain(value: float) -> str:
    return f"{value:,.0f}"

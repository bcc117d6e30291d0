"""What a merge lacks: shards that nobody gave, and planned tests without a result. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from proctor.shards.families import Counted, Family, number_of, several_plans, shard_label, shard_name
from proctor.shards.plan import Plan
from proctor.shards.record import NO_RESULT
from proctor.text import named
from proctor.verdict import rank

_INCOMPLETE = 2  # the rank of what was not completed


class Gap(msgspec.Struct, frozen=True):
    """What is missing. It becomes a suite without results."""

    suite: str
    runner: str
    reason: str
    tests: tuple[str, ...] = ()  # those that no other suite has
    family: Family | None = None  # whose tests they are


def missing(family: Family, plan: Plan | None, families: Sequence[Family]) -> Iterator[Gap]:
    """What the runs of a plan owe. `plan`: if it was given."""
    several = several_plans(families)
    numbers = {number_of(run) for run in family.runs} - {0}
    yield from _owe(family, plan)
    lacking: dict[int, list[str]] = {}
    for test, number in family.owed.items():
        if family.result(test) == NO_RESULT:
            lacking.setdefault(number if numbers else 0, []).append(test)
    absent = [number for number in range(1, family.shards + 1) if numbers and number not in numbers]
    if plan is not None:  # a report that knows nothing of the plan may have the tests of a shard
        needed = {*lacking, *_beside_tests(plan)}
        absent = [number for number in absent if number in needed]
    if absent:
        tests = [test for number in absent for test in lacking.pop(number, ())]
        yield _absent(family, absent, tests, families)
    sizes = Counter(family.owed.values())
    for number, tests in lacking.items():
        label = shard_label(family, number, several) if number else ""
        yield from _without_result(family, number, tests, label, sizes[number] if number else sizes.total())
    if plan is not None and not family.runs and not lacking:
        yield Gap("plan", "", "no run of the plan was given")


def _beside_tests(plan: Plan) -> Iterator[int]:
    """Shards without tests that have something to do: load files, or look for tests that no shard has."""
    for number, shard in enumerate(plan.shards, 1):
        if not shard.tests and (shard.files or number == len(plan.shards)):
            yield number


def _owe(family: Family, plan: Plan | None) -> Iterator[Gap]:
    """Fills in `family.owed`. Yields a gap for each run whose own list of tests is a different one."""
    lists: dict[int, tuple[str, ...]] = {}
    if plan is not None:
        for number, shard in enumerate(plan.shards, 1):
            lists[number] = shard.tests
            family.owed.update(dict.fromkeys(shard.tests, number))
    for run in family.runs:
        planned = run.seen.planned
        if planned is None:
            continue
        for test in (*planned.tests, *planned.more):
            family.owed.setdefault(test, planned.shard)
        if not planned.shard:
            continue
        known = lists.setdefault(planned.shard, planned.tests)
        if known != planned.tests and sorted(known) != sorted(planned.tests):
            of = shard_name(family, planned.shard)
            yield Gap("plan", "", f"{run.seen.name} has another list of tests for {of} than the plan has")


def _absent(family: Family, numbers: list[int], tests: list[str], families: Sequence[Family]) -> Gap:
    """One gap for all missing shards: a record may claim any number of them."""
    labels = [shard_label(family, number, several_plans(families)) for number in numbers]
    runner = _runner(family.runs) or "tests"
    suite = f"{runner} {labels[0]}" if len(labels) == 1 else f"{runner} (missing shards)"
    reason = f"no run of shard{'s' * (len(labels) > 1)} {named(labels)} was given"
    if family.own and (others := _elsewhere(family, numbers, families)):
        mine = named([run.seen.name for run in family.runs])
        reason += f": {named(others)} saw another list of tests than {mine}"
    return Gap(suite, runner, reason, _unknown(family, tests), family)


def _elsewhere(family: Family, numbers: Iterable[int], families: Sequence[Family]) -> list[str]:
    """Runs of these shards that have worked out another plan."""
    wanted = set(numbers)
    others = (other for other in families if other.own and other.shards == family.shards)
    return [run.seen.name for other in others for run in other.runs if number_of(run) in wanted]


def _without_result(family: Family, number: int, tests: list[str], label: str, owed: int) -> Iterator[Gap]:
    unknown = _unknown(family, tests)
    runs = [run for run in family.runs if number_of(run) == number]
    incomplete = any(rank(suite.outcome) == _INCOMPLETE for run in runs for suite in run.seen.suites)
    if not unknown and incomplete:
        return  # the shard says so itself, and names them
    reason = f"{len(tests)} of {owed} planned tests have no result: {named(tests)}"
    runner = _runner(runs) or _runner(family.runs) or "tests"
    yield Gap(f"{runner} {label} (missing)" if label else "plan", runner, reason, unknown, family)


def _unknown(family: Family, tests: Iterable[str]) -> tuple[str, ...]:
    """Those that no suite mentions."""
    return tuple(test for test in tests if test not in family.owners)


def _runner(runs: Iterable[Counted]) -> str:
    return next((run.seen.runner for run in runs if run.seen.runner), "")


def gaps_of_run(run: Counted) -> Iterator[Gap]:
    """What a run itself reports as missing."""
    seen = run.seen
    gaps = (*(seen.planned.gaps if seen.planned is not None else ()), *filter(None, [seen.lacking]))
    for reason in gaps:
        yield Gap(f"{seen.runner or 'tests'} {run.label}".rstrip() + " (run)", seen.runner, reason)

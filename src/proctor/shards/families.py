"""Runs of one plan, and the records of one run, are a family: in a family each test counts once.

Runs of different families have nothing in common: a test of one name is two tests. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from proctor.errors import UsageError
from proctor.shards.plan import MOST, Plan
from proctor.shards.record import NO_RESULT, Seen
from proctor.shards.report_ids import ReportIds

_DIGITS = 6  # of the hash of a plan, shown where there are several plans


class Counted(msgspec.Struct):
    """A run, and what of it counts."""

    seen: Seen
    label: str = ""  # that ends the names of its suites: `3/10`
    tries: int = 1  # how often its shard was run
    left_out: bool = False
    ids: dict[str, str] = {}  # ids of the plan, by the names that its report has for the tests
    dropped: dict[int, set[str]] = {}  # tests of each of its suites that count in another run
    errors: dict[int, set[str]] = {}  # likewise, files that could not be collected
    family: Family | None = None


class Family(msgspec.Struct):
    """Runs in which each test counts once."""

    plan: str = ""  # its hash; empty: they have none
    shards: int = 0
    own: bool = True  # no plan was given or used: each run has worked out the same one
    runs: list[Counted] = []
    suites: list[tuple[Counted, int]] = []
    owners: dict[str, int] = {}  # which of the suites each test counts in
    deselected: set[str] = set()  # tests that a suite has left out, and said so
    owed: dict[str, int] = {}  # tests that must have a result, and the number of their shard

    def result(self, test: str) -> int:
        """How bad it is, or NO_RESULT."""
        if test not in self.owners:
            return NO_RESULT
        run, number = self.suites[self.owners[test]]
        return run.seen.suites[number].tests[test]


def divide(runs: Iterable[Counted], plan: Plan | None) -> tuple[list[Family], list[Family]]:
    """Gives every run its family. Returns those that share a plan, and the others."""
    by_plan: dict[str, Family] = {}
    loose: list[Counted] = []
    if plan is not None:
        by_plan[plan.digest()] = Family(plan.digest(), len(plan.shards), own=False)
    for run in runs:
        if run.seen.planned is None:
            loose.append(run)
        else:
            _join(by_plan.setdefault(run.seen.planned.plan, Family(run.seen.planned.plan)), run)
    if plan is not None:
        loose = _without_members(loose, by_plan[plan.digest()], plan)
    others: dict[str | int, Family] = {}
    for number, run in enumerate(loose):
        _add(others.setdefault(run.seen.run.run_id or number, Family()), run)
    return list(by_plan.values()), list(others.values())


def _add(family: Family, run: Counted) -> None:
    run.family = family
    family.runs.append(run)


def _join(family: Family, run: Counted) -> None:
    planned = run.seen.planned
    assert planned is not None
    if not (1 <= planned.shards <= MOST and 0 <= planned.shard <= planned.shards):
        raise UsageError(
            f"{run.seen.name} is not valid: it is marked as shard {planned.shard} of {planned.shards}"
        )
    if family.shards and planned.shards != family.shards:
        other = f"{family.runs[0].seen.name} has" if family.runs else "the plan has"
        marked = f"{run.seen.name} is marked as one of {planned.shards} shards"
        raise UsageError(f"{marked}, but {other} {family.shards} shards with the same plan")
    family.shards = planned.shards
    family.own = family.own and planned.own
    _add(family, run)


def _without_members(loose: Sequence[Counted], family: Family, plan: Plan) -> list[Counted]:
    """Adds to the family the runs that have tests of the plan but were not started with it, such as reports
    of other tools. Returns the others."""
    ids = ReportIds(test for shard in plan.shards for test in shard.tests)
    others: list[Counted] = []
    for run in loose:
        names = [test for suite in run.seen.suites for test in suite.tests]
        found = {name: test for name in names if (test := ids.find(name)) is not None}
        if not found:
            others.append(run)
            continue
        run.ids = {name: test for name, test in found.items() if name != test}
        for suite in run.seen.suites:
            suite.tests = {run.ids.get(name, name): place for name, place in suite.tests.items()}
        _add(family, run)
    return others


def several_plans(families: Sequence[Family]) -> bool:
    """Whether there are shards of more than one plan."""
    return sum(any(map(number_of, family.runs)) for family in families) > 1


def shard_label(family: Family, number: int, several: bool) -> str:
    return f"{number}/{family.shards}" + (f" {family.plan[:_DIGITS]}" if several else "")


def shard_name(family: Family, number: int) -> str:
    return f"shard {number}/{family.shards}" if number else "the whole plan"


def number_of(run: Counted) -> int:
    return run.seen.planned.shard if run.seen.planned is not None else 0

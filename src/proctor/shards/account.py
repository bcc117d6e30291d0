"""Which runs count in a merge, and for which tests; what is missing, and what is there twice.

Pure. Runs of one plan, and the records of one run, are a family: in a family each test counts once, as the
worst result that it has. Runs of different families have nothing in common: a test of one name is two tests.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from proctor.errors import UsageError
from proctor.shards.plan import MOST, Plan
from proctor.shards.record import NO_RESULT, Seen, SeenSuite
from proctor.shards.report_ids import ReportIds
from proctor.text import named
from proctor.verdict import rank

_INCOMPLETE = 2  # the rank of what was not completed
_DIGITS = 6  # of the hash of a plan, where several are told apart


class Gap(msgspec.Struct, frozen=True):
    """What is missing. It becomes a suite without results."""

    suite: str
    runner: str
    reason: str
    tests: tuple[str, ...] = ()  # those that no other suite has
    family: Family | None = None  # whose tests they are


class Counted(msgspec.Struct):
    """A run, and what of it counts."""

    seen: Seen
    label: str = ""  # that the names of its suites get
    tries: int = 1  # how often its shard was run
    left_out: bool = False
    ids: dict[str, str] = {}  # of tests that its report has other names for
    dropped: dict[int, set[str]] = {}  # tests of each of its suites that count in another run
    errors: dict[int, set[str]] = {}  # likewise, files that could not be collected
    family: Family | None = None


class Family(msgspec.Struct):
    """Runs in which each test counts once."""

    plan: str = ""  # its hash; empty: they have none
    shards: int = 0
    own: bool = True
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


class Account(msgspec.Struct):
    runs: list[Counted]
    families: list[Family]  # those that share a plan
    gaps: list[Gap]
    notices: list[str]


def account(seen: Sequence[Seen], plan: Plan | None) -> Account:
    """Raises UsageError for records that cannot be true."""
    found = Account([Counted(one) for one in seen], [], [], [])
    _leave_out_copies(found)
    others = _families(found, plan)
    for family in found.families:
        unended = _choose_tries(family, found.notices)
        found.gaps += [Gap(_shard(family, number), "", "none of its runs ended") for number in unended]
    _label(found)
    for family in (*found.families, *others):
        _choose_owners(family, found.notices)
    digest = plan.digest() if plan is not None else None
    for family in found.families:
        found.gaps += _missing(family, plan if family.plan == digest else None, found.families)
        if digest is not None and family.plan != digest:
            names = named([run.seen.name for run in family.runs])
            found.gaps.append(Gap("plan", "", f"runs of another plan than the one that was given: {names}"))
    for run in found.runs:
        found.gaps += _of_run(run)
    return found


# The same run twice


def _leave_out_copies(found: Account) -> None:
    contents: dict[str, Counted] = {}
    by_id: dict[str, list[Counted]] = {}
    for run in found.runs:
        first = contents.setdefault(run.seen.content, run)
        if first is run:
            by_id.setdefault(run.seen.run.run_id, []).append(run)
        else:
            _leave_out(run, f"{run.seen.name} is the same as {first.seen.name}", found.notices)
    by_id.pop("", None)
    for records in by_id.values():
        best = max(records, key=lambda run: (run.seen.planned is not None, run.seen.ended, _results(run)))
        results = {test: place for suite in best.seen.suites for test, place in suite.tests.items()}
        for run in records:
            cut = best.seen.ended and not run.seen.ended
            if run is not best and (cut or _agrees(run.seen, results)):
                said = f"{run.seen.name} and {best.seen.name} are the same run {best.seen.run.run_id}"
                _leave_out(run, said, found.notices)


def _leave_out(run: Counted, why: str, notices: list[str]) -> None:
    run.left_out = True
    notices.append(f"{why}: it counts once")


def _results(run: Counted) -> int:
    return sum(place > NO_RESULT for suite in run.seen.suites for place in suite.tests.values())


def _agrees(seen: Seen, results: dict[str, int]) -> bool:
    return all(
        place in (NO_RESULT, results.get(test))
        for suite in seen.suites
        for test, place in suite.tests.items()
    )


# Families


def _families(found: Account, plan: Plan | None) -> list[Family]:
    """Gives every run its family. Returns those without a plan."""
    by_plan: dict[str, Family] = {}
    loose: list[Counted] = []
    if plan is not None:
        by_plan[plan.digest()] = Family(plan.digest(), len(plan.shards), own=False)
    for run in found.runs:
        if run.left_out:
            continue
        if run.seen.planned is None:
            loose.append(run)
        else:
            _join(by_plan.setdefault(run.seen.planned.plan, Family(run.seen.planned.plan)), run)
    if plan is not None:
        loose = _without_members(loose, by_plan[plan.digest()], plan)
    found.families = list(by_plan.values())
    same: dict[str, Family] = {}
    for run in loose:
        run_id = run.seen.run.run_id
        _add(same.setdefault(run_id, Family()) if run_id else Family(), run)
    return list(same.values())


def _add(family: Family, run: Counted) -> None:
    run.family = family
    family.runs.append(run)


def _join(family: Family, run: Counted) -> None:
    planned = run.seen.planned
    assert planned is not None
    if not (1 <= planned.shards <= MOST and 0 <= planned.shard <= planned.shards):
        raise UsageError(f"{run.seen.name} says that it is shard {planned.shard} of {planned.shards}")
    if family.shards and planned.shards != family.shards:
        other = f"{family.runs[0].seen.name} has" if family.runs else "the plan has"
        said = f"{run.seen.name} says that its plan has {planned.shards} shards"
        raise UsageError(f"{said}, and {other} {family.shards} shards with the same plan")
    family.shards = planned.shards
    family.own = family.own and planned.own
    _add(family, run)


def _without_members(loose: Iterable[Counted], family: Family, plan: Plan) -> list[Counted]:
    """Adds runs that know nothing of the plan, and have tests of it. Returns the others."""
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


# Tries of one shard


def _choose_tries(family: Family, notices: list[str]) -> list[int]:
    """The tries that ended count; where none did, all of them. Returns the shards of several such tries."""
    shards: dict[int, list[Counted]] = {}
    for run in family.runs:
        if run.seen.planned is not None:
            shards.setdefault(run.seen.planned.shard, []).append(run)
    for number, tries in shards.items():
        if len(tries) > 1:
            notices.append(f"{_shard(family, number)} was run {len(tries)} times: {_choice(tries)}")
    family.runs = [run for run in family.runs if not run.left_out]
    return [
        number for number, runs in shards.items() if len(runs) > 1 and not any(run.seen.ended for run in runs)
    ]


def _choice(tries: list[Counted]) -> str:
    ended = [run for run in tries if run.seen.ended]
    for run in tries:
        run.tries, run.left_out = len(tries), bool(ended) and not run.seen.ended
    if not ended:
        return f"none ended, and all results count: {named([run.seen.name for run in tries])}"
    others = [_with_failures(run.seen) for run in tries if run.left_out]
    counts = f"{named([run.seen.name for run in ended])} count{'s' if len(ended) == 1 else ''}"
    return f"{counts}; without an end: {'; '.join(others)}" if others else counts


def _with_failures(seen: Seen) -> str:
    bad = seen.bad
    return f"{seen.name} ({len(bad)} failed: {named(bad)})" if bad else seen.name


def _shard(family: Family, number: int) -> str:
    return f"shard {number}/{family.shards}" if number else "the whole plan"


# Labels


def _label(found: Account) -> None:
    several = _several(found.families)
    counted = [run for run in found.runs if not run.left_out]
    short = Counter(os.path.basename(run.seen.name) for run in counted)
    for run in counted:
        base = os.path.basename(run.seen.name)
        if number := _number(run):
            assert run.family is not None
            run.label = shard_label(run.family, number, several)
        elif len(counted) > 1:
            run.label = base if short[base] == 1 else run.seen.name


def _several(families: Sequence[Family]) -> bool:
    """Whether shards of several plans are to be told apart."""
    return sum(any(map(_number, family.runs)) for family in families) > 1


def shard_label(family: Family, number: int, several: bool) -> str:
    return f"{number}/{family.shards}" + (f" {family.plan[:_DIGITS]}" if several else "")


def _number(run: Counted) -> int:
    return run.seen.planned.shard if run.seen.planned is not None else 0


# Each test once


def _choose_owners(family: Family, notices: list[str]) -> None:
    twice: dict[tuple[str, str], list[str]] = {}
    files: set[tuple[str, str]] = set()
    for run in family.runs:
        for number, suite in enumerate(run.seen.suites):
            family.suites.append((run, number))
            _own(family, suite, twice)
            _own_errors(run, number, suite, files)
    for (first, second), tests in twice.items():
        have = "1 test has" if len(tests) == 1 else f"{len(tests)} tests have"
        results = f"results in {first} and in {second}"
        notices.append(f"{have} {results}, and the worse one counts: {named(tests)}")


def _own(family: Family, suite: SeenSuite, twice: dict[tuple[str, str], list[str]]) -> None:
    """The last suite of the family owns the tests of which it has the worst result."""
    slot = len(family.suites) - 1
    run, number = family.suites[slot]
    if family.owners.keys().isdisjoint(suite.tests):  # nearly always
        family.owners.update(dict.fromkeys(suite.tests, slot))
        return
    for test, place in suite.tests.items():
        before = family.owners.setdefault(test, slot)
        if before == slot:
            continue
        other, its_number = family.suites[before]
        its_place = family.result(test)
        loser, lost = (other, its_number) if place > its_place else (run, number)
        if place > its_place:
            family.owners[test] = slot
        loser.dropped.setdefault(lost, set()).add(test)
        if place and its_place and other is not run:
            twice.setdefault((other.seen.name, run.seen.name), []).append(test)


def _own_errors(run: Counted, number: int, suite: SeenSuite, files: set[tuple[str, str]]) -> None:
    """One file that could not be collected, for one reason, is one error."""
    again = {file for file, why in suite.errors.items() if (file, why) in files}
    if again:
        run.errors = {**run.errors, number: again}
    files.update(suite.errors.items())


# What is missing


def _missing(family: Family, plan: Plan | None, families: Sequence[Family]) -> Iterator[Gap]:
    several = _several(families)
    numbers = {_number(run) for run in family.runs} - {0}
    yield from _owe(family, plan)
    lacking: dict[int, list[str]] = {}
    for test, number in family.owed.items():
        if family.result(test) == NO_RESULT:
            lacking.setdefault(number if numbers else 0, []).append(test)
    absent = [number for number in range(1, family.shards + 1) if numbers and number not in numbers]
    if plan is not None:  # a report that knows nothing of the plan may have the tests of a shard
        absent = [one for one in absent if one in lacking or not plan.shards[one - 1].tests]
    if absent:
        tests = [test for number in absent for test in lacking.pop(number, ())]
        yield _absent(family, absent, tests, families)
    sizes = Counter(family.owed.values())
    for number, tests in lacking.items():
        label = shard_label(family, number, several) if number else ""
        yield from _without_result(family, number, tests, label, sizes[number] if number else sizes.total())
    if plan is not None and not family.runs and not lacking:
        yield Gap("plan", "", "no run of the plan was given")


def _owe(family: Family, plan: Plan | None) -> Iterator[Gap]:
    lists: dict[int, Seen | Plan] = {}
    if plan is not None:
        for number, shard in enumerate(plan.shards, 1):
            family.owed.update(dict.fromkeys(shard.tests, number))
    for run in family.runs:
        planned = run.seen.planned
        if planned is None:
            continue
        for test in planned.tests:
            family.owed.setdefault(test, planned.shard)
        if not planned.shard:
            continue
        known = plan.shards[planned.shard - 1].tests if plan is not None else _tests(lists.get(planned.shard))
        lists.setdefault(planned.shard, run.seen)
        if known is not None and known != planned.tests and sorted(known) != sorted(planned.tests):
            of = _shard(family, planned.shard)
            yield Gap("plan", "", f"{run.seen.name} has another list of tests for {of} than the plan has")


def _tests(seen: Seen | Plan | None) -> tuple[str, ...] | None:
    return seen.planned.tests if isinstance(seen, Seen) and seen.planned is not None else None


def _absent(family: Family, numbers: list[int], tests: list[str], families: Sequence[Family]) -> Gap:
    """One for all shards that nobody gave: somebody may have written that there are very many."""
    labels = [shard_label(family, number, _several(families)) for number in numbers]
    runner = _runner(family)
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
    return [run.seen.name for other in others for run in other.runs if _number(run) in wanted]


def _without_result(family: Family, number: int, tests: list[str], label: str, owed: int) -> Iterator[Gap]:
    unknown = _unknown(family, tests)
    runs = [run for run in family.runs if _number(run) == number]
    incomplete = any(rank(suite.outcome) == _INCOMPLETE for run in runs for suite in run.seen.suites)
    if not unknown and incomplete:
        return  # the shard says so itself, and names them
    reason = f"{len(tests)} of {owed} planned tests have no result: {named(tests)}"
    suite = f"{_runner(family)} {label} (missing)" if label else "plan"
    yield Gap(suite, _runner(family), reason, unknown, family)


def _unknown(family: Family, tests: Iterable[str]) -> tuple[str, ...]:
    """Those that no suite mentions."""
    return tuple(test for test in tests if test not in family.owners)


def _runner(family: Family) -> str:
    return next((run.seen.runner for run in family.runs if run.seen.runner), "") or "tests"


def _of_run(run: Counted) -> Iterator[Gap]:
    if run.left_out:
        return
    seen = run.seen
    gaps = (*(seen.planned.gaps if seen.planned is not None else ()), *filter(None, [seen.lacking]))
    for reason in gaps:
        yield Gap(f"{seen.runner or 'tests'} {run.label}".rstrip() + " (run)", seen.runner, reason)

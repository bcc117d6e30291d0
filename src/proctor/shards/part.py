"""One shard of a plan as a run: which tests, and whether this is the project that the plan was made for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from proctor.config import Settings
from proctor.errors import UsageError
from proctor.events import TestsPlanned
from proctor.plan_run import Asked, Part, RunPlan, plan_run
from proctor.process.stop import Stop
from proctor.result import RunResult
from proctor.shards.checkout import checkout, fingerprint
from proctor.shards.making import listed
from proctor.shards.plan import Plan
from proctor.spec import Selection

_PYTEST = "pytest"
_NAMED = 3  # tests that a notice names


def planned(plan: Plan, number: int, own: bool = False) -> TestsPlanned:
    """`number` counts from 1 on; 0: all shards together."""
    shards = plan.shards[number - 1 : number] if number else plan.shards
    tests = tuple(test for shard in shards for test in shard.tests)
    return TestsPlanned(tests, plan.digest(), number, len(plan.shards), own)


class Taking(msgspec.Struct, frozen=True):
    """A request for one shard of a plan."""

    plan: Plan
    number: int
    own: bool = False  # as of TestsPlanned
    fresh: bool = False  # the plan was made a moment ago, for these files and this interpreter
    force: bool = False  # go on although the plan was made for something else
    notes: tuple[str, ...] = ()  # that the reader of the run should know


def take(asked: Asked, taking: Taking, settings: Settings, environ: Mapping[str, str], stop: Stop) -> RunPlan:
    """The run of a shard. Raises UsageError if this is not what the plan was made for."""
    plan, notes = taking.plan, list(taking.notes)
    whole = msgspec.structs.replace(asked, selection=plan.selection, runner=plan.runner or asked.runner)
    more: list[str] = []
    if taking.number == len(plan.shards) and not taking.fresh:
        more = _unknown(plan, listed(whole, settings, environ, stop).result)
    if more:
        notes.append(f"{len(more)} tests are not in the plan and run in the last shard: {_named(more)}")
    run = plan_run(_part(whole, taking, more, notes), settings, environ)
    if taking.fresh:
        return run
    differences = [*_differences(plan, asked.root, environ, run.prepared.installed)]
    if differences and not taking.force:
        raise UsageError(f"{'; '.join(differences)}: `--force` runs it all the same")
    prepared = msgspec.structs.replace(run.prepared, notices=(*run.prepared.notices, *differences))
    return msgspec.structs.replace(run, prepared=prepared)


def _unknown(plan: Plan, found: RunResult) -> list[str]:
    known = {test for shard in plan.shards for test in shard.tests}
    return [test for test in found.selected if test not in known]


def _named(tests: Sequence[str]) -> str:
    return ", ".join(tests[:_NAMED]) + (f" and {len(tests) - _NAMED} more" if len(tests) > _NAMED else "")


def _part(whole: Asked, taking: Taking, more: Sequence[str], notes: Sequence[str]) -> Asked:
    """`more`: tests that the plan does not know."""
    plan, number = taking.plan, taking.number
    due = planned(plan, number, taking.own)
    targets = tuple(dict.fromkeys(_targets(whole.root, plan, number, more)))
    return msgspec.structs.replace(
        whole,
        selection=Selection(targets),
        part=Part(due, (*due.tests, *more), tuple(notes)),
    )


def _targets(root: Path, plan: Plan, number: int, more: Sequence[str]) -> Iterator[str]:
    """What runs the tests: of pytest their files, because thousands of ids keep it busy for long."""
    for runner, tests in (*plan.shards[number - 1].by_runner(), ("", more)):
        for test in tests:
            file, separator, _ = test.partition("::")
            if runner == _PYTEST or (not runner and separator and file.endswith(".py")):
                yield os.path.relpath(root / plan.base / file, root)
            else:
                yield test


def _differences(
    plan: Plan, root: Path, environ: Mapping[str, str], installed: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    """Where this is not what the plan was made for, one sentence each."""
    state = checkout(root, environ)
    if plan.commit and state.commit != plan.commit:
        yield f"the plan is for commit {plan.commit[:12]}, and this is {state.commit[:12] or 'no commit'}"
    found = fingerprint(installed)
    if installed and plan.fingerprint and found != plan.fingerprint:
        yield f"the plan is for {plan.fingerprint}, and this is {found}"

"""Makes a plan: lists the tests once, and divides them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from proctor.config import Settings
from proctor.errors import UsageError
from proctor.execute import Request, execute
from proctor.outcome import RunOutcome
from proctor.plan_run import Asked, RunPlan, plan_run
from proctor.process.stop import Stop
from proctor.result import RunResult, SuiteResult
from proctor.shards.checkout import checkout, fingerprint
from proctor.shards.plan import Plan, Shard
from proctor.shards.split import Group
from proctor.unique_names import without_number

_PYTEST = "pytest"


class Listed(msgspec.Struct, frozen=True):
    """The tests of a project, not run."""

    result: RunResult
    plan: RunPlan  # by which they were listed


def listed(asked: Asked, settings: Settings, environ: Mapping[str, str], stop: Stop) -> Listed:
    """Lists what a run would run."""
    plan = plan_run(msgspec.structs.replace(asked, collect_only=True, part=None), settings, environ)
    return Listed(execute(Request(plan, stop)).result, plan)


def check(found: RunResult) -> None:
    """Raises UsageError unless the list has every test."""
    if found.outcome is not RunOutcome.PASSED:
        why = f": {found.reason}" if found.reason else ""
        files = "".join(f"\n  {error.file}: {error.failure.message}" for error in found.collection_errors)
        raise UsageError(f"the tests cannot be listed ({found.outcome.replace('_', ' ')}{why}){files}")


def make(
    found: Listed, environ: Mapping[str, str], split: Callable[[list[Group]], tuple[Shard, ...]]
) -> Plan:
    """`split` divides the groups of tests into shards."""
    check(found.result)
    spec = found.plan.spec
    state = checkout(Path(spec.root), environ)
    return Plan(
        split(groups(found.result)),
        commit=state.commit,
        tree=state.tree,
        fingerprint=fingerprint(found.plan.prepared.installed),
        base=_base(found.result, spec.root),
        selection=spec.selection,
        runner=spec.runner,
    )


def groups(found: RunResult) -> list[Group]:
    """Tests that belong together, those of one file."""
    groups: dict[tuple[str, str], Group] = {}
    names: dict[str, str] = {}
    for suite in found.suites:
        runner = suite.entered.runner
        for test in suite.selected:
            _check_name(test, suite, names)
            name = _file(test, suite)
            group = groups.setdefault((runner, name), Group(name, runner, []))
            group.tests += [test] * (suite.doubled[test].times if test in suite.doubled else 1)
    return list(groups.values())


def _check_name(test: str, suite: SuiteResult, names: dict[str, str]) -> None:
    """In a run of several suites, the second test of a name has a number that its own suite does not know."""
    plain = without_number(test)
    other = names.get(plain) if plain != test else None
    if other is not None and other != suite.name:
        raise UsageError(f"{other} and {suite.name} both have a test {plain}: plan one of them with --runner")
    names[test] = suite.name


def _file(test: str, suite: SuiteResult) -> str:
    if suite.entered.runner == _PYTEST:
        return test.partition("::")[0]
    place = suite.places.get(test)
    return place.file if place is not None else test


def _base(found: RunResult, root: str) -> str:
    """The directory that ids of pytest are relative to, if that is not the project."""
    for suite in found.suites:
        if suite.entered.runner == _PYTEST and suite.described is not None:
            base = os.path.relpath(suite.described.root, root)
            return "" if base == os.curdir else base
    return ""

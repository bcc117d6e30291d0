"""One shard of a plan as a run: which tests, and whether this is the project that the plan was made for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from proctor.config import Settings
from proctor.errors import UsageError
from proctor.events import SuiteMissing, TestsPlanned
from proctor.outcome import RunOutcome
from proctor.plan_run import Asked, Part, RunPlan, plan_run
from proctor.process.stop import Stop
from proctor.result import RunResult
from proctor.shards.checkout import State, checkout, fingerprint
from proctor.shards.grouping import PYTEST, skipped_files
from proctor.shards.listing import listed, problem
from proctor.shards.plan import Plan
from proctor.shards.share import SESSIONS, Wanted, file_of, needs_list, share, wanted
from proctor.text import named

_SHOWN = 7  # characters of a hash


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
    found: RunResult | None = None  # the tests that are here, if somebody has listed them

    @property
    def last(self) -> bool:
        """Files that no shard has are for this one. A fresh plan may be cut down to one shard of many."""
        return self.number == len(self.plan.shards) and (self.own or not self.fresh)


def take(asked: Asked, taking: Taking, settings: Settings, environ: Mapping[str, str], stop: Stop) -> RunPlan:
    """The run of a shard. Raises UsageError if this is not what the plan was made for."""
    plan, found = taking.plan, taking.found
    whole = _whole(asked, plan)
    if taking.fresh:
        return plan_run(_with_part(whole, taking, found), settings, environ)
    state = checkout(asked.root, environ)
    notes = [*_other_files(plan, state), *_allowed(_other_commit(plan, state), taking.force)]

    def check(run: RunPlan) -> None:
        _allowed(_other_packages(plan, run), taking.force)

    if found is None and (taking.last or needs_list(plan, taking.number, asked.root)):
        found = listed(whole, settings, environ, stop, check).result
    run = plan_run(_with_part(whole, taking, found), settings, environ)
    notes += _allowed(_other_packages(plan, run), taking.force)
    return run.with_notices(*notes)


def _whole(asked: Asked, plan: Plan) -> Asked:
    """A run of all tests of the plan. Its arguments come first, once."""
    known = asked.arguments[: len(plan.arguments)] == plan.arguments
    arguments = asked.arguments if known else (*plan.arguments, *asked.arguments)
    runner = plan.runner or asked.runner
    return msgspec.structs.replace(asked, selection=plan.selection, runner=runner, arguments=arguments)


def _with_part(whole: Asked, taking: Taking, found: RunResult | None) -> Asked:
    """`found`: the tests that are here, as far as somebody has looked."""
    plan, number, last = taking.plan, taking.number, taking.last
    present = dict(_runners(found)) if found is not None else None
    due = wanted(plan, number, last, present)
    own = planned(plan, number, taking.own)
    if last and found is not None:
        own = _with_the_rest(own, due, plan, found)
    part = Part(
        own,
        (*own.tests, *own.more),
        share(plan, due, whole.root, present, whole.arguments),
        tuple(due.files),
        tuple(due.others),
        last,
        (*_notices(taking, own), *_about_list(found, last)),
        _missing(found, due, last),
    )
    return msgspec.structs.replace(whole, part=part)


def _with_the_rest(own: TestsPlanned, due: Wanted, plan: Plan, found: RunResult) -> TestsPlanned:
    """The last shard also runs what no shard has, and owes it: tests, files without tests, and what could
    not be listed."""
    runners = dict(_runners(found))
    more = _unknown(plan, found)
    for test in more:
        due.tests.setdefault(runners[test], []).append(test)
    for runner in _with_more_files(plan, found):
        due.tests.setdefault(runner, [])
    gap = _gap(found)
    return msgspec.structs.replace(own, more=tuple(more), gaps=(gap,) if gap else ())


def _runners(found: RunResult) -> Iterator[tuple[str, str]]:
    for suite in found.suites:
        yield from ((test, suite.entered.runner) for test in suite.selected)


def _unknown(plan: Plan, found: RunResult) -> list[str]:
    known = {test for shard in plan.shards for test in shard.tests}
    return [test for test in found.selected if test not in known]


def _with_more_files(plan: Plan, found: RunResult) -> Iterator[str]:
    """Runners with files that no shard has, because they skip themselves or cannot be loaded."""
    known = {file_of(test) for shard in plan.shards for test in (*shard.tests, *shard.files)}
    if not skipped_files(found) <= known:
        yield PYTEST
    for suite in found.suites:
        broken = {error.file for error in suite.errors}
        if suite.entered.runner in SESSIONS and not broken <= known:
            yield suite.entered.runner


def _missing(found: RunResult | None, due: Wanted, last: bool) -> tuple[SuiteMissing, ...]:
    """Suites that cannot even be listed here. One that no shard has is for the last."""
    missing = found.missing if found is not None else ()
    return tuple(suite for suite in missing if last or suite.runner in due.tests)


def _about_list(found: RunResult | None, last: bool) -> list[str]:
    """Why tests may not be found; of the last shard, it is a gap."""
    why = problem(found) if found is not None and not last else ""
    return [f"the tests could not be listed: {why}"] if why else []


def _gap(found: RunResult) -> str:
    why = problem(found) if found.outcome is not RunOutcome.NO_TESTS else ""
    return f"tests that are not in the plan could not be listed: {why}" if why else ""


def opening(own: TestsPlanned) -> str:
    """How a notice begins that says which part of the tests a run has."""
    return f"shard {own.shard} of {own.shards}: "


def _notices(taking: Taking, own: TestsPlanned) -> Iterator[str]:
    which = f"{opening(own)}{len(own.tests) or 'none'} of {taking.plan.total} tests"
    if taking.own:
        yield f"{which}; no plan was used: the tests are divided by a hash of each file's name"
    elif not taking.fresh:
        yield f"{which} of the plan {own.plan[:_SHOWN]}"
    if own.more:
        tests, it = ("1 test is", "it") if len(own.more) == 1 else (f"{len(own.more)} tests are", "them")
        yield f"{tests} not in the plan; the last shard, this one, runs {it}: {named(own.more)}"


def _allowed(differences: Iterable[str], force: bool) -> list[str]:
    """The differences, as notes. Raises UsageError if there are any, unless `force`."""
    found = [*differences]
    if found and not force:
        raise UsageError(f"{'; '.join(found)}; use --force to run anyway")
    return found


def _other_commit(plan: Plan, state: State) -> Iterator[str]:
    if plan.commit and state.commit and state.commit != plan.commit:
        yield f"the plan was made for commit {plan.commit[:_SHOWN]}, but this is {state.commit[:_SHOWN]}"


def _other_files(plan: Plan, state: State) -> Iterator[str]:
    """Differences that are noted, and that do not stop the run."""
    if plan.commit and not state.commit:
        yield f"the plan was made for commit {plan.commit[:_SHOWN]}, but the commit here is not known"
    elif plan.commit == state.commit and plan.tree and state.tree and plan.tree != state.tree:
        yield f"the files differ from the plan's: same commit {plan.commit[:_SHOWN]}, other uncommitted files"


def _other_packages(plan: Plan, run: RunPlan) -> Iterator[str]:
    installed = run.prepared.installed
    if installed and plan.fingerprint and fingerprint(installed) != plan.fingerprint:
        yield f"the plan was made with {plan.fingerprint}, but this is {fingerprint(installed)}"

"""`proctor run --engine`: one run over many machines."""

from __future__ import annotations

import os
import re
import sys
import time
from functools import partial
from pathlib import Path

import msgspec

from proctor.errors import UsageError
from proctor.execute import Elsewhere
from proctor.history.usual_times import usual_times
from proctor.outcome import RunOutcome
from proctor.plan_run import Asked, RunPlan
from proctor.process.stop import Stop
from proctor.result import RunResult
from proctor.shards import plan as plans
from proctor.shards.dispatch import Beside, Dispatch, Dispatched
from proctor.shards.engines import Engine, engine
from proctor.shards.listing import Listed, listed
from proctor.shards.making import make
from proctor.shards.split import by_time
from proctor.text import literal

_ESCAPED = re.compile(r"\\ud[c-f][0-9a-f]{2}")  # as names that are not valid UTF-8 are written down
_LEAST = 0.1  # seconds that are left of a time limit, even if the listing took all of them


def elsewhere(
    name: str | None, shards: int | None, force: bool, asked: Asked, run: RunPlan, stop: Stop
) -> tuple[RunPlan, Elsewhere | None]:
    """The run with what is left of its time, and what runs its tests; None: they have to run here."""
    if name is None or shards is None:
        lacking = "--shards N" if shards is None else "--engine ENGINE"
        raise UsageError(f"--engine and --shards belong together: {lacking} is missing")
    if not 1 <= shards <= plans.MOST:
        raise UsageError(f"invalid --shards {shards}: expected 1 to {plans.MOST}")
    _check(asked, run)
    chosen = engine(name, shards, Path(run.spec.root))
    if chosen.warning:
        print(f"proctor: {chosen.warning}", file=sys.stderr)
    try:
        return _planned(chosen, shards, force, asked, run, stop)
    except BaseException:
        chosen.close()
        raise


def _check(asked: Asked, run: RunPlan) -> None:
    if run.part is not None:
        raise UsageError("--engine divides the tests itself: expected no --shard and no --plan beside it")
    for option, given in (("--failed-first", asked.failed_first), ("--exitfirst-new", asked.exitfirst_new)):
        if given:
            raise UsageError(f"--engine and {option}: expected only one of them")


def _planned(
    chosen: Engine, shards: int, force: bool, asked: Asked, run: RunPlan, stop: Stop
) -> tuple[RunPlan, Elsewhere | None]:
    executor, began = chosen.executor(), time.monotonic()
    asked = msgspec.structs.replace(asked, selection=run.spec.selection, last_failed=False)
    found = listed(asked, run.settings, os.environ, stop)
    run = _later(run, time.monotonic() - began)
    if why := _trouble(found):
        chosen.close()
        return _with_notice(run, why), None
    seconds, usual = usual_times(Path(run.spec.root), run.environ)
    plan = make(found, os.environ, partial(by_time, seconds=seconds, usual=usual, shards=shards))
    part = msgspec.structs.replace(asked, archive=False, history=False, invocation=None, baseline=None)
    what = Dispatched(chosen, executor, plan, part, run.spec.timeout, force, listed=_beside(found.result))
    return run, Dispatch(what, stop)


def _later(run: RunPlan, seconds: float) -> RunPlan:
    """The listing counts towards the time limit."""
    if not run.spec.timeout:
        return run
    left = max(_LEAST, run.spec.timeout - seconds)
    return msgspec.structs.replace(run, spec=msgspec.structs.replace(run.spec, timeout=left))


def _trouble(found: Listed) -> str:
    """Why the tests cannot be divided. They run here then: that finds what the listing has found, and says so
    as every run does."""
    result = found.result
    if result.outcome is not RunOutcome.PASSED:
        return f"listing them ended with: {result.outcome.replace('_', ' ')}"
    names = (result.run.cwd, *result.selected)
    odd = next((name for name in names if literal(name) != name or _ESCAPED.search(name)), "")
    return f"a name is not valid UTF-8: {literal(odd)}" if odd else ""


def _beside(result: RunResult) -> tuple[Beside, ...]:
    found = (
        Beside(suite.entered.runner, tuple(suite.deselected), tuple(suite.tests.values()))
        for suite in result.suites
    )
    return tuple(one for one in found if one.deselected or one.skipped)


def _with_notice(run: RunPlan, why: str) -> RunPlan:
    notice = f"the tests run here and not in shards: {why}"
    prepared = msgspec.structs.replace(run.prepared, notices=(*run.prepared.notices, notice))
    return msgspec.structs.replace(run, prepared=prepared)

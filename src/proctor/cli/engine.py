"""`proctor run --engine`: one run over many machines."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from proctor.engines.dispatch import Dispatch, Dispatched
from proctor.engines.engine import LOCAL, Engine, engine
from proctor.errors import UsageError
from proctor.execute import Elsewhere
from proctor.history.usual_times import usual_times
from proctor.outcome import RunOutcome
from proctor.plan_run import Asked, RunPlan
from proctor.process.stop import Stop
from proctor.result import RunResult
from proctor.shards import plan as plans
from proctor.shards.listing import Listed, listed
from proctor.shards.making import make
from proctor.shards.split import by_time
from proctor.text import literal

_ESCAPED = re.compile(r"\\ud[c-f][0-9a-f]{2}")  # how bytes that are not valid UTF-8 are written in a log
_LEAST = 0.1  # seconds that are left of a time limit, even if the listing took all of them


def elsewhere(
    name: str | None, shards: int | None, force: bool, asked: Asked, run: RunPlan, stop: Stop, live: bool
) -> tuple[RunPlan, Elsewhere | None]:
    """The run with what is left of its time, and what runs its tests; None: they have to run here.

    `live`: a terminal shows the run as it goes on.
    """
    if name is None or shards is None:
        needs = "--engine needs --shards N" if shards is None else "--shards needs --engine ENGINE"
        raise UsageError(needs)
    if not 1 <= shards <= plans.MOST:
        raise UsageError(f"invalid --shards {shards}: expected 1 to {plans.MOST}")
    _check(asked, run)
    with _shown(f"connecting to {name}" if name != LOCAL else ""):
        chosen = engine(name, shards, Path(run.spec.root))
    if chosen.warning:
        _tell(chosen.warning)
    try:
        with _shown("listing the tests"):
            return _planned(chosen, shards, force, asked, run, stop, live)
    except BaseException:
        chosen.close()
        raise


@contextmanager
def _shown(text: str) -> Iterator[None]:
    """Shows on a terminal what proctor is doing, until the run has a progress line."""
    if not sys.stderr.isatty():
        yield
        return
    print(text, end="\r", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print(" " * len(text), end="\r", file=sys.stderr, flush=True)


def _tell(text: str) -> None:
    print(f"proctor: {text}", file=sys.stderr, flush=True)


def _check(asked: Asked, run: RunPlan) -> None:
    if run.part is not None:
        raise UsageError("--engine divides the tests itself: expected no --shard and no --plan with it")
    for option, given in (("--failed-first", asked.failed_first), ("--exitfirst-new", asked.exitfirst_new)):
        if given:
            raise UsageError(f"--engine and {option}: expected only one of them")


def _planned(
    chosen: Engine, shards: int, force: bool, asked: Asked, run: RunPlan, stop: Stop, live: bool
) -> tuple[RunPlan, Elsewhere | None]:
    executor, began = chosen.executor(), time.monotonic()
    asked = msgspec.structs.replace(asked, selection=run.spec.selection, last_failed=False)
    found = listed(asked, run.settings, os.environ, stop)
    run = _later(run, time.monotonic() - began)
    if why := _trouble(found):
        chosen.close()
        return run.with_notices(f"the tests run on this machine, without the engine: {why}"), None
    seconds, usual = usual_times(Path(run.spec.root), run.environ)
    plan = make(found, os.environ, partial(by_time, seconds=seconds, usual=usual, shards=shards))
    part = msgspec.structs.replace(asked, archive=False, history=False, invocation=None, baseline=None)
    what = Dispatched(
        chosen,
        executor,
        plan,
        part,
        run.spec.timeout,
        force,
        deselected=_deselected(found.result),
        tell=None if live else _tell,
    )
    return run, Dispatch(what, stop)


def _later(run: RunPlan, seconds: float) -> RunPlan:
    """The listing counts towards the time limit."""
    if not run.spec.timeout:
        return run
    left = max(_LEAST, run.spec.timeout - seconds)
    return msgspec.structs.replace(run, spec=msgspec.structs.replace(run.spec, timeout=left))


def _trouble(found: Listed) -> str:
    """Why the tests cannot be divided; empty if they can. If not, they run here, and the run reports what is
    wrong as any run does."""
    result = found.result
    if result.outcome is not RunOutcome.PASSED:
        return f"the outcome of listing them was {result.outcome.replace('_', ' ')!r}"
    names = (result.run.cwd, *result.selected)
    odd = next((name for name in names if literal(name) != name or _ESCAPED.search(name)), "")
    return f"a name is not valid UTF-8: {literal(odd)}" if odd else ""


def _deselected(result: RunResult) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for suite in result.suites:
        if suite.deselected:
            found[suite.entered.runner] = (*found.get(suite.entered.runner, ()), *suite.deselected)
    return found

"""`proctor run --engine`: one run over many machines."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import msgspec

from proctor.errors import UsageError
from proctor.execute import Elsewhere
from proctor.history.usual_times import usual_times
from proctor.plan_run import Asked, RunPlan
from proctor.process.stop import Stop
from proctor.shards import plan as plans
from proctor.shards.dispatch import Dispatch
from proctor.shards.engines import engine
from proctor.shards.listing import listed
from proctor.shards.making import make
from proctor.shards.split import by_time


def elsewhere(
    name: str | None, shards: int | None, force: bool, asked: Asked, run: RunPlan, stop: Stop
) -> Elsewhere:
    if name is None or shards is None:
        lacking = "--shards N" if shards is None else "--engine ENGINE"
        raise UsageError(f"--engine and --shards belong together: {lacking} is missing")
    if not 1 <= shards <= plans.MOST:
        raise UsageError(f"invalid --shards {shards}: expected 1 to {plans.MOST}")
    if run.part is not None:
        raise UsageError("--engine divides the tests itself: expected no --shard and no --plan beside it")
    chosen = engine(name, shards)
    seconds, usual = usual_times(Path(run.spec.root), run.environ)
    found = listed(asked, run.settings, os.environ, stop)
    split = partial(by_time, seconds=seconds, usual=usual, shards=shards)
    plan = make(found, os.environ, split)
    part = msgspec.structs.replace(asked, archive=False, history=False, invocation=None, baseline=None)
    return Dispatch(chosen, plan, part, stop, run.spec.timeout, force)

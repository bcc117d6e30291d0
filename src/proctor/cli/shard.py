"""`proctor run --shard`: one shard of a run, by a plan or by a hash of the names of files."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from proctor.cli.interrupt import announce_interrupt
from proctor.config import Settings
from proctor.errors import UsageError
from proctor.plan_run import Asked, RunPlan
from proctor.process.stop import Stop, stoppable
from proctor.shards import plan as plans
from proctor.shards.listing import listed
from proctor.shards.making import make
from proctor.shards.part import Taking, take
from proctor.shards.split import by_hash


def shard_run(path: str | None, shard: str | None, force: bool, asked: Asked, settings: Settings) -> RunPlan:
    if shard is None:
        raise UsageError("--plan needs --shard I/N: which shard of the plan to run")
    number, count = plans.numbers(shard)
    if path is not None and not asked.selection.everything:
        raise UsageError("--plan already selects the tests: expected no targets, -k or -m with it")
    if asked.last_failed:
        raise UsageError("--shard and --last-failed: expected only one of them")
    with stoppable(announce_interrupt) as stop:
        if path is None:
            return take(asked, _own(number, count, asked, settings, stop), settings, os.environ, stop)
        plan = plans.read(Path(path))
        if count != len(plan.shards):
            raise UsageError(f"--shard {shard}: {path} has {len(plan.shards)} shards, not {count}")
        if asked.runner and asked.runner != plan.runner:
            made = f"--runner {plan.runner}" if plan.runner else "every runner"
            raise UsageError(f"--runner {asked.runner}: {path} was made for {made}")
        return take(asked, Taking(plan, number, force=force), settings, os.environ, stop)


def _own(number: int, count: int, asked: Asked, settings: Settings, stop: Stop) -> Taking:
    found = listed(asked, settings, os.environ, stop)
    plan = make(found, os.environ, partial(by_hash, shards=count))
    return Taking(plan, number, own=True, fresh=True, found=found.result)

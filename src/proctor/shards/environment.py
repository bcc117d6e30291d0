"""The environment of a shard, which is never sent: a worker must have what the tests were listed with."""

from __future__ import annotations

import os

from msgspec.structs import replace

from proctor.config import Settings
from proctor.errors import UsageError
from proctor.plan_run import Asked, RunPlan
from proctor.shards.checkout import fingerprint


def with_interpreter(asked: Asked, settings: Settings) -> tuple[Asked, Settings]:
    """Where the path of an interpreter is not on this machine, the one that a run here would choose."""
    named = asked.python or settings.python
    if not named or os.sep not in named or os.path.exists(asked.root / os.path.expanduser(named)):
        return asked, settings
    return replace(asked, python=None), replace(settings, python=None)


def checked(run: RunPlan, listed_with: str, force: bool) -> RunPlan:
    """The run; if other packages are installed here, with a notice. Raises UsageError without `force`.

    `listed_with`: the fingerprint of the plan. A shard may need fewer interpreters than all tests together.
    """
    here = fingerprint(run.prepared.installed)
    if not listed_with or set(here.split("; ")) <= {"", *listed_with.split("; ")}:
        return run
    difference = f"the tests were listed with {listed_with}, and this worker has {here}"
    if not force:
        raise UsageError(f"{difference}: `--force` runs them all the same")
    return replace(run, prepared=replace(run.prepared, notices=(*run.prepared.notices, difference)))

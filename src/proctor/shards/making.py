"""Makes a plan of the tests that were listed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from proctor.result import RunResult
from proctor.shards.checkout import checkout, fingerprint
from proctor.shards.grouping import PYTEST, groups, skipped_files
from proctor.shards.listing import Listed, check_complete
from proctor.shards.plan import Plan, Shard
from proctor.shards.share import file_of
from proctor.shards.split import Group


def make(
    found: Listed, environ: Mapping[str, str], split: Callable[[list[Group]], tuple[Shard, ...]]
) -> Plan:
    """`split` divides the groups of tests into shards. Raises ListingError if the list is not complete."""
    check_complete(found.result)
    spec, prepared = found.plan.spec, found.plan.prepared
    state = checkout(Path(spec.root), environ)
    return Plan(
        commit=state.commit,
        tree=state.tree,
        fingerprint=fingerprint(prepared.installed),
        base=_base(found.result, spec.root),
        selection=spec.selection,
        runner=spec.runner,
        arguments=spec.arguments,
        arguments_for=prepared.arguments_for if spec.arguments else "",
        shards=_with_skipped(split(groups(found.result)), found.result),
    )


def _with_skipped(shards: tuple[Shard, ...], found: RunResult) -> tuple[Shard, ...]:
    """Files that skip themselves have no tests, and are a part of the result: the last shard with tests of
    pytest has them."""
    known = {file_of(test) for shard in shards for test in shard.tests}
    files = sorted(skipped_files(found) - known)
    owner = max((at for at, shard in enumerate(shards) if PYTEST in shard.runners), default=len(shards) - 1)
    shard = msgspec.structs.replace(shards[owner], files=tuple(files))
    return (*shards[:owner], shard, *shards[owner + 1 :])


def _base(found: RunResult, root: str) -> str:
    """The directory that ids of pytest are relative to, if that is not the project."""
    for suite in found.suites:
        if suite.entered.runner == PYTEST and suite.described is not None:
            base = os.path.relpath(os.path.realpath(suite.described.root), os.path.realpath(root))
            return "" if base == os.curdir else base
    return ""

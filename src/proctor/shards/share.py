"""The targets that each runner gets, so that it runs the tests of one shard. Looks which files exist."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from proctor.prepare import Share, arguments_for
from proctor.runners import table
from proctor.shards.grouping import PYTEST
from proctor.shards.plan import Plan

#: Runners whose sessions leave out tests of other shards by themselves: they get what a whole run gets.
SESSIONS = ("pytest", "unittest")


class Wanted(msgspec.Struct):
    """The tests of a shard, by runner."""

    tests: dict[str, list[str]]
    files: set[str]  # with these tests, or without any; as the ids of sessions begin
    others: set[str]  # files of other shards, likewise
    last: bool  # files that no shard has are for this one


def wanted(plan: Plan, number: int, last: bool, present: Mapping[str, str] | None) -> Wanted:
    """`present`: the tests that exist, with their runners; None: they were not listed. It is needed for the
    plan of another tool, which may not say which runner its tests belong to."""
    tests: dict[str, list[str]] = {}
    for runner, test in _of(plan, number, present):
        tests.setdefault(runner, []).append(test)
    if plan.shards[number - 1].files:
        tests.setdefault(PYTEST, [])
    files = _files(plan, number, present)
    others = set[str]()
    if last:
        numbers = range(1, len(plan.shards) + 1)
        others.update(*(_files(plan, other, present) for other in numbers if other != number))
    return Wanted(tests, files, others - files, last)


def _files(plan: Plan, number: int, present: Mapping[str, str] | None) -> set[str]:
    tests = {file_of(test) for runner, test in _of(plan, number, present) if runner in SESSIONS}
    return {*tests, *plan.shards[number - 1].files}


def _of(plan: Plan, number: int, present: Mapping[str, str] | None) -> Iterator[tuple[str, str]]:
    for runner, tests in plan.shards[number - 1].by_runner():
        for test in tests:
            found = runner or (present or {}).get(test)
            if found:
                yield found, test


def file_of(test: str) -> str:
    return test.partition("::")[0]


def needs_list(plan: Plan, number: int, root: Path) -> bool:
    """Whether the tests must be listed before they run: a runner that is given the id of a test that no
    longer exists may run none at all."""
    for runner, tests in plan.shards[number - 1].by_runner():
        if not runner or (runner not in SESSIONS and not all(_is_file(test, root) for test in tests)):
            return True
    return False


def share(
    plan: Plan, due: Wanted, root: Path, present: Mapping[str, str] | None, arguments: Sequence[str] = ()
) -> Share:
    targets: dict[str, tuple[str, ...]] = {}
    for runner, tests in due.tests.items():
        if runner in SESSIONS:
            found = _of_session(runner, plan, due, root)
            if found is not None:
                targets[runner] = found
        elif named := tuple(dict.fromkeys(_named(tests, plan, root, present))):
            targets[runner] = named
    order = [name for name in table.RUNNERS if name in targets]
    getter = plan.arguments_for or arguments_for(arguments, _runners(plan, present))
    return Share({name: targets[name] for name in order}, getter)


def _runners(plan: Plan, present: Mapping[str, str] | None) -> list[str]:
    """Of all shards: what follows `--` is for the same runner in each."""
    named = {name for shard in plan.shards for name in shard.runners}
    return sorted(named.union((present or {}).values()))


def _of_session(runner: str, plan: Plan, due: Wanted, root: Path) -> tuple[str, ...] | None:
    """The targets of the whole run, as far as they have tests of the shard; None: nothing is left of them.
    An id stands for its file: a test that is gone must not keep the others from running."""
    chosen = _owned(runner, plan, root)
    if not chosen:
        return () if not plan.selection.targets else None
    base = root / plan.base if runner == PYTEST else root
    kept = []
    for target in chosen:
        name = file_of(target)
        path = root / name
        file = os.path.relpath(path, base)
        if path.is_file() and (file not in due.others if due.last else file in due.files):
            kept.append(name)
        elif not path.is_file() and (path.exists() or not name.endswith(".py")):
            kept.append(target)
    return tuple(dict.fromkeys(kept)) or None


def _owned(runner: str, plan: Plan, root: Path) -> Iterable[str]:
    """Targets that the plan was made of, of this runner."""
    targets = plan.selection.targets
    if len({name for shard in plan.shards for name in shard.runners}) < 2:
        return targets
    return [target for target in targets if table.load(runner).owns(target, root)]


def _named(tests: Iterable[str], plan: Plan, root: Path, present: Mapping[str, str] | None) -> Iterator[str]:
    """Files, because they may have tests that no list has; ids where some tests of a file were asked for."""
    divided = {file_of(target) for target in plan.selection.targets if "::" in target}
    for test in tests:
        file = file_of(test)
        if _is_file(test, root) and file not in divided:
            yield file
        elif present is None or test in present:
            yield test


def _is_file(test: str, root: Path) -> bool:
    return "::" in test and (root / file_of(test)).is_file()

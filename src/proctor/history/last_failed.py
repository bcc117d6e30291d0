"""Which tests failed when they last ran in a project, and which ones no run has come to."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from proctor.archive import last_failed as archive
from proctor.archive.store import link_in_the_way, list_runs
from proctor.history.reading import reading
from proctor.history.repository import repository
from proctor.history.rows import base_of
from proctor.history.store import Store
from proctor.outcome import BAD, RunOutcome
from proctor.result import RunResult
from proctor.spec import TARGET_BYTES, RunSpec, Selection
from proctor.text import literal

_NEVER_REACHED = (
    "were never reached by an earlier run and are not included; run without --last-failed to run them"
)
#: Targets, and how many others a run never reached.
LastFailed: TypeAlias = tuple[list[str], int]


class LastEnds:
    """What a run changes in the list of tests that failed last."""

    def __init__(self, result: RunResult, own_name: Callable[[str, int], str]) -> None:
        self._result, self._own_name = result, own_name
        self._root = result.run.cwd

    def write(self, connection: sqlite3.Connection) -> None:
        """Only what is different from before. A whole run knows of no other test: one that has another name
        now, or is gone, is forgotten."""
        if self._result.outcome is RunOutcome.USAGE_ERROR:
            return
        known = _known(connection, self._root)
        if not known and not self._has_failures:
            return  # nearly all
        bad, missed = self._by_target()
        ended = bad.keys() | {target.partition("::")[0] for target in bad}  # files were collected
        whole = self._is_whole and bool(bad) and not missed
        over = [target for target in known if (whole or target in ended) and not bad.get(target)]
        failed = [target for target, is_bad in bad.items() if is_bad and not known.get(target)]
        missed = [target for target in missed if target not in known and target not in bad]
        root = literal(self._root)
        connection.executemany(
            "delete from last_failed where root = ? and target = ?", [(root, one) for one in over]
        )
        connection.executemany(
            "insert or replace into last_failed (root, target, reached) values (?, ?, ?)",
            [*((root, one, True) for one in failed), *((root, one, False) for one in missed)],
        )

    @property
    def _has_failures(self) -> bool:
        result = self._result
        return bool(result.bad or result.collection_errors or result.not_run)

    @property
    def _is_whole(self) -> bool:
        result = self._result
        every_suite = len(result.suites) >= result.run.suites and result.stopped is None
        return result.run.everything and every_suite

    def _by_target(self) -> tuple[dict[str, bool], list[str]]:
        """Whether each target ended badly; and targets that the run never reached."""
        bad: dict[str, bool] = {}
        missed: dict[str, None] = {}
        root = Path(self._root)
        for number, suite in enumerate(self._result.suites):
            base = base_of(suite)

            def target(test: str, number: int = number, base: str = base) -> str:
                return literal(archive.target(self._own_name(test, number), base, root))

            for name, end in suite.tests.items():
                of = target(end.part_of or name)
                bad[of] = bad.get(of, False) or (end.outcome in BAD and name not in suite.quarantined)
            bad |= {target(error.file): True for error in suite.errors}
            missed |= dict.fromkeys(map(target, suite.not_run))
        return bad, list(missed)


def _known(connection: sqlite3.Connection, root: str) -> dict[str, bool]:
    """By target, whether it was reached."""
    rows = connection.execute(
        "select target, reached from last_failed where root = ? order by id", (literal(root),)
    )
    return {target: bool(reached) for target, reached in rows}


def only_last_failed(
    spec: RunSpec, environ: Mapping[str, str], use_store: bool = True
) -> tuple[RunSpec, tuple[str, ...]]:
    """The spec narrowed to what failed last, and notes about it. Without failures, all of it runs."""
    failed, missed = last_failed(Path(spec.root), environ, use_store)
    within = spec.selection.targets
    failed = [test for test in failed if not within or any(_is_within(test, target) for target in within)]
    if not failed:
        what = " in these targets: all of their tests run" if within else ": all tests run"
        return spec, (no_failures(Path(spec.root), what),)
    notices: tuple[str, ...] = ()
    if missed:
        notices = (f"{missed} tests {_NEVER_REACHED}",)
    if sum(len(os.fsencode(target)) + 1 for target in failed) > TARGET_BYTES:
        failed = list(dict.fromkeys(target.partition("::")[0] for target in failed))
        notices = (f"too many failures for a command line: the {len(failed)} files that they are in run",)
    chosen = Selection(tuple(failed), spec.selection.keywords, spec.selection.markers)
    return msgspec.structs.replace(spec, selection=chosen), notices


def no_failures(root: Path, what: str) -> str:
    """A notice, with what happens instead."""
    link = link_in_the_way(root)
    return f"no recorded failures{f' ({link})' if link else ''}{what}"


def _is_within(test: str, target: str) -> bool:
    """Whether a test is the target, a test of it, or in its directory."""
    test = test if target.startswith("/") else test.removeprefix("/")  # the name of a program is a path, too
    target = os.path.normpath(target) if "::" not in target else target
    return (
        test == target or target == os.curdir or test.startswith((f"{target}::", f"{target}[", f"{target}/"))
    )


def last_failed(root: Path, environ: Mapping[str, str], use_store: bool = True) -> LastFailed:
    """By the store, or by the archive, if that has a run which the store does not know."""
    found = _in_store(root, environ) if use_store else None
    failed, missed = archive.last_failed(root, environ) if found is None else found
    return [target for target in failed if not _is_gone(target, root)], missed


def _in_store(root: Path, environ: Mapping[str, str]) -> LastFailed | None:
    with reading(root, repository(root), environ) as store:
        try:
            if store is None or not _knows_newest(store, root, environ):
                return None
            known = _known(store.connection, str(root))
        except sqlite3.Error:
            return None
    return [target for target, reached in known.items() if reached], list(known.values()).count(False)


def _knows_newest(store: Store, root: Path, environ: Mapping[str, str]) -> bool:
    """Whether the store has the newest run of the project: with --no-history only the archive does."""
    newest = next((folder.name for folder in list_runs(root, environ)), "")
    if newest:
        found = store.connection.execute("select 1 from run where id = ?", (newest,))
    else:
        found = store.connection.execute(
            "select 1 from run where root = ? and not imported", (literal(str(root)),)
        )
    return found.fetchone() is not None


def _is_gone(target: str, root: Path) -> bool:
    """Whether its file was removed, or has another name now."""
    file = target.partition("::")[0]
    return file.endswith(".py") and not os.path.exists(root / file)

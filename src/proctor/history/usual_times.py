"""How long tests took when they last ran."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from proctor.archive.last_failed import target
from proctor.history.reading import reading
from proctor.history.repository import repository

_SHORT = 0.01  # seconds: less does not matter
_LOOK_BACK = 20  # runs


def usual_times(root: Path, environ: Mapping[str, str]) -> tuple[dict[str, float], float]:
    """Seconds by what runs the test in this project, and those of every other test: in most projects nearly
    all are short, and have no number of their own. Nothing is known without a store."""
    found = repository(root)
    with reading(root, found, environ) as store:
        if store is None:
            return {}, 0.0
        try:
            took = _newest(store.connection, str(root))
        except sqlite3.Error:
            return {}, 0.0
    top, bases = found.top if found else str(root), dict[str, str]()
    known: dict[str, float] = {}
    for (folder, name), microseconds in took.items():
        base = bases.get(folder) or bases.setdefault(folder, os.path.normpath(os.path.join(top, folder)))
        known[target(name, base, root)] = microseconds / 1e6
    usual = round(sorted(known.values())[len(known) // 2], 6) if known else 0.0  # the median
    if usual < _SHORT:
        known = {test: seconds for test, seconds in known.items() if seconds >= _SHORT}
    return known, usual


def _newest(connection: sqlite3.Connection, root: str) -> dict[tuple[str, str], int]:
    """Of each test, in runs since the last whole one: of this root, or else of any, as in a new worktree.
    Folder and name are enough to run a test."""
    took: dict[tuple[str, str], int] = {}
    of_run = "select folder, name, microseconds from result join test on test = id where run = ?"
    for number in reversed(_runs(connection, root) or _runs(connection, "")):
        took |= {(folder, name): spent for folder, name, spent in connection.execute(of_run, (number,))}
    return took


def _runs(connection: sqlite3.Connection, root: str) -> list[int]:
    """The newest first."""
    runs = []
    newest = "select number, whole from run where (root = ? or ? = '') and not imported order by number desc"
    for number, whole in connection.execute(f"{newest} limit {_LOOK_BACK}", (root, root)):
        runs.append(number)
        if whole:
            break
    return runs

"""How long tests took when they last ran."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from statistics import median

from proctor.archive.history import target
from proctor.history.repository import repository
from proctor.history.store import HistoryError, open_store, place

_SHORT = 0.01  # seconds: less does not matter
_NEWEST = "select microseconds from result where test = test.id order by run desc, attempt desc limit 1"


def usual_times(root: Path, environ: Mapping[str, str]) -> tuple[dict[str, float], float]:
    """Seconds by what runs the test in this project, and those of every other test: in most projects nearly
    all are short, and have no number of their own. Nothing is known without a store."""
    found = repository(root)
    top = found.top if found else str(root)
    try:
        with closing(open_store(place(root, found, environ), make=False)) as store:
            rows = store.connection.execute(f"select folder, name, ({_NEWEST}) from test").fetchall()
    except (HistoryError, sqlite3.Error, OSError):
        return {}, 0.0
    bases: dict[str, str] = {}
    known: dict[str, float] = {}
    for folder, name, microseconds in rows:
        if microseconds is not None:
            base = bases.get(folder) or bases.setdefault(folder, os.path.normpath(os.path.join(top, folder)))
            known[target(name, base, root)] = microseconds / 1e6
    usual = round(median(known.values()), 6) if known else 0.0
    if usual < _SHORT:
        known = {test: seconds for test, seconds in known.items() if seconds >= _SHORT}
    return known, usual

"""The store for a look before a run: a file that is damaged is left for the run to mend, and to tell of."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from proctor.history.file import is_missing, is_something_else
from proctor.history.repository import Repository
from proctor.history.store import HistoryError, Store, places


@contextmanager
def reading(root: Path, found: Repository | None, environ: Mapping[str, str]) -> Iterator[Store | None]:
    """The store that a run of the project would use; None where there is none that can be read."""
    store = _first(root, found, environ)
    try:
        yield store
    finally:
        if store is not None:
            store.close()


def _first(root: Path, found: Repository | None, environ: Mapping[str, str]) -> Store | None:
    for path in places(root, found, environ):
        try:
            if not is_missing(path) and not is_something_else(path):
                return Store(path)
        except (HistoryError, sqlite3.Error, OSError):
            continue
    return None

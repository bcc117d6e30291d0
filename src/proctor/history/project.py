"""The history of one project: where its store is, and the store opened to read it or to add to it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from proctor.errors import ProctorError
from proctor.history.questions import Questions
from proctor.history.repository import Repository, repository
from proctor.history.store import HistoryError, Store, open_store, place, places
from proctor.history.tree import trees_of
from proctor.process.git import Git
from proctor.remembered import FlakyTest

_HEAD = "ref: refs/heads/"
_BESIDE = ("-wal", "-shm", "-journal")  # files that belong to a store


class StoreError(ProctorError):
    """The history cannot be read or written."""

    slug = "history"
    exit_code = 2


class ProjectHistory:
    def __init__(self, root: Path, environ: Mapping[str, str], within: Sequence[Path] = ()) -> None:
        """`within`: directories whose history may be told; none: all of the repository."""
        self.root, self._environ = root, environ
        self.repository: Repository | None = repository(root)
        self.top = self.repository.top if self.repository else str(root)
        self.folder = os.path.relpath(root, self.top)
        whole = any(Path(self.top).is_relative_to(served) for served in within)
        self._within = [] if whole else [str(served) for served in within]

    @property
    def candidates(self) -> list[Path]:
        """Where the store may be, the proper place first."""
        return list(places(self.root, self.repository, self._environ))

    @property
    def path(self) -> Path:
        """Where it is, or would be. Raises StoreError."""
        try:
            return place(self.root, self.repository, self._environ)
        except HistoryError:
            tried = " and ".join(map(str, self.candidates)) or "no place is known"
            raise StoreError(f"the history can be kept nowhere: not writable: {tried}") from None

    @property
    def branch(self) -> str:
        """The one that is checked out; empty where there is none."""
        head = next(self.repository.branches("HEAD"), "").strip() if self.repository else ""
        return head.removeprefix(_HEAD) if head.startswith(_HEAD) else ""

    @contextmanager
    def store(self, make: bool = False) -> Iterator[Store | None]:
        """None if there is none yet. Raises StoreError."""
        store = self._opened(make)
        try:
            yield store
        except sqlite3.Error as error:
            raise StoreError(f"the history cannot be used: {error}") from None
        finally:
            if store is not None:
                store.close()

    def _opened(self, make: bool) -> Store | None:
        try:
            path = self.path if make else self._readable()
            return None if path is None else open_store(path, make=make)
        except (HistoryError, sqlite3.Error, OSError) as error:
            raise StoreError(f"the history cannot be used: {error}") from None

    def _readable(self) -> Path | None:
        with suppress(HistoryError):
            found = place(self.root, self.repository, self._environ)
            if found.exists():
                return found
        return next((path for path in self.candidates if path.exists()), None)

    def questions(self, store: Store) -> Questions:
        return Questions(store, self.folder, self._within)

    def flaky(self, store: Store) -> list[FlakyTest]:
        """As `Questions.flaky`, with what git knows about the commits."""
        asked = self.questions(store)
        commits = asked.clean_commits() if self.repository else []
        return asked.flaky(trees_of(commits, Git(str(self.root), self._environ)))

    def clear(self) -> list[Path]:
        """Removes the store, with copies of it that were broken. Returns what was removed."""
        removed = []
        for store in self.candidates:
            with suppress(OSError):
                broken = sorted(store.parent.glob(f"{_escaped(store.name)}.broken-*"))
            for path in (store, *(Path(f"{store}{ending}") for ending in _BESIDE), *broken):
                with suppress(FileNotFoundError, NotADirectoryError):
                    path.unlink()
                    removed.append(path)
        return removed


def _escaped(name: str) -> str:
    import glob

    return glob.escape(name)

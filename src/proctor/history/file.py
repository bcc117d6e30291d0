"""Where the file of a store may be, and what may be there instead of one. Does not look into it.

A file below the project may be a test's doing: there no link is followed. Below the user's own directory,
links are the user's.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from proctor.archive.inside import remove
from proctor.archive.store import FOLDER
from proctor.history.repository import Repository, name_of
from proctor.places import user_state

SUFFIX = ".sqlite"
BESIDE = ("-wal", "-shm", "-journal")  # what sqlite keeps beside a file
#: Errors of a place that cannot be written, where the next one may be better.
ELSEWHERE = frozenset(
    (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG)
)
_IN_PROJECT = f"history{SUFFIX}"
_OURS = r".*-[0-9a-f]{16}\.sqlite(\.broken-[0-9]|\.new)?\Z"
_MOST_BROKEN = 9
_STALE_AT_ONCE = 20  # files of other projects removed by one new store
_PAUSE = 0.01  # seconds between two tries to get a lock


class HistoryError(Exception):
    """The store cannot be used; the message is for the user, or empty where that is nothing to tell."""


def places(root: Path, found: Repository | None, environ: Mapping[str, str]) -> Iterator[Path]:
    """Where the store of a project may be, the proper place first."""
    if (state := user_state(environ)) is not None:
        yield state / (name_of(root, found) + SUFFIX)
    yield root / FOLDER / _IN_PROJECT


def place(root: Path, found: Repository | None, environ: Mapping[str, str]) -> Path:
    """Where it is, or would be. Raises HistoryError if it can be nowhere."""
    for path in places(root, found, environ):
        if _seems_writable(path):
            return path
    raise HistoryError("")


def _seems_writable(path: Path) -> bool:
    folder = path.parent
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    if is_in_project(path) and (os.path.islink(path.parent) or os.path.islink(path)):
        return False
    if not (os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)):
        return False
    return not os.path.isfile(path) or os.access(path, os.W_OK)


def is_in_project(path: Path) -> bool:
    return path.name == _IN_PROJECT and path.parent.name == FOLDER


def make_folder(path: Path) -> None:
    """Of a store: what is in it is for nobody else. Raises an OSError if it cannot be written."""
    folder = path.parent
    if is_in_project(path):
        if os.path.islink(folder):
            raise OSError(errno.ELOOP, "is a link, which is not followed", str(folder))
        if not os.path.isdir(folder):
            os.mkdir(folder)
            hide_from_git(folder)
    else:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "cannot be written", str(folder))


def hide_from_git(folder: Path) -> None:
    """In a new file only, as the archive does."""
    with suppress(OSError), open(folder / ".gitignore", "x") as file:
        file.write("*\n")


def is_missing(path: Path) -> bool:
    """Whether there is no store. Raises an OSError for a link, or for one that cannot be written."""
    if is_in_project(path) and (os.path.islink(path.parent) or os.path.islink(path)):
        raise OSError(errno.ELOOP, "is a link, which is not followed", str(path))
    if not os.path.exists(path):
        return True
    if os.path.isfile(path) and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "cannot be written", str(path))
    return False


def is_something_else(path: Path) -> bool:
    """Whether there is a directory, a pipe or the like, which sqlite might wait for, or a file with another
    name elsewhere, which it would write to."""
    for ending in ("", *BESIDE):
        try:
            found = os.stat(f"{path}{ending}", follow_symlinks=not ending)
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(found.st_mode) or (is_in_project(path) and found.st_nlink > 1):
            return True
    return False


def identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def alone(folder: Path, patience: float) -> Iterator[None]:
    """While no other process makes a store in this directory, or moves one away. Raises an OSError if one
    takes too long."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise
                time.sleep(_PAUSE)
            except OSError:
                break  # a file system without such locks: a race is unlikely
        yield
    finally:
        os.close(descriptor)


def move_aside(path: Path) -> Path:
    """Gives what is there another name, which is returned. Those beside it go with it."""
    names = [path.with_name(f"{path.name}.broken-{number}") for number in range(1, _MOST_BROKEN + 1)]
    aside = next((name for name in names if not os.path.lexists(name)), names[-1])
    if os.path.lexists(aside):
        remove(str(aside))
    for ending in BESIDE:
        remove(f"{aside}{ending}")
    with suppress(FileNotFoundError):
        os.replace(path, aside)
    for ending in BESIDE:
        with suppress(OSError):
            os.replace(f"{path}{ending}", f"{aside}{ending}")
    return aside


def discard(path: str) -> None:
    """Removes a file of sqlite, as far as possible."""
    for ending in ("", *BESIDE):
        with suppress(OSError):
            os.unlink(f"{path}{ending}")


def remove_stale(new: Path, days: int) -> None:
    """Removes a few stores of projects that have had no run for so many days: they have nothing to say, and
    many a project was made for a moment. A clock that is wrong must not cost those of others, so that they
    are compared with the youngest of them, too."""
    found: dict[str, float] = {}
    try:
        with os.scandir(new.parent) as entries:
            for entry in entries:
                if entry.name != new.name and re.match(_OURS, entry.name):
                    found[entry.path] = max(_modified(entry.path), _modified(f"{entry.path}-wal"))
    except OSError:
        return
    before = min(time.time(), max(found.values(), default=0.0)) - days * 86_400
    for path in sorted(found, key=lambda name: found[name])[:_STALE_AT_ONCE]:
        if found[path] < before:
            discard(path)


def _modified(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0

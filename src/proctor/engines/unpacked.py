"""Projects that were sent to this machine, unpacked in the user's cache: once for all shards, and never half.

A copy that tests have changed is not used again; the archive stays beside it, to make another one.
Whoever uses a copy holds its lock, and what nobody holds is removed when newer projects come.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from proctor.archive.inside import remove
from proctor.engines.packing import unpack
from proctor.engines.project_files import Files, tree_of, walk
from proctor.errors import LaunchError
from proctor.history.tree import is_written_by_tools
from proctor.places import user_cache
from proctor.regular_files import read_bytes, replace_file

FOLDER = "projects"
KEPT = 3  # projects that stay, the one that was used last among them
_ARCHIVE, _UNFINISHED = ".archive", ".new"
_LOCK, _FILES, _LIST, _CHANGED = "lock", "files", "list", "changed"


def place(environ: Mapping[str, str]) -> Path:
    """Where copies are on this machine: below a directory that is the user's alone."""
    cache = user_cache(environ)
    if cache is None:
        cache = Path(tempfile.gettempdir(), f"proctor-{os.getuid()}")
        with contextlib.suppress(FileExistsError):
            cache.mkdir(mode=0o700)
        about = cache.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o022:
            raise LaunchError(f"{cache} is not a directory of this user alone, and there is no HOME")
    return cache / FOLDER


@contextmanager
def unpacked(base: Path, tree: str, inside: str, archive: bytes) -> Iterator[Path | None]:
    """The project's files for as long as they are used; None if there is no copy and no archive to make one.

    Raises LaunchError if it cannot be unpacked.
    """
    with contextlib.ExitStack() as held:
        try:
            copy = _hold(base, tree, inside, archive, held)
        except OSError as error:
            raise LaunchError(
                f"the project cannot be unpacked in {base}: {error.strerror or error}"
            ) from None
        yield copy and copy / _FILES


def _hold(base: Path, tree: str, inside: str, archive: bytes, held: contextlib.ExitStack) -> Path | None:
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    while True:
        with _locked(base / _LOCK, fcntl.LOCK_EX):
            copy = next(
                (one for one in _copies(base) if one.name.startswith(tree) and _is_unchanged(one)), None
            )
            if copy is None:
                archive = archive or _kept(base, tree)
                if not archive:
                    return None
                _tidy(base, tree)
                copy = _make(base, tree, inside, archive)
            _touch(base, tree)
            using = contextlib.ExitStack()
            using.enter_context(_locked(copy / _LOCK, fcntl.LOCK_SH))
        with using:
            if tree_of(_files(copy, inside)) == tree:
                held.push(using.pop_all())
                return copy
            (copy / _CHANGED).touch()


def _touch(base: Path, tree: str) -> None:
    """It was used now. Its archive may have been removed while a copy was in use."""
    with contextlib.suppress(FileNotFoundError):
        os.utime(base / f"{tree}{_ARCHIVE}")


def _is_unchanged(copy: Path) -> bool:
    return not (copy / _CHANGED).exists()


def _copies(base: Path) -> list[Path]:
    return [one for one in base.iterdir() if one.is_dir() and one.suffix != _UNFINISHED]


def _kept(base: Path, tree: str) -> bytes:
    try:
        return read_bytes(base / f"{tree}{_ARCHIVE}")
    except FileNotFoundError:
        return b""


def _make(base: Path, tree: str, inside: str, archive: bytes) -> Path:
    """Its name comes last: what has one is whole. So is an archive that is kept."""
    copy = base / f"{tree}-{uuid.uuid4().hex[:8]}"
    new = copy.with_suffix(_UNFINISHED)
    (new / _FILES).mkdir(parents=True, mode=0o700)
    try:
        paths = unpack(archive, str(new / _FILES))
        (new / _LIST).write_bytes(b"\0".join(map(os.fsencode, paths)))
        (new / _LOCK).touch()
        if tree_of(_files(new, inside)) != tree:
            raise LaunchError("the project arrived broken: its files are not those that were sent")
        replace_file(base / f"{tree}{_ARCHIVE}", archive)
        new.rename(copy)
    except BaseException:
        remove(str(new))
        raise
    return copy


def _files(copy: Path, inside: str) -> Files:
    """What was sent, and what has come since; but not what every test session writes."""
    top, sent = str(copy / _FILES), read_bytes(copy / _LIST).split(b"\0")
    known = set(map(os.fsdecode, sent))
    paths = (path for path in walk(top) if path in known or not is_written_by_tools(path))
    return Files(top, inside, tuple(sorted(paths, key=os.fsencode)))


def _tidy(base: Path, tree: str) -> None:
    """Removes what killed processes left, copies that tests have changed, and all but the last projects."""
    for left in base.glob(f"*{_UNFINISHED}"):
        remove(str(left))
    archives = sorted(base.glob(f"*{_ARCHIVE}"), key=lambda one: -one.stat().st_mtime)
    stay = [tree, *(one.stem for one in archives if one.stem != tree)][:KEPT]
    for one in archives:
        if one.stem not in stay:
            remove(str(one))
    for copy in _copies(base):
        if not _is_unchanged(copy) or copy.name.rpartition("-")[0] not in stay:
            with contextlib.suppress(BlockingIOError), _locked(copy / _LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB):
                new = copy.with_suffix(_UNFINISHED)  # nobody takes it for a whole one
                copy.rename(new)
                remove(str(new))


@contextmanager
def _locked(path: Path, how: int) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)

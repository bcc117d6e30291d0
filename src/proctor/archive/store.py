"""Where runs are kept: `.proctor/runs/<id>/` in the project, or the user's cache where that is read-only."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from proctor import decoding
from proctor.archive.inside import Folder, empty, new_file, open_file, open_folder, read_inside, remove
from proctor.places import user_cache

if TYPE_CHECKING:
    from datetime import datetime

FOLDER = ".proctor"
RUN_FILE, RESULT_FILE, OUTPUT_FILE = "run.json", "result.json", "output.txt"
FAILURES_FILE = "failures.txt"
EVENTS_FILE, RESULTS_FILE = "events.jsonl", "results.jsonl"
FILES_FOLDER = "files"
_LOCK, _RUNS = "lock", "runs"
_LOCK_TRIES, _LOCK_PAUSE = 100, 0.01  # seconds between two tries
_RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[a-z0-9]{6}\Z")  # nothing else in there is ours to remove
_DIGITS = "012345abcdefghijklmnopqrstuvwxyz"  # 32 of them, in the order in which names sort
_LOOKED_INTO = 20_000  # directories, when projects with runs are looked for
_NO_PROJECTS = frozenset({"node_modules", "__pycache__", "site-packages"})
_AT_ONCE = 5  # old runs removed by one new run, so that no run pays for all


class RunHead(msgspec.Struct, omit_defaults=True):
    """What a list of runs needs to know: small, written first, rewritten when the run ends."""

    run_id: str
    runner: str
    started: str
    command: tuple[str, ...] = ()
    everything: bool = True
    collect_only: bool = False
    outcome: str = "running"
    summary: dict[str, int | float] = {}
    asked: tuple[str, ...] = ()  # which part of the tests


class RunDirectory:
    """The directory of a run, held open: whatever a test puts in its place, bytes go where they should.
    Holds its lock, so that no other run removes it."""

    def __init__(self, folder: Folder, descriptor: int | None = None) -> None:
        self.folder = folder
        self.descriptor = folder.open() if descriptor is None else descriptor
        try:
            self._lock = _take_lock(self.descriptor)
        except OSError:
            os.close(self.descriptor)
            raise

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def vanished(self) -> bool:
        """Whether a test has deleted the directory, or put something else in its place or above it."""
        try:
            there = self.folder.open()
        except OSError:
            return True
        try:
            return not os.path.samestat(os.fstat(there), os.fstat(self.descriptor))
        finally:
            os.close(there)

    def close(self) -> None:
        os.close(self._lock)
        os.close(self.descriptor)

    def discard(self) -> None:
        """Removes it with its content, and closes it; nothing if it has vanished."""
        os.close(self._lock)  # first: there may be no descriptor left to look with
        gone = self.vanished
        if not gone:
            empty(self.descriptor)
        os.close(self.descriptor)
        if not gone:
            _remove_empty(self.folder)


def _remove_empty(folder: Folder) -> None:
    try:
        home = folder.parent.open()
    except OSError:
        return
    try:
        os.rmdir(folder.name, dir_fd=home)
    except OSError:
        pass  # something new is in it
    finally:
        os.close(home)


def _take_lock(directory: int) -> int:
    """Takes the shared lock. Others hold it only briefly; a test might never release it, so this gives up."""
    try:
        lock = new_file(_LOCK, directory, os.O_RDWR)
    except FileExistsError:
        lock = open_file(_LOCK, directory, os.O_RDWR)
    for left in range(_LOCK_TRIES, 0, -1):
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if left > 1:
                time.sleep(_LOCK_PAUSE)
        except OSError:
            os.close(lock)
            raise
    os.close(lock)
    raise OSError(errno.EWOULDBLOCK, "another process holds the lock of the run")


def homes(root: Path, environ: Mapping[str, str], within: Path | None = None) -> list[Folder]:
    """Where the runs of a project may be, the proper place first.

    `within` is a directory above the project in which it was found: no link below that is followed.
    """
    above = root if within is None else within
    found = [Folder(above, (*root.relative_to(above).parts, FOLDER, _RUNS))]
    if cache := user_cache(environ):
        name = _escaped(root)
        if len(name) > 200:  # a file name has room for 255 bytes
            import hashlib

            name = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
        found.append(Folder(cache, (_RUNS, name)))
    return found


def named_run(path: Path) -> Folder:
    """The directory of a run by a path that the user gave. No link below its project is followed."""
    if path.parts[-3:-1] == (FOLDER, _RUNS):
        return Folder(path.parents[2], path.parts[-3:])
    return Folder(path)


def project_of(folder: Folder) -> Path | None:
    """The project of a run, by where the run is kept: what is written in its files proves nothing."""
    parts = folder.path.parts
    if parts[-3:-1] == (FOLDER, _RUNS):
        return folder.path.parents[2]
    if parts[-3:-2] == (_RUNS,) and parts[-2].startswith(_escaped(Path("/"))):
        return _unescaped(parts[-2])
    return None


def link_in_the_way(root: Path) -> str:
    """Why runs are neither kept in the project nor read there, if a link is the reason."""
    try:
        os.close(homes(root, {})[0].open())
    except OSError as error:
        if error.errno == errno.ELOOP:
            return f"{error.filename} {error.strerror}"
    return ""


def _escaped(path: Path) -> str:
    return str(path).replace("%", "%25").replace("/", "%2F")


def _unescaped(name: str) -> Path:
    return Path(name.replace("%2F", "/").replace("%25", "%"))


def projects_below(root: Path, environ: Mapping[str, str]) -> list[Path]:
    """Projects with runs, nearest first; not those in hidden directories, in environments or behind links."""
    found = []
    folders = [Folder(root)]
    for folder in folders:  # grows meanwhile
        inside = _inside(folder)
        if "pyvenv.cfg" in inside:
            continue
        if folder.below and inside.get(FOLDER):
            found.append(folder.path)
        if len(folders) < _LOOKED_INTO:
            names = sorted(name for name, is_folder in inside.items() if is_folder)
            folders += [folder.folder(n) for n in names if not n.startswith(".") and n not in _NO_PROJECTS]
    return [*found, *_kept_elsewhere(root, environ)]


def _inside(folder: Folder) -> dict[str, bool]:
    """By name, what is in a directory, and whether it is a directory itself."""
    try:
        descriptor = folder.open()
    except OSError:
        return {}
    try:
        with os.scandir(descriptor) as entries:
            return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    except OSError:
        return {}
    finally:
        os.close(descriptor)


def _kept_elsewhere(root: Path, environ: Mapping[str, str]) -> list[Path]:
    """Those whose runs are in the user's cache."""
    cache = user_cache(environ)
    names = sorted(_inside(Folder(cache, (_RUNS,)))) if cache else []
    below = _escaped(root / "x")[:-1]
    return [_unescaped(name) for name in names if name.startswith(below)]


def new_run_id(now: datetime) -> str:
    """The second, its 32768th part, and three characters of chance: names of runs sort by when they began."""
    part = now.microsecond * len(_DIGITS) ** 3 // 1_000_000
    numbers = (part >> 10, part >> 5, part, *os.urandom(3))
    return now.strftime("%Y%m%d-%H%M%S-") + "".join(_DIGITS[number % len(_DIGITS)] for number in numbers)


def open_run(
    root: Path, run_id: str, environ: Mapping[str, str], outside: bool = False
) -> RunDirectory | None:
    """A new directory for a run, in the first place that can be written. `outside`: not in the project."""
    for home in homes(root, environ)[outside:]:
        try:
            if home.base != root:
                home.base.mkdir(parents=True, exist_ok=True)
            directory = _claim(home, run_id)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                return None  # no place has more descriptors
            continue
        if home.base == root:
            _hide_from_git(home.parent)
        return directory
    return None


def _claim(home: Folder, run_id: str) -> RunDirectory:
    """Locks the directory before it gets the run's name, so that no other run takes it for a finished one."""
    hidden = f".{run_id}"
    runs = home.open(make=True)
    try:
        os.mkdir(hidden, dir_fd=runs)
        try:
            directory = RunDirectory(home.folder(run_id), open_folder(hidden, runs))
            try:
                os.rename(hidden, run_id, src_dir_fd=runs, dst_dir_fd=runs)
            except OSError:
                directory.close()
                raise
        except OSError:  # there may be no descriptor left
            remove(hidden, runs)
            raise
    finally:
        os.close(runs)
    return directory


def _hide_from_git(folder: Folder) -> None:
    """In a new file only: what is there, whatever it is, is not ours to change."""
    try:
        descriptor = folder.open()
    except OSError:
        return
    try:
        with os.fdopen(new_file(".gitignore", descriptor), "wb") as file:
            file.write(b"*\n")
    except OSError:
        pass  # it is there, or the disk is full, which the run will notice
    finally:
        os.close(descriptor)


def list_runs(root: Path, environ: Mapping[str, str], within: Path | None = None) -> Iterator[Folder]:
    """Directories of runs, newest first; `within` as in `homes`."""
    found = [home.folder(name) for home in homes(root, environ, within) for name in _runs_in(home)]
    yield from sorted(found, key=lambda folder: folder.name, reverse=True)


def _runs_in(home: Folder) -> list[str]:
    return [name for name, is_folder in _inside(home).items() if is_folder and _RUN_ID.match(name)]


def read_head(folder: Folder) -> RunHead | None:
    """None where there is no run, or not yet. A run whose writer died is `incomplete`."""
    under_way = in_use(folder)  # before it is read: a run that ends meanwhile has not died
    try:
        head = decoding.decode(read_inside(folder, RUN_FILE), RunHead)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if head.outcome == "running" and not under_way:
        head.outcome = "incomplete"
    return head


def in_use(folder: Folder) -> bool:
    return lock_state(folder) is LockState.HELD


class LockState(Enum):
    NONE = auto()  # not a run, or one that cannot be read
    FREE = auto()  # its writer is gone
    HELD = auto()


def lock_state(folder: Folder) -> LockState:
    try:
        descriptor = folder.open()
    except OSError:
        return LockState.NONE
    try:
        return _lock_state(descriptor)
    finally:
        os.close(descriptor)


def _lock_state(directory: int) -> LockState:
    try:
        lock = open_file(_LOCK, directory, os.O_RDWR)
    except OSError:
        return LockState.NONE
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return LockState.FREE
    except OSError:
        return LockState.HELD
    finally:
        os.close(lock)


def prune(root: Path, environ: Mapping[str, str], keep: int) -> None:
    """Remove a few of the oldest runs beyond `keep`, none that is under way."""
    old = list(list_runs(root, environ))[keep:]
    for folder in old[::-1][:_AT_ONCE]:
        try:
            _remove_run(folder)
        except OSError:
            pass  # the next run tries again


def _remove_run(folder: Folder) -> None:
    """What is looked at is what is removed: by descriptors, so that nothing else can take its place."""
    home = folder.parent.open()
    try:
        run = open_folder(folder.name, home)
        try:
            if _lock_state(run) is LockState.HELD:
                return
            empty(run)
        finally:
            os.close(run)
        os.rmdir(folder.name, dir_fd=home)
    finally:
        os.close(home)

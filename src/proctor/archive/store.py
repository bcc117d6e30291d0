"""Where runs are kept: `.proctor/runs/<id>/` in the project, or the user's cache where that is read-only."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from proctor.archive.inside import read_inside, remove
from proctor.places import user_cache

if TYPE_CHECKING:
    from datetime import datetime

FOLDER = ".proctor"
RUN_FILE, RESULT_FILE, OUTPUT_FILE = "run.json", "result.json", "output.txt"
EVENTS_FILE, RESULTS_FILE = "events.jsonl", "results.jsonl"
FILES_FOLDER = "files"
_LOCK = "lock"
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


class RunDirectory:
    """The directory of a run. Holds its lock, so that no other run removes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            os.close(self._folder)
            raise
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    @property
    def vanished(self) -> bool:
        """Whether a test has deleted the directory, or put something else in its place."""
        try:
            there = os.lstat(self.path)
        except OSError:
            return True
        return not os.path.samestat(there, os.fstat(self._folder))

    def close(self) -> None:
        os.close(self._lock)
        os.close(self._folder)


def homes(root: Path, environ: Mapping[str, str]) -> list[Path]:
    """Where the runs of a project may be, the proper place first."""
    found = [root / FOLDER / "runs"]
    if cache := user_cache(environ):
        name = _escaped(root)
        if len(name) > 200:  # a file name has room for 255 bytes
            import hashlib

            name = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
        found.append(cache / "runs" / name)
    return found


def _escaped(path: Path) -> str:
    return str(path).replace("%", "%25").replace("/", "%2F")


def projects_below(root: Path, environ: Mapping[str, str]) -> list[Path]:
    """Projects with runs, nearest first; not those in hidden directories, in environments or behind links."""
    found = []
    folders = [root]
    for folder in folders:  # grows meanwhile
        try:
            with os.scandir(folder) as entries:
                inside = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:
            continue
        if "pyvenv.cfg" in inside:
            continue
        if folder != root and inside.get(FOLDER):
            found.append(folder)
        if len(folders) < _LOOKED_INTO:
            names = sorted(name for name, is_folder in inside.items() if is_folder)
            folders += [folder / n for n in names if not n.startswith(".") and n not in _NO_PROJECTS]
    return [*found, *_kept_elsewhere(root, environ)]


def _kept_elsewhere(root: Path, environ: Mapping[str, str]) -> list[Path]:
    """Those whose runs are in the user's cache."""
    cache = user_cache(environ)
    try:
        names = sorted(os.listdir(cache / "runs")) if cache else []
    except OSError:
        return []
    below = _escaped(root / "x")[:-1]
    return [Path(name.replace("%2F", "/").replace("%25", "%")) for name in names if name.startswith(below)]


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
            if home.parent.name == FOLDER:
                _prepare(home.parent)
            return _claim(home, run_id)
        except OSError:
            continue
    return None


def _claim(home: Path, run_id: str) -> RunDirectory:
    """Locked before it has a run's name: under that, another run could take it for one that is over."""
    path = home / f".{run_id}"
    path.mkdir(parents=True)
    try:
        directory = RunDirectory(path)
    except OSError:  # there may be no descriptor left
        remove(path)
        raise
    try:
        directory.path = path.rename(home / run_id)
    except OSError:
        directory.close()
        remove(path)
        raise
    return directory


def _prepare(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


def list_runs(root: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Directories of runs, newest first."""
    found = [path for home in homes(root, environ) for path in _entries(home)]
    yield from sorted(found, key=lambda path: path.name, reverse=True)


def _entries(home: Path) -> list[Path]:
    try:
        with os.scandir(home) as entries:
            ours = [entry for entry in entries if _RUN_ID.match(entry.name)]
            return [home / entry.name for entry in ours if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def read_head(path: Path) -> RunHead | None:
    """None where there is no run, or not yet. A run whose writer died is `incomplete`."""
    under_way = in_use(path)  # before it is read: a run that ends meanwhile has not died
    try:
        head = msgspec.json.decode(read_inside(path, RUN_FILE), type=RunHead)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if head.outcome == "running" and not under_way:
        head.outcome = "incomplete"
    return head


def in_use(path: Path) -> bool:
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(lock)


def prune(root: Path, environ: Mapping[str, str], keep: int) -> None:
    """Remove a few of the oldest runs beyond `keep`, none that is under way."""
    old = list(list_runs(root, environ))[keep:]
    for path in old[::-1][:_AT_ONCE]:
        if not in_use(path):
            remove(path)

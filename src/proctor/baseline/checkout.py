"""A commit's files in a directory of their own: a detached worktree below the user's cache.

Whatever happens, the directory and git's entry for it are removed; what a killed run has left, the next one
removes. The user's files, index, branches and settings are not touched.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from proctor import decoding
from proctor.archive.inside import remove
from proctor.history.repository import Repository
from proctor.process.git import Git
from proctor.process.stop import Stop

FOLDER = "baseline"
PREFIX = "proctor-baseline-"  # of the name that git knows a worktree by
_OWNER = "owner.json"  # locked as long as the run lives
_UNFINISHED = ".new"
_ABANDONED = 3600.0  # seconds after which a folder without a lock is nobody's
_SUBMODULE = b"160000 "


class CannotCheckOut(Exception):
    """Why the commit's files are not to be had, to be shown to the user."""


class _Owner(msgspec.Struct):
    """What a later run has to know to remove what this one leaves."""

    common: str  # git's directory of the repository
    tree: str


class Checkout(msgspec.Struct, frozen=True):
    tree: Path  # with the commit's files
    scratch: Path  # for files about them; removed with them
    filtered: frozenset[str] = (
        frozenset()
    )  # files that a filter of git's would have changed, from the tree's top


class Asking(msgspec.Struct, frozen=True):
    """git, in the user's repository, for as long as there is time."""

    repository: Repository
    git: Callable[[str], Git]  # in a directory
    seconds: Callable[[], float]  # that are left
    stop: Stop

    def ask(self, where: str, *arguments: str) -> bytes | None:
        question = self.git(where).begin(*arguments, GIT_NO_LAZY_FETCH="1")
        return None if question is None else question.answer(self.seconds(), self.stop)


@contextmanager
def checked_out(commit: str, cache: Path, asking: Asking) -> Iterator[Checkout]:
    """Raises CannotCheckOut with the reason."""
    base = cache / FOLDER
    remove_leftovers(base)
    top = asking.repository.top
    listed = asking.ask(top, "ls-tree", "-r", "-z", "--full-tree", commit)
    if listed is None:
        raise CannotCheckOut("git could not list the files of that commit")
    submodules = [line.partition(b"\t")[2] for line in listed.split(b"\0") if line.startswith(_SUBMODULE)]
    if submodules:
        raise CannotCheckOut(
            f"that commit has submodules ({os.fsdecode(submodules[0])}), which are not checked out"
        )
    filters = _filters(asking.ask(top, "config", "-z", "--name-only", "--get-regexp", r"^filter\..*\."))
    try:
        folder, lock = _make_folder(base, asking.repository)
    except OSError as error:
        raise CannotCheckOut(f"a directory in {base} could not be made: {error.strerror}") from None
    tree = _tree(folder)
    try:
        _fill(tree, commit, filters, asking)
        yield Checkout(tree, folder, _filtered(tree, filters, asking))
    finally:
        _discard(folder, asking.repository.common)
        os.close(lock)


def _fill(tree: Path, commit: str, filters: list[str], asking: Asking) -> None:
    """In two steps, each of one process: one that is ended leaves none behind that still writes."""
    top = asking.repository.top
    added = asking.ask(top, "worktree", "add", "--quiet", "--detach", "--no-checkout", str(tree), commit)
    if added is None:
        raise CannotCheckOut("git could not add a worktree")
    plain = ["-c", "core.sparseCheckout=false"]
    for name in filters:
        for setting in ("smudge=", "process=", "required=false"):
            plain += ["-c", f"filter.{name}.{setting}"]
    if asking.ask(str(tree), *plain, "read-tree", "--reset", "-u", commit) is None:
        raise CannotCheckOut("git could not check out that commit in the time that was left")


def _filters(answer: bytes | None) -> list[str]:
    names = os.fsdecode(answer or b"").split("\0")
    return list(dict.fromkeys(name.removeprefix("filter.").rpartition(".")[0] for name in names if name))


def _filtered(tree: Path, filters: list[str], asking: Asking) -> frozenset[str]:
    if not filters:
        return frozenset()
    listed = asking.ask(str(tree), "ls-files", "-z", "--", *(f":(attr:filter={name})" for name in filters))
    if listed is None:
        raise CannotCheckOut("git could not tell which files its filters change")
    return frozenset(os.fsdecode(listed).split("\0")) - {""}


def _tree(folder: Path) -> Path:
    return folder / f"{PREFIX}{folder.name}"


def _make_folder(base: Path, repository: Repository) -> tuple[Path, int]:
    """With the lock on it. It has its name only when it is locked, so nobody takes it for a leftover."""
    base.mkdir(parents=True, exist_ok=True)
    base = Path(os.path.realpath(base))
    folder = base / f"{time.time_ns():x}-{os.getpid()}"
    new = folder.with_suffix(_UNFINISHED)
    new.mkdir(mode=0o700)
    lock = os.open(new / _OWNER, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(lock, msgspec.json.encode(_Owner(repository.common, str(_tree(folder)))))
        os.rename(new, folder)
    except OSError:
        os.close(lock)
        remove(str(new))
        raise
    return folder, lock


def remove_leftovers(base: Path) -> None:
    """What runs that were killed have left; never what belongs to a living one."""
    try:
        names = os.listdir(base)
    except OSError:
        return
    for name in names:
        folder = Path(os.path.realpath(base)) / name
        with contextlib.suppress(OSError):
            if not name.endswith(_UNFINISHED) and (folder / _OWNER).exists():
                _remove_leftover(folder)
            elif time.time() - folder.stat().st_mtime > _ABANDONED:
                remove(str(folder))


def _remove_leftover(folder: Path) -> None:
    lock = os.open(folder / _OWNER, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with contextlib.suppress(msgspec.DecodeError):
            owner = decoding.decode(os.read(lock, 1 << 16), _Owner)
            if owner.tree == str(_tree(folder)):
                _discard(folder, owner.common)
    finally:
        os.close(lock)


def _discard(folder: Path, common: str) -> None:
    """git's entry first: if we are ended here, what is left still says that it is ours."""
    tree = _tree(folder)
    entry = os.path.join(common, "worktrees", tree.name)
    if _is_of(entry, tree):
        remove(entry)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(entry))  # as git does with the last of them
    remove(str(tree))
    remove(str(folder))


def _is_of(entry: str, tree: Path) -> bool:
    """Whether git's entry is that of this worktree, or one that git was killed in making."""
    try:
        with open(os.path.join(entry, "gitdir"), encoding="utf-8", errors="surrogateescape") as file:
            named = os.path.join(entry, file.read().strip())
    except FileNotFoundError:
        return os.path.isdir(entry)
    except OSError:
        return False
    return os.path.dirname(os.path.realpath(named)) == os.path.realpath(tree)

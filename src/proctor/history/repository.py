"""Which project a directory belongs to, and the branch that a branch was created from. Reads files; starts
nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from proctor.history.digest import blake2b

_SMALL = 1 << 16  # bytes of the files that are read
_CREATED = re.compile(r"branch: Created from (\S+)\s*\Z")
_MOVED = re.compile(r"checkout: moving from (\S+) to (\S+)\s*\Z")
_COMMIT = re.compile(r"[0-9a-f]{7,64}\Z")
_USUAL = ("main", "master", "trunk", "develop")  # default branches, where nothing names one


class Repository(msgspec.Struct, frozen=True):
    """The git repository around a directory. All worktrees of it have `common` in common."""

    top: str  # of this worktree
    directory: str  # of git, for this worktree
    common: str

    def branches(self, name: str) -> Iterator[str]:
        """Contents of a file about this name in git's directories, this worktree's first."""
        for base in dict.fromkeys((self.directory, self.common)):
            if text := _read(os.path.join(base, name)):
                yield text


def repository(root: Path) -> Repository | None:
    """As `git rev-parse` finds it, without a process; None where there is none."""
    for top in (root, *root.parents):
        found = os.path.join(top, ".git")
        if os.path.isdir(found):
            if os.path.exists(os.path.join(found, "HEAD")):
                return Repository(str(top), found, found)
        elif os.path.lexists(found):
            return _linked(str(top), found)
    return None


def _linked(top: str, file: str) -> Repository | None:
    """Of a worktree or a submodule, whose `.git` is a file that names a directory."""
    text = _read(file)
    if not text.startswith("gitdir:"):
        return None
    directory = os.path.normpath(os.path.join(top, text.removeprefix("gitdir:").strip()))
    if not os.path.exists(os.path.join(directory, "HEAD")):
        return None
    shared = _read(os.path.join(directory, "commondir")).strip()
    if not shared:
        return Repository(top, directory, directory)
    # Whose worktree this is, its repository says too: a file alone could claim any.
    back = _read(os.path.join(directory, "gitdir")).strip()
    if os.path.realpath(os.path.join(directory, back)) != os.path.realpath(file):
        return Repository(top, directory, directory)
    return Repository(top, directory, os.path.normpath(os.path.join(directory, shared)))


def name_of(root: Path, found: Repository | None) -> str:
    """The name of the project's store: all worktrees of a repository have the same one."""
    place = os.path.realpath(found.common if found else root)
    named = os.path.basename(os.path.dirname(place) if os.path.basename(place) == ".git" else place)
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", named).strip("-.")[:40] or "project"
    return f"{readable}-{blake2b(os.fsencode(place), digest_size=8).hexdigest()}"


def created_from(branch: str, found: Repository) -> str:
    """The branch that a branch was created from: by git's own log, else the default branch; or empty."""
    default = default_branch(found)
    if not branch:
        return default
    log = next(found.branches(os.path.join("logs", "refs", "heads", branch)), "")
    first = log.partition("\n")[0]
    created = _CREATED.search(first)
    if created:
        start = first.split(" ", 2)[1]
        parent = _local(created[1], found)
        if not parent and created[1] == "HEAD":
            parent = _left(branch, start, found)
        if parent and parent != branch:
            return parent
    return default if default != branch else ""


def _local(name: str, found: Repository) -> str:
    """The local name of a branch; empty for a commit, a tag or HEAD."""
    name = name.removeprefix("refs/heads/").removeprefix("refs/remotes/").removeprefix("remotes/")
    if name == "HEAD" or _COMMIT.match(name):
        return ""
    for remote in _names(found, os.path.join("refs", "remotes")):
        if name.startswith(f"{remote}/"):
            return name.removeprefix(f"{remote}/")
    return name if _exists(name, found) else ""


def _left(branch: str, start: str, found: Repository) -> str:
    """The branch that was left when this one was created, at this commit."""
    for log in found.branches(os.path.join("logs", "HEAD")):
        for line in log.splitlines():
            moved = _MOVED.search(line)
            if moved and moved[2] == branch and start in line.split(" ", 2)[1]:
                return "" if _COMMIT.match(moved[1]) else moved[1]
    return ""


def default_branch(found: Repository) -> str:
    for remote in _names(found, os.path.join("refs", "remotes")):
        head = next(found.branches(os.path.join("refs", "remotes", remote, "HEAD")), "").strip()
        prefix = f"ref: refs/remotes/{remote}/"
        if head.startswith(prefix):
            return head.removeprefix(prefix)
    return next((name for name in _USUAL if _exists(name, found)), "")


def _exists(branch: str, found: Repository) -> bool:
    if os.path.exists(os.path.join(found.common, "refs", "heads", branch)):
        return True
    packed = _read(os.path.join(found.common, "packed-refs"), 1 << 22)
    return re.search(rf" refs/heads/{re.escape(branch)}$", packed, re.M) is not None


def _names(found: Repository, folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(os.path.join(found.common, folder)))
    except OSError:
        return []
    return sorted(names, key=lambda name: name != "origin")


def _read(path: str, most: int = _SMALL) -> str:
    """Empty for what cannot be read, and for what is no file."""
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(most))
    except OSError:
        return ""

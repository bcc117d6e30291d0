"""Which project a directory belongs to, and what is checked out there. Reads files; starts nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from proctor.digest import blake2b

_SMALL = 1 << 16  # bytes of most files that are read
_LONG = 1 << 23  # bytes of logs and lists of references
_COMMIT = r"[0-9a-f]{40}([0-9a-f]{24})?\Z"
_USUAL = ("main", "master", "trunk", "develop")  # default branches, where nothing names one
_WORKTREE = r"(?m)^\s*worktree\s*=\s*(.+?)\s*$"


class Repository(msgspec.Struct, frozen=True):
    """The git repository around a directory. All worktrees of it have `common` in common."""

    top: str  # of this worktree
    directory: str  # of git, for this worktree
    common: str
    proven: bool = True  # it says itself that this worktree is one of its own

    def branches(self, name: str, most: int = _SMALL) -> Iterator[str]:
        """Contents of the files with this name in git's directories, this worktree's first."""
        for base in dict.fromkeys((self.directory, self.common)):
            if text := read(os.path.join(base, name), most):
                yield text

    def log(self, name: str) -> list[str]:
        """What happened to a reference, the oldest first; the lines of git's own log."""
        return next(self.branches(os.path.join("logs", name), _LONG), "").splitlines()

    def head(self) -> tuple[str, str]:
        """The branch and the commit that are checked out; empty where nobody knows."""
        text = read(os.path.join(self.directory, "HEAD")).strip()
        if not text.startswith("ref: "):
            return "", text if re.match(_COMMIT, text) else ""
        name = text.removeprefix("ref: ").strip()
        if not name.startswith("refs/heads/") or name.endswith("/.invalid"):  # of another format of git's
            return "", ""
        return name.removeprefix("refs/heads/"), self._commit_of(name)

    def _commit_of(self, reference: str) -> str:
        text = next(self.branches(reference), "").strip()
        if not text:
            found = re.search(rf"^([0-9a-f]+) {re.escape(reference)}$", self._packed(), re.M)
            text = found[1] if found else ""
        return text if re.match(_COMMIT, text) else ""

    def has(self, reference: str) -> bool:
        if os.path.isfile(os.path.join(self.common, reference)):
            return True
        return re.search(rf" {re.escape(reference)}$", self._packed(), re.M) is not None

    def _packed(self) -> str:
        return read(os.path.join(self.common, "packed-refs"), _LONG)

    def remotes(self) -> list[str]:
        """Their names; that of the usual one comes first."""
        packed = re.findall(r" refs/remotes/([^/\n]+)/", self._packed())
        names = {*_names(os.path.join(self.common, "refs", "remotes")), *packed}
        return sorted(names, key=lambda name: (name != "origin", name))

    def worktrees(self) -> list[Repository]:
        """All of them; where another one lies is not looked up."""
        folder = os.path.join(self.common, "worktrees")
        directories = [self.common, *(os.path.join(folder, name) for name in sorted(_names(folder)))]
        return [Repository("", directory, self.common) for directory in directories]


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
    text = read(file)
    if not text.startswith("gitdir:"):
        return None
    directory = os.path.normpath(os.path.join(top, text.removeprefix("gitdir:").strip()))
    if not os.path.exists(os.path.join(directory, "HEAD")):
        return None
    # Whose worktree this is, its repository says too: a file alone could claim any.
    shared = read(os.path.join(directory, "commondir")).strip()
    if shared:
        back = os.path.join(directory, read(os.path.join(directory, "gitdir")).strip())
        common = os.path.normpath(os.path.join(directory, shared))
        return Repository(top, directory, common, _is_same(back, file))
    named = re.search(_WORKTREE, read(os.path.join(directory, "config")))
    proven = named is not None and _is_same(os.path.join(directory, named[1]), top)
    return Repository(top, directory, directory, proven)


def _is_same(path: str, other: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def name_of(root: Path, found: Repository | None) -> str:
    """The name of the project's store: all worktrees of a repository have the same one. Where a directory
    only claims to belong to a repository, it has a store of its own."""
    place = os.path.realpath(root if found is None else found.common if found.proven else found.top)
    named = os.path.basename(os.path.dirname(place) if os.path.basename(place) == ".git" else place)
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", named).strip("-.")[:40] or "project"
    return f"{readable}-{blake2b(os.fsencode(place), digest_size=8).hexdigest()}"


def default_branch(found: Repository) -> str:
    """As the remote says, else one with a usual name; or empty."""
    for remote in found.remotes():
        head = next(found.branches(f"refs/remotes/{remote}/HEAD"), "").strip()
        prefix = f"ref: refs/remotes/{remote}/"
        if head.startswith(prefix):
            return head.removeprefix(prefix)
    return next((name for name in _USUAL if found.has(f"refs/heads/{name}")), "")


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def read(path: str, most: int = _SMALL) -> str:
    """Empty for what cannot be read, and for what is no file. Of a long one, its end."""
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most))
            return os.fsdecode(file.read(most))
    except OSError:
        return ""

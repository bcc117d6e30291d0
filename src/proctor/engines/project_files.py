"""Which files a project has, and a hash of their contents. Nothing here writes, and no link is followed.

In a repository, they are the files that git tracks, and those that it neither tracks nor ignores. Elsewhere,
all files below the project but those of caches and environments.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import msgspec

from proctor.digest import blake2b
from proctor.errors import LaunchError
from proctor.history.repository import repository
from proctor.history.tree import is_written_by_tools
from proctor.process.git import Git

_GIT_SECONDS = 60.0
_LIST = ("ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard")
_UNTRACKED = "?"  # how such a line begins
#: Directories that are never sent from a project without git: versions, caches, environments.
_LEFT_OUT = frozenset(
    (".git", ".hg", ".svn", ".jj", ".mypy_cache", ".ruff_cache", ".tox", ".nox", "node_modules")
)
#: A directory with one of these is an environment, or says itself that it is a cache.
_MARKS = frozenset(("pyvenv.cfg", "CACHEDIR.TAG"))
_SETTLED = 2_000_000_000  # nanoseconds after which a change of a file has another time than the one before
_PIECE = 1 << 20


class Files(msgspec.Struct, frozen=True):
    """The files of a project, which may itself be a folder of them: `inside`, seen from `top`."""

    top: str
    inside: str = ""
    paths: tuple[str, ...] = ()  # seen from `top`, in the order of their bytes; some may be gone

    def found(self) -> Iterator[tuple[str, os.stat_result]]:
        """Those that are there, with what the system says of them: regular files and links."""
        folders: dict[str, bool] = {"": True}
        for path in self.paths:
            if not _is_inside(os.path.dirname(path), self.top, folders):
                continue
            try:
                about = os.lstat(os.path.join(self.top, path))
            except (FileNotFoundError, NotADirectoryError):
                continue  # deleted, and git still knows it
            if stat.S_ISREG(about.st_mode) or stat.S_ISLNK(about.st_mode):
                yield path, about


def _is_inside(folder: str, top: str, known: dict[str, bool]) -> bool:
    """Whether no part of the path is a link: git lists files of a directory that has become one."""
    if folder not in known:
        above = _is_inside(os.path.dirname(folder), top, known)
        known[folder] = above and not os.path.islink(os.path.join(top, folder))
    return known[folder]


def project_files(root: Path, environ: Mapping[str, str]) -> Files:
    """Raises LaunchError if git cannot list them."""
    found = repository(root)
    if found is not None:
        inside = os.path.relpath(root, found.top)
        inside = "" if inside == os.curdir else inside
        listed = _listed(found.top, "", environ)
        # A project that a repository around it knows nothing of has files of its own.
        if not inside or any(path.startswith(f"{inside}/") for path in listed):
            return Files(found.top, inside, _sorted(listed))
    return Files(str(root), "", _sorted(_walked(str(root))))


def _sorted(paths: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(set(paths), key=os.fsencode))


def _listed(top: str, folder: str, environ: Mapping[str, str]) -> list[str]:
    """As git says. What is a repository itself, a submodule for one, git names and does not look into."""
    question = Git(os.path.join(top, folder), environ).begin(*_LIST)
    answer = question.answer(_GIT_SECONDS) if question is not None else None
    if answer is None:
        raise LaunchError(f"git could not list the files of {os.path.join(top, folder)}")
    paths: list[str] = []
    for line in filter(None, os.fsdecode(answer).split("\0")):
        word, _, name = line.partition(" ")
        path = os.path.join(folder, name.rstrip("/"))
        if not _is_folder(os.path.join(top, path)):
            paths += [] if word == _UNTRACKED and is_written_by_tools(path) else [path]
        elif repository(Path(top, path)) != repository(Path(top, folder)):
            paths += _listed(top, path, environ)
    return paths


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _walked(top: str) -> list[str]:
    return [path for path in walk(top, _LEFT_OUT, _MARKS) if not is_written_by_tools(path)]


def walk(
    top: str, left_out: Collection[str] = (), marks: Collection[str] = frozenset(), folder: str = ""
) -> Iterator[str]:
    """All files, seen from `top`, but those of directories that have one of the names or of the marks."""
    try:
        entries = list(os.scandir(os.path.join(top, folder)))
    except OSError as error:
        raise LaunchError(f"{error.filename} cannot be read: {error.strerror}") from None
    if folder and any(entry.name in marks for entry in entries):
        return
    for entry in entries:
        path = os.path.join(folder, entry.name)
        if not entry.is_dir(follow_symlinks=False):
            yield path
        elif entry.name not in left_out:
            yield from walk(top, left_out, marks, path)


_known: dict[str, tuple[bytes, str]] = {}  # what the files of a directory looked like, and their hash


def tree_of(files: Files) -> str:
    """A hash of the names, contents and kinds of all files. Files that look as they did before are not read
    again: many shards ask for the same."""
    now, looks, newest = time.time_ns(), blake2b(files.inside.encode("utf-8", "surrogateescape")), 0
    for path, about in files.found():
        seen = (about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
        looks.update(os.fsencode(path) + repr(seen).encode())
        newest = max(newest, about.st_mtime_ns, about.st_ctime_ns)
    before, tree = _known.get(files.top, (b"", ""))
    if before != looks.digest():
        tree = _hashed(files)
        if newest + _SETTLED < now:
            _known[files.top] = looks.digest(), tree
    return tree


def _hashed(files: Files) -> str:
    digest = blake2b(os.fsencode(files.inside) + b"\0", digest_size=20)
    for path, about in files.found():
        content = blake2b(digest_size=32)
        for piece in contents(os.path.join(files.top, path), about):
            content.update(piece)
        digest.update(os.fsencode(path) + b"\0" + kind(about) + content.digest())
    return digest.hexdigest()


def kind(about: os.stat_result) -> bytes:
    """What git knows of a file's mode: whether it is a link, and whether it can be executed."""
    if stat.S_ISLNK(about.st_mode):
        return b"l"
    return b"x" if about.st_mode & stat.S_IXUSR else b"f"


def contents(path: str, about: os.stat_result) -> Iterator[bytes]:
    """Of a link, where it leads. Raises LaunchError for what cannot be read."""
    try:
        if stat.S_ISLNK(about.st_mode):
            yield os.fsencode(os.readlink(path))
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            while piece := file.read(_PIECE):
                yield piece
    except OSError as error:
        raise LaunchError(f"{path} cannot be read: {error.strerror}") from None

"""The state of a project's files: which commit, and what is changed since. Cheap enough for every run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import msgspec

from proctor.history.digest import blake2b
from proctor.history.repository import Repository, created_from
from proctor.process.git import Git, Question

#: What test tools write beside the tests: it changes with every run, and no test is written in it.
_WRITTEN = ("__pycache__", ".pytest_cache", ".hypothesis", ".proctor")
_WRITTEN_FILES = (".coverage",)
_STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames")


class Checkout(msgspec.Struct, frozen=True):
    """What was checked out when a run began."""

    commit: str = ""  # empty before the first
    branch: str = ""  # empty where HEAD names none
    created_from: str = ""  # the branch that this one was created from
    dirty: bool = False
    state: str = ""  # equal where all files are; empty: nobody knows


class Status:
    """git's answer about the files of a repository, which it gives while other things go on."""

    def __init__(self, git: Git, found: Repository) -> None:
        self._git, self._found = git, found
        self._question: Question | None = git.begin(*_STATUS)

    def checkout(self) -> Checkout:
        """As it was at the beginning. To be called once."""
        question, self._question = self._question, None
        return self._read(None if question is None else question.answer())

    def close(self) -> None:
        """Ends git where nobody needed its answer."""
        if self._question is not None:
            self._question.answer(0.0)
            self._question = None

    def again(self) -> Checkout:
        """As it is now."""
        return self._read(self._git.ask(*_STATUS))

    def _read(self, answer: bytes | None) -> Checkout:
        if answer is None:
            return Checkout()
        commit, branch = "", ""
        lines = []
        for line in os.fsdecode(answer).split("\0"):
            if line.startswith("# branch.oid "):
                commit = line.removeprefix("# branch.oid ").replace("(initial)", "")
            elif line.startswith("# branch.head "):
                branch = line.removeprefix("# branch.head ").replace("(detached)", "")
            elif line and not line.startswith("#"):
                lines.append(line)
        changed = list(_changed(lines))
        parent = created_from(branch, self._found)
        return Checkout(commit, branch, parent, bool(changed), self._state(commit, changed))

    def _state(self, commit: str, changed: Sequence[str]) -> str:
        digest = blake2b(commit.encode(), digest_size=16)
        for path in sorted(changed):
            if path.endswith("\0submodule"):
                return ""  # what is changed in it, this repository does not say
            digest.update(b"\0" + os.fsencode(path))
            try:
                found = os.lstat(os.path.join(self._found.top, path))
                digest.update(f" {found.st_mode} {found.st_size} {found.st_mtime_ns}".encode())
            except OSError:
                digest.update(b" gone")
        return digest.hexdigest()


def _changed(lines: Sequence[str]) -> Iterator[str]:
    """Paths of files that are not as in the last commit."""
    for line in lines:
        if line.startswith("? "):
            path = line[2:]
            if not _is_written_by_tools(path):
                yield path
        elif line.startswith("1 "):
            fields = line.split(" ", 8)
            yield fields[8] + ("\0submodule" if fields[2].startswith("S") else "")
        elif line.startswith("u "):
            yield line.split(" ", 10)[10]


def _is_written_by_tools(path: str) -> bool:
    *folders, name = path.split("/")
    return (
        any(folder in _WRITTEN for folder in folders)
        or name.endswith(".pyc")
        or name.startswith(_WRITTEN_FILES)
    )


def tree_of(checkout: Checkout, git: Git, found: Repository) -> str:
    """The hash that git would give to all files as they are; empty if it cannot say. Writes nothing that
    stays: objects and index are in a directory of their own."""
    if not checkout.dirty:
        return git.line("rev-parse", "--verify", "--quiet", f"{checkout.commit}^{{tree}}")
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="proctor-") as scratch:
        index, objects = os.path.join(scratch, "index"), os.path.join(scratch, "objects")
        os.mkdir(objects)
        try:
            shutil.copyfile(os.path.join(found.directory, "index"), index)
        except OSError:
            pass  # nothing is in it yet
        variables = {
            "GIT_INDEX_FILE": index,
            "GIT_OBJECT_DIRECTORY": objects,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.path.join(found.common, "objects"),
        }
        top = ":/"
        unwanted = [f":(top,exclude,glob)**/{name}/**" for name in _WRITTEN]
        unwanted += [f":(top,exclude,glob)**/{name}*" for name in _WRITTEN_FILES]
        added = git.ask("add", "--all", "--", top, ":(top,exclude,glob)**/*.pyc", *unwanted, **variables)
        return git.line("write-tree", **variables) if added is not None else ""


def trees_of(commits: Sequence[str], git: Git) -> dict[str, str]:
    """The tree of each commit that is still there."""
    if not commits:
        return {}
    answer = git.ask("log", "--no-walk=unsorted", "--ignore-missing", "--format=%H %T", *commits)
    lines = os.fsdecode(answer or b"").splitlines()
    return {commit: tree for commit, _, tree in (line.partition(" ") for line in lines)}

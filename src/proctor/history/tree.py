"""The state of a project's files: which commit, and what is changed since. Cheap enough for every run."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from proctor.digest import blake2b
from proctor.history.lineage import Lineage, lineage
from proctor.history.repository import Repository
from proctor.process.git import Git, Question

#: What test tools write beside the tests: it changes with every run, and no test is written in it.
_WRITTEN = ("__pycache__", ".pytest_cache", ".hypothesis", ".proctor")
_STATUS = (
    *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all"),
    *("--no-renames", "--ignore-submodules=none"),
)
_MOST_STATED = 5000  # changed files: of more, looking at each would cost too much
_MOST_HASHED, _MOST_BYTES = 2000, 50_000_000  # likewise, where their contents are read
_WAIT = 2.0  # seconds that the end of a run waits for git
_ARGUMENTS = 400_000  # bytes of paths that a command line takes everywhere
_HIDDEN = b"hmrcksS"  # flags of files in which git does not look for changes


class Checkout(msgspec.Struct, frozen=True):
    """What was checked out when a run began."""

    commit: str = ""  # empty before the first
    branch: str = ""  # empty where HEAD names none
    line: Lineage = Lineage()  # of the branch
    dirty: bool = False
    state: str = ""  # equal where all files are; empty: nobody knows
    versioned: bool = True  # in a repository; otherwise only time puts the runs in order


class Files(Protocol):
    """The files of a project, and the commits of its repository."""

    def checkout(self) -> Checkout:
        """As they were when the run began."""

    def settled(self, compared: bool) -> Checkout:
        """The same, as far as it is true of the whole run. The tests have ended; `compared`: it decides which
        word a failure gets."""

    def tree(self) -> str:
        """Git's hash of all files, as they are; empty if it cannot say."""

    def trees(self, commits: Sequence[str]) -> dict[str, str]:
        """The tree of each commit that is still there."""

    def contained(self, commits: Sequence[str]) -> Collection[str]:
        """Those of the commits that the commit of the checkout is, or comes after."""

    def close(self) -> None: ...


class NoRepository:
    """Files of which nobody knows what is changed."""

    def checkout(self) -> Checkout:
        return Checkout(versioned=False)

    def settled(self, compared: bool) -> Checkout:
        del compared
        return self.checkout()

    def tree(self) -> str:
        return ""

    def trees(self, commits: Sequence[str]) -> dict[str, str]:
        del commits
        return {}

    def contained(self, commits: Sequence[str]) -> Collection[str]:
        del commits
        return ()

    def close(self) -> None:
        pass


class _Seen(msgspec.Struct, frozen=True):
    """What git says, and what the changed files are like: mode, size and time of change; None: gone."""

    branch: str
    commit: str
    files: Mapping[str, tuple[int, int, int] | None]
    known: bool = True  # all that is changed is in `files`
    by_git: bool = True

    def state(self) -> str:
        if not self.known:
            return ""
        digest = blake2b(self.commit.encode(), digest_size=16)
        for path, about in sorted(self.files.items()):
            digest.update(b"\0" + os.fsencode(path) + b"\0" + repr(about).encode())
        return digest.hexdigest()


class GitFiles:
    """Files in a repository. Git looks at them while the tests start, and nobody waits for it."""

    def __init__(self, git: Git, found: Repository) -> None:
        self._git, self._found = git, found
        self._first: _Seen | None = None
        self._checkout: Checkout | None = None
        question = git.begin(*_STATUS)
        self._looking: _Looking | None = None
        if question is not None:
            self._looking = _Looking(question, self)

    def close(self) -> None:
        if self._looking is not None:
            self._looking.end()

    def look(self, answer: bytes | None) -> _Seen:
        """What git's answer says, and the files themselves. Without an answer, what can be read in files."""
        if answer is not None:
            return _seen(answer, self._found)
        return _Seen(*self._found.head(), {}, known=False, by_git=False)

    def checkout(self) -> Checkout:
        if self._checkout is None:
            self._first = (self._looking and self._looking.seen(_WAIT)) or self.look(None)
            branch, commit = self._first.branch, self._first.commit
            line = lineage(branch, self._found)
            self._checkout = Checkout(commit, branch, line, bool(self._first.files), self._first.state())
        return self._checkout

    def settled(self, compared: bool) -> Checkout:
        checkout = self.checkout()
        first = self._first
        if first is None or not checkout.commit + checkout.branch:
            return checkout
        now = self.look(self._git.ask(*_STATUS) if first.by_git else None)
        if now.branch != first.branch or (not first.branch and now.commit != first.commit):
            self._checkout = Checkout()  # part of the tests ran on one branch and part on another
        elif now.state() != checkout.state or (compared and self._has_hidden()):
            self._checkout = msgspec.structs.replace(checkout, state="")
        return self._checkout or checkout

    def _has_hidden(self) -> bool:
        """Whether there are files in which git does not look for changes, because somebody said so."""
        listed = self._git.ask("-C", self._found.top, "ls-files", "-v", "-z")
        if listed is None:
            return True
        entries = (line for line in listed.split(b"\0") if line[:1] in _HIDDEN and line[1:2] == b" ")
        return any(os.path.lexists(os.path.join(os.fsencode(self._found.top), one[2:])) for one in entries)

    def tree(self, leaves_out: Callable[[str], bool] = lambda _: False) -> str:
        """`leaves_out`: whether a changed file, by its path, counts as it is in the commit.

        Writes nothing that stays: objects and index are in a directory of their own.
        """
        checkout = self.checkout()
        if self._first is None or not checkout.state:
            return ""
        top = self._found.top
        changed = {
            path: about
            for path, about in self._first.files.items()
            if not leaves_out(os.path.join(top, path))
        }
        if not changed:
            return self._git.line("rev-parse", "--verify", "--quiet", f"{checkout.commit}^{{tree}}")
        sizes = [about[1] for about in changed.values() if about]
        paths = sorted(changed)
        too_long = sum(len(os.fsencode(path)) + 1 for path in paths) > _ARGUMENTS
        if len(paths) > _MOST_HASHED or sum(sizes) > _MOST_BYTES or too_long:
            return ""
        return _hashed(paths, self._git, self._found)

    def trees(self, commits: Sequence[str]) -> dict[str, str]:
        return trees_of(commits, self._git)

    def contained(self, commits: Sequence[str]) -> Collection[str]:
        head = self.checkout().commit
        others = [commit for commit in commits if commit and commit != head]
        if not head or not others:
            return {head} - {""}
        there = list(trees_of(others, self._git))
        answer = self._git.ask("rev-list", *there, f"^{head}") if there else b""
        if answer is None:
            return {head}
        return {head, *there} - set(os.fsdecode(answer).split())


class _Looking:
    """Takes git's answer when it comes, and looks at the files that it names: later they may be others."""

    def __init__(self, question: Question, files: GitFiles) -> None:
        from threading import Thread  # projects without git need none

        self._question, self._files = question, files
        self._seen: _Seen | None = None
        self._thread = Thread(target=self._look, name="proctor-files", daemon=True)
        self._thread.start()

    def _look(self) -> None:
        self._seen = self._files.look(self._question.answer())

    def seen(self, seconds: float) -> _Seen | None:
        """None if that takes longer."""
        self._thread.join(seconds)
        return self._seen

    def end(self) -> None:
        """Ends git, if nobody has needed its answer."""
        self._question.stop()
        self._thread.join()


def _seen(answer: bytes, found: Repository) -> _Seen:
    commit, branch, known = "", "", True
    files: dict[str, tuple[int, int, int] | None] = {}
    for line in os.fsdecode(answer).split("\0"):
        if line.startswith("# branch.oid "):
            commit = line.removeprefix("# branch.oid ").replace("(initial)", "")
        elif line.startswith("# branch.head "):
            branch = line.removeprefix("# branch.head ").replace("(detached)", "")
        elif line and not line.startswith("#"):
            path, is_file = _changed(line)
            known = known and is_file and len(files) < _MOST_STATED
            if path and known:
                files[path] = _about(os.path.join(found.top, path))
            elif path:
                files.setdefault(path, None)  # there is a change, and more is not known
    return _Seen(branch, commit, files, known)


def _changed(line: str) -> tuple[str, bool]:
    """The path of something that is not as in the last commit, and whether it is a file: what is changed in
    another repository below this one, git does not say. Empty for what does not matter."""
    if line.startswith("? "):
        path = line[2:]
        return ("", True) if is_written_by_tools(path) else (path, not path.endswith("/"))
    if line.startswith("u "):
        fields = line.split(" ", 10)
        return fields[10], fields[2].startswith("N")
    fields = line.split(" ", 8)
    return fields[8], fields[2].startswith("N")


def _about(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mode, found.st_size, found.st_mtime_ns


def is_written_by_tools(path: str) -> bool:
    *folders, name = path.split("/")
    is_coverage = name == ".coverage" or name.startswith(".coverage.")
    return any(folder in _WRITTEN for folder in folders) or name.endswith(".pyc") or is_coverage


def _hashed(paths: Sequence[str], git: Git, found: Repository) -> str:
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="proctor-") as scratch:
        index, objects = os.path.join(scratch, "index"), os.path.join(scratch, "objects")
        os.mkdir(objects)
        try:
            # With its time: files of the same second, or younger ones, git compares by their contents.
            shutil.copy2(os.path.join(found.directory, "index"), index)
        except FileNotFoundError:
            pass  # nothing is in it yet
        except OSError:
            return ""
        # Without the objects of the repository: git would set the times of those that are there already.
        variables = {"GIT_INDEX_FILE": index, "GIT_OBJECT_DIRECTORY": objects}
        options = [*_plain(git), "-C", found.top]
        update = ("update-index", "--add", "--remove", "--replace", "--")
        if git.ask(*options, *update, *paths, **variables) is None:
            return ""
        return git.line(*options, "write-tree", "--missing-ok", **variables)


def _plain(git: Git) -> Iterator[str]:
    """Options with which git takes the contents of files as they are: a filter of the project's may be slow,
    may write files, and may need a network."""
    yield from ("-c", "core.compression=0", "-c", "core.splitIndex=false", "-c", "core.fsync=none")
    listed = git.ask("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|required)$")
    names = {name.rpartition(".")[0] for name in os.fsdecode(listed or b"").split("\0") if name}
    for name in sorted(names):
        yield from ("-c", f"{name}.clean=", "-c", f"{name}.process=", "-c", f"{name}.required=false")


def trees_of(commits: Sequence[str], git: Git) -> dict[str, str]:
    """The tree of each commit that is still there."""
    if not commits:
        return {}
    answer = git.ask("rev-list", "--no-walk=unsorted", "--ignore-missing", "--format=%H %T", *commits)
    lines = os.fsdecode(answer or b"").splitlines()
    pairs = (line.partition(" ") for line in lines if not line.startswith("commit "))
    return {commit: tree for commit, _, tree in pairs}

"""Where a branch comes from, by git's own logs: since when it has its name, and what it was created from.

Reads files; starts nothing. What the logs do not say, nobody guesses: without them the default branch is the
one before, and of that only results count whose commits this branch has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from proctor.history.repository import Repository, default_branch

# As texts, which are compiled when a repository has logs: many projects have none.
_LINE = r"([0-9a-f]+) ([0-9a-f]+) .*?> ?(\d+) [-+]\d{4}(?:\t(.*))?\Z"
_STARTED = r"branch: (?:Created from|(Reset) to) (\S+)\s*\Z"
_RENAMED = r"Branch: renamed refs/heads/(\S+) to refs/heads/(\S+)\s*\Z"
_MOVED = r"checkout: moving from (\S+) to (\S+)\s*\Z"
_HASH = r"[0-9a-f]{7,64}\Z"


class Lineage(msgspec.Struct, frozen=True):
    """Whose results count on a branch. Times are RFC 3339, UTC, as runs have them."""

    since: str = ""  # what is older is of another branch with this name; empty: nobody knows
    formerly: tuple[tuple[str, str], ...] = ()  # earlier names of it, and until when it had each
    parent: str = ""  # the branch that it was created from, or else the default branch; or empty
    certain: bool = False  # that it was created from `parent`; otherwise commits decide what counts


class _Logged(msgspec.Struct, frozen=True):
    """A line of a log."""

    commit: str  # after it
    seconds: int
    what: str

    @property
    def at(self) -> str:
        return datetime.fromtimestamp(self.seconds, UTC).isoformat(timespec="milliseconds")


def lineage(branch: str, found: Repository) -> Lineage:
    """Of the branch that is checked out; empty for none."""
    default = default_branch(found)
    if not branch:
        return Lineage(parent=default)
    start, parent = None, ""
    log = list(_logged(found.log(f"refs/heads/{branch}")))
    renamed = ((line, re.match(_RENAMED, line.what)) for line in log)
    names = {branch: "", **{old[1]: _just_after(line) for line, old in renamed if old}}
    for line in log:
        if began := re.match(_STARTED, line.what):
            origin = _origin(began[2], line, names, found)
            if origin in names:  # fetched: the same branch on another machine, which may be older
                continue
            if began[1] and not origin:
                continue  # it went back to a commit of its own
            start, parent = line, origin
    names.pop(branch)
    certain = bool(parent)
    if not parent and default != branch:
        parent = default
    return Lineage(start.at if start else "", tuple(names.items()), parent, certain)


def _just_after(line: _Logged) -> str:
    return msgspec.structs.replace(line, seconds=line.seconds + 1).at


def _logged(lines: Sequence[str]) -> Iterator[_Logged]:
    for line in lines:
        if found := re.match(_LINE, line):
            yield _Logged(found[2], min(int(found[3]), 1 << 37), found[4] or "")


def _origin(name: str, line: _Logged, names: dict[str, str], found: Repository) -> str:
    """The local name of the branch that something was created from; empty for a commit or a tag."""
    if name == "HEAD":
        return _left(line, names, found)
    short = name.removeprefix("refs/heads/").removeprefix("refs/remotes/").removeprefix("remotes/")
    if found.has(f"refs/heads/{short}"):
        return short
    for remote in found.remotes():
        if short.startswith(f"{remote}/"):
            return short.removeprefix(f"{remote}/")
    return ""


def _left(line: _Logged, names: dict[str, str], found: Repository) -> str:
    """The branch that was checked out when another was created from HEAD: the one that was left for it, or
    else the only one that any worktree had at this commit then."""
    present: set[str] = set()
    for worktree in found.worktrees():
        log = list(_logged(worktree.log("HEAD")))
        for one in log:
            moved = re.match(_MOVED, one.what)
            at_once = line.seconds <= one.seconds <= line.seconds + 1
            if moved and moved[2] in names and at_once and one.commit == line.commit:
                return _branch(moved[1])
        present |= _present(line, log, worktree)
    present -= {"", *names}
    return present.pop() if len(present) == 1 else ""


def _present(line: _Logged, log: Sequence[_Logged], worktree: Repository) -> set[str]:
    """Branches that a worktree had in that second, if it was at the same commit then."""
    before = [one for one in log if one.seconds < line.seconds]
    then = [one for one in log if one.seconds == line.seconds]
    if line.commit not in {one.commit for one in (*before[-1:], *then)}:
        return set()
    moves = [(one.seconds, moved) for one in log if (moved := re.match(_MOVED, one.what))]
    first = moves[0][1][1] if moves else worktree.head()[0]
    arrived = [first, *(moved[2] for seconds, moved in moves if seconds < line.seconds)]
    meanwhile = [moved[2] for seconds, moved in moves if seconds == line.seconds]
    return {_branch(name) for name in (arrived[-1], *meanwhile)}


def _branch(name: str) -> str:
    """Empty for a commit, as the log has one where no branch was checked out."""
    return "" if re.match(_HASH, name) or name == "HEAD" else name

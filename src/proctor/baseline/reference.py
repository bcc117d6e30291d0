"""Which commit the failures of a run are compared with. Asks git; changes nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from proctor.errors import UsageError
from proctor.history.repository import Repository, default_branch, repository
from proctor.process.git import Git

_NO_BRANCH = (
    "no default branch was found (origin/HEAD, main, master, trunk or develop); --baseline=REF names a commit"
)


class Reference(msgspec.Struct, frozen=True):
    """A commit, or the reason why there is none."""

    ref: str
    commit: str = ""
    reason: str = ""


def resolve(wanted: str, root: Path, environ: Mapping[str, str]) -> tuple[Reference, Repository | None]:
    """Raises UsageError for a commit that was named and does not exist. Empty: where this branch began."""
    git, found = Git(str(root), environ), repository(Path(os.path.realpath(root)))
    if wanted:
        return _named(wanted, git, found), found
    if found is None:
        return Reference("", reason=f"{root} is not in a git repository"), None
    head = _commit(git, "HEAD")
    if not head:
        there = git.line("rev-parse", "--git-dir")
        return Reference("", reason="there is no commit yet" if there else "git does not answer here"), found
    return _usual(head, git, found), found


def _named(wanted: str, git: Git, found: Repository | None) -> Reference:
    commit = _commit(git, wanted) if found is not None and not wanted.startswith("-") else ""
    if commit:
        return Reference(wanted, commit)
    if found is None:
        raise UsageError(f"invalid --baseline {wanted!r}: this is not a git repository")
    shallow = " (this clone is shallow: it does not have all commits)" if _is_shallow(git) else ""
    expected = "expected a commit, a branch or a tag, e.g. --baseline=main or --baseline=HEAD~1"
    raise UsageError(f"invalid --baseline {wanted!r}: git knows no such commit{shallow}; {expected}")


def _usual(head: str, git: Git, found: Repository) -> Reference:
    """Where this branch left the default branch; on that commit HEAD if files are changed, else HEAD~1."""
    name = default_branch(found)
    if not name:
        return Reference("", reason=_NO_BRANCH)
    patterns = [f"refs/remotes/origin/{name}"]
    if git.line("symbolic-ref", "--quiet", "--short", "HEAD") != name:
        patterns.append(f"refs/heads/{name}")
    others = git.line("for-each-ref", "--format=%(refname)", *patterns).split()
    base = git.line("merge-base", "HEAD", *others) if others else head
    if not base:
        shallow = "; this clone is shallow: `git fetch --unshallow` gets the rest" if _is_shallow(git) else ""
        return Reference(name, reason=f"HEAD and {name} have no commit in common{shallow}")
    if base != head:
        return Reference(name, base)
    changed = git.ask("status", "--porcelain")
    if changed or changed is None:  # a filter may fail, and then something is out of the ordinary
        return Reference("HEAD", head)
    before = _commit(git, "HEAD~1")
    if before:
        return Reference("HEAD~1", before)
    shallow = "; this clone is shallow" if _is_shallow(git) else ""
    return Reference(
        "HEAD~1", reason=f"nothing is changed since HEAD, and there is no commit before it{shallow}"
    )


def _commit(git: Git, name: str) -> str:
    return git.line("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")


def _is_shallow(git: Git) -> bool:
    return git.line("rev-parse", "--is-shallow-repository") == "true"

"""What a plan was made for: the commit, the files, and what is installed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import msgspec

from proctor.digest import blake2b
from proctor.history.repository import repository
from proctor.history.tree import GitFiles
from proctor.process.git import Git


class Found(msgspec.Struct, frozen=True):
    commit: str = ""
    tree: str = ""  # as of Plan


def checkout(root: Path, environ: Mapping[str, str]) -> Found:
    """Of the repository around the project; nothing is known without one."""
    found = repository(root)
    if found is None:
        return Found()
    with closing(GitFiles(Git(str(root), environ), found)) as files:
        return Found(files.checkout().commit, files.tree())


def fingerprint(installed: Mapping[str, tuple[str, ...]]) -> str:
    """Of interpreters, each with the names and versions of its packages, wherever they are on disk. For
    people, too: `CPython 3.11.7, 48 packages (1a2b3c4d)`."""
    told = []
    for python, *packages in sorted(installed.values()):
        digest = blake2b("\n".join(sorted(packages)).encode(), digest_size=4).hexdigest()
        told.append(f"{python}, {len(packages)} packages ({digest})")
    return "; ".join(told)

"""What a plan was made for: the commit, the files, and what is installed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import msgspec

from proctor.digest import blake2b
from proctor.history.repository import repository
from proctor.history.tree import GitFiles
from proctor.process.git import Git
from proctor.regular_files import read_bytes

_HEAD = 300  # bytes of a file that say whether proctor wrote it


class State(msgspec.Struct, frozen=True):
    commit: str = ""
    tree: str = ""  # as of Plan


def checkout(root: Path, environ: Mapping[str, str]) -> State:
    """The state of the repository that contains the project; empty without one."""
    found = repository(root)
    if found is None:
        return State()
    with closing(GitFiles(Git(str(root), environ), found)) as files:
        return State(files.checkout().commit, files.tree(_is_record))


def _is_record(path: str) -> bool:
    """A plan, a document or a log of proctor: whoever runs in shards writes such files."""
    try:
        head = read_bytes(path, _HEAD)
    except OSError:
        return False
    schema = re.match(rb'\s*\{\s*"schema":\s*"proctor\.', head)
    return bool(schema) or head.startswith(b'{"type":"note","seq":0,')


def fingerprint(installed: Mapping[str, tuple[str, ...]]) -> str:
    """Equal for equal interpreters with equal names and versions of packages, wherever they are on disk.
    People can read it: `cpython 3.11.7, 48 packages (1a2b3c4d)`."""
    texts = []
    for python, *packages in sorted(installed.values()):
        digest = blake2b("\n".join(sorted(packages)).encode(), digest_size=4).hexdigest()
        texts.append(f"{python}, {len(packages)} packages ({digest})")
    return "; ".join(texts)

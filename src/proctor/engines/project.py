"""The project, on the machine that asks for a run and on those that run its shards.

A worker on the same machine uses it where it is. Another one uses what it has at the same path, if those are
the same files; otherwise they are sent to it, without the environment.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from proctor.engines.packing import pack
from proctor.engines.project_files import project_files, tree_of
from proctor.engines.unpacked import place, unpacked
from proctor.errors import LaunchError


class Project(msgspec.Struct, frozen=True):
    """As much of it as a worker has to know. One that does not have it asks for the files."""

    root: str  # where it is on the machine that asks
    identity: str = ""  # of that directory, on that machine
    tree: str = ""  # a hash of its files; empty: not known
    inside: str = ""  # where the project is in the files that belong to it
    archive: str = ""  # those files, Base64; empty: not included


class Shipping:
    """What the machine that asks sends of its project."""

    def __init__(self, root: Path, environ: Mapping[str, str], elsewhere: bool) -> None:
        """`elsewhere`: workers may be on other machines."""
        self._root, self._environ = root, environ
        self._project = Project(str(root), _identity(str(root)))
        self._packed: Project | LaunchError | None = None
        try:
            if elsewhere:
                files = project_files(root, environ)
                self._project = replace(self._project, tree=tree_of(files), inside=files.inside)
        except LaunchError as error:
            self._packed = error  # it matters only to a worker that does not have the project

    def project(self, with_files: bool) -> Project:
        """Raises LaunchError if its files cannot be sent."""
        if not with_files:
            return self._project
        if self._packed is None:
            try:
                self._packed = self._pack()
            except LaunchError as error:
                self._packed = error  # for every shard: what is too large stays so
        if isinstance(self._packed, LaunchError):
            raise self._packed
        return self._packed

    def _pack(self) -> Project:
        packed = pack(project_files(self._root, self._environ))
        if tree_of(project_files(self._root, self._environ)) != self._project.tree:
            raise LaunchError("the files of the project have changed since the run began, and cannot be sent")
        return replace(self._project, archive=base64.b64encode(packed).decode())


def _identity(root: str) -> str:
    try:
        about = os.stat(root)
    except OSError:
        return ""
    return f"{about.st_dev}:{about.st_ino}"


@contextmanager
def found(project: Project, environ: Mapping[str, str], same_machine: bool) -> Iterator[Path | None]:
    """Where the project is on this machine, for as long as it is used; None: its files must be sent.

    `same_machine`: who asks is on this one. Raises LaunchError if it cannot be unpacked.
    """
    if same_machine and project.identity and _identity(project.root) == project.identity:
        yield Path(project.root)
    elif not project.tree:
        yield None
    elif _tree_at(project.root, environ) == project.tree:
        yield Path(project.root)
    else:
        archive = base64.b64decode(project.archive)
        with unpacked(place(environ), project.tree, project.inside, archive) as top:
            root = top and top / project.inside
            if root is not None:
                root.mkdir(parents=True, exist_ok=True)  # none of its files may be there
            yield root


def _tree_at(root: str, environ: Mapping[str, str]) -> str:
    if not os.path.isdir(root):
        return ""
    try:
        return tree_of(project_files(Path(root), environ))
    except LaunchError:
        return ""  # it cannot be read, so it is not the same

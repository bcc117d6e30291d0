"""The files of the project: on the machine that asks for a run, and on the one that runs a shard of it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from proctor.errors import LaunchError


class Project(msgspec.Struct, frozen=True):
    root: str  # where it is on the machine that asks
    tree: str = ""  # git's hash of all its files; empty: unknown
    archive: str = ""  # all its files, Base64; empty: not included


def found(project: Project) -> Path | None:
    """Where the project is on this machine; None: it is not, and must be sent."""
    path = Path(project.root)
    if not path.is_dir():
        raise LaunchError(f"the project {path} is not on this machine")
    return path


def packed(project: Project) -> Project:
    """The same project, with its files."""
    raise LaunchError(f"the files of {project.root} cannot be sent")

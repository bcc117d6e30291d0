"""Where things are on this machine: programs, a project's files, the user's cache. Starts nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def is_program(path: str | Path) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def program(name: str, environ: Mapping[str, str], cwd: str | Path = "") -> str:
    """The absolute path of a command on PATH; empty where there is none.

    A relative entry of PATH starts at `cwd`. An empty one, which a shell takes for the current directory, is
    nearly always a slip (`PATH=$MINE:`) and is not searched: a project's file `go` is not the user's go.
    (Not `shutil.which`: its import takes several milliseconds.)
    """
    for directory in filter(None, environ.get("PATH", os.defpath).split(os.pathsep)):
        path = os.path.join(os.path.abspath(os.path.join(cwd, directory)), name)
        if is_program(path):
            return path
    return ""


def relative(path: Path, root: Path) -> str:
    """With `/` between its parts; a path outside of the root stays as it is."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def user_cache(environ: Mapping[str, str]) -> Path | None:
    """proctor's directory for what may be lost at any time; None without a home."""
    if os.path.isabs(base := environ.get("XDG_CACHE_HOME", "")):  # the XDG standard: ignore a relative one
        return Path(base, "proctor")
    return Path(home, ".cache", "proctor") if (home := environ.get("HOME")) else None


def user_state(environ: Mapping[str, str]) -> Path | None:
    """proctor's directory for what should stay, such as the history of tests; None without a home."""
    if os.path.isabs(base := environ.get("XDG_STATE_HOME", "")):
        return Path(base, "proctor")
    return Path(home, ".local", "state", "proctor") if (home := environ.get("HOME")) else None

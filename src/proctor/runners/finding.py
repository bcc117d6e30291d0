"""Where programs are, as a shell would find them."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path


def executable(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH))


def on_path(name: str, environ: Mapping[str, str], here: str = ".") -> str:
    """The program's path; nothing where there is none."""
    places = [Path(place or here) / name for place in environ.get("PATH", "").split(":")]
    return next((str(path) for path in places if executable(path)), "")

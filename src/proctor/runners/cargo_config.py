"""The variables that cargo's configuration sets for whatever cargo starts (`[env]`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor.regular_files import read_text

_NAMES = ("config", "config.toml")  # of two, cargo takes the older name


def environment(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The nearest configuration wins; a variable that is set already does unless it is forced."""
    found: dict[str, str] = {}
    home = Path(environ.get("CARGO_HOME") or Path(environ.get("HOME", "/")) / ".cargo")
    for place in (*(directory / ".cargo" for directory in (root, *root.parents)), home):
        for name, value in _read(place).items():
            forced = isinstance(value, dict) and value.get("force") is True
            text = value.get("value") if isinstance(value, dict) else value
            if isinstance(value, dict) and value.get("relative") is True:
                text = str(place.parent / str(text))
            if isinstance(text, str) and name not in found and (forced or name not in environ):
                found[name] = text
    return found


def _read(place: Path) -> dict[str, Any]:
    """Nothing if there is no file, or none that can be read: cargo complains of those."""
    for name in _NAMES:
        try:
            table = tomllib.loads(read_text(place / name)).get("env")
        except (OSError, ValueError):
            continue
        return table if isinstance(table, dict) else {}
    return {}

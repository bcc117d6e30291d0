"""The variables that cargo's configuration sets for whatever cargo starts (`[env]`)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_NAMES = ("config", "config.toml")  # of two, cargo takes the older name


def environment(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The nearest configuration wins; a variable that is set already does unless it is forced."""
    found: dict[str, str] = {}
    for place in _places(root, environ):
        for name, value in _read(place).items():
            forced = isinstance(value, dict) and value.get("force") is True
            text = value.get("value") if isinstance(value, dict) else value
            if isinstance(value, dict) and value.get("relative") is True:
                text = str(place.parent / str(text))
            if isinstance(text, str) and name not in found and (forced or name not in environ):
                found[name] = text
    return found


def _places(root: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    for directory in (root, *root.parents):
        yield directory / ".cargo"
    yield Path(environ.get("CARGO_HOME") or Path(environ.get("HOME", "/")) / ".cargo")


def _read(place: Path) -> dict[str, Any]:
    """Nothing where there is none, or none that can be read: cargo will say so better than we could."""
    for name in _NAMES:
        try:
            table = tomllib.loads((place / name).read_text(encoding="utf-8")).get("env")
        except (OSError, ValueError):
            continue
        return table if isinstance(table, dict) else {}
    return {}

"""Resolves a target: a path or ID as it is, or an ID as an earlier answer has written it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from proctor.failure_row import unescaped


def meant(target: str, root: Path, programs: Collection[str] = ()) -> str | None:
    """As it is, or another reading of it, if that is there. `programs` are names that the settings list.

    Only files are looked at: which tests are in them is known when pytest has collected them, and our plugin
    asks the same question there.
    """
    for reading in _readings(target, root):
        if _is_there(reading, root, programs):
            return reading
    return None


def _readings(target: str, root: Path) -> Iterator[str]:
    """A row of the failure index has escapes; an id begins at pytest's root, which may be above ours."""
    plain = dict.fromkeys((target, unescaped(target)))
    yield from plain
    for start in range(1, len(root.parts)):
        above = "/".join(root.parts[start:]) + "/"
        yield from (name.removeprefix(above) or "." for name in plain if name.startswith(above))


def _is_there(target: str, root: Path, programs: Collection[str]) -> bool:
    if "\0" in target:
        return False
    if os.path.lexists(root / target.partition("::")[0]):
        return True
    below = root / target.lstrip("/")  # the name of a program, or of a part of its results
    return any(target == name or target.startswith(f"{name}/") for name in programs) or any(
        os.path.isfile(path) for path in (below, *below.parents) if path != root and path.is_relative_to(root)
    )

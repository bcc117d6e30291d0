"""What a target stands for: itself, or what a row of the failure index has written with escapes."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from proctor.failure_row import unescaped


def meant(target: str, root: Path, programs: Collection[str] = ()) -> str:
    """As it is, unless only its unescaped form is there. `programs` are names that the settings list.

    Only files are looked at: which tests are in them is known when pytest has collected them, and our plugin
    asks the same question there.
    """
    plain = unescaped(target)
    if plain == target or _is_there(target, root, programs) or not _is_there(plain, root, programs):
        return target
    return plain


def _is_there(target: str, root: Path, programs: Collection[str]) -> bool:
    if "\0" in target:
        return False
    if os.path.lexists(root / target.partition("::")[0]):
        return True
    below = root / target.lstrip("/")  # the name of a program, or of a part of its results
    return any(target == name or target.startswith(f"{name}/") for name in programs) or any(
        os.path.isfile(path) for path in (below, *below.parents) if path != root and path.is_relative_to(root)
    )

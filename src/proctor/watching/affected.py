"""Which test files a change touches: nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def affected(changed: frozenset[str], root: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    del changed, root, environ
    return ()

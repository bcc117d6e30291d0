"""What runs a test that failed earlier, by the files as they are now. Runs nothing, imports nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path

from proctor.regular_files import read_bytes

_SOURCES = (".py", *(f".{mark}{kind}" for kind in ("js", "ts") for mark in ("", "c", "m")), ".jsx", ".tsx")


def present(target: str, root: Path, changed: bool) -> str:
    """The target; empty if its file is gone. A test whose file has `changed` may have other parameters, or
    another name: then all of its parameters, or its whole file."""
    file, mark, names = target.partition("::")
    if not file.endswith(_SOURCES):
        return target  # a program, say
    if not os.path.lexists(root / file):
        return ""
    if not (mark and changed and file.endswith(".py")):
        return target
    function = names.partition("[")[0]
    try:
        source = read_bytes(root / file).decode("utf-8", "replace")
    except OSError:
        return file
    defined = all(
        re.search(rf"\b(?:def|class)\s+{re.escape(name)}\b", source) for name in function.split("::")
    )
    return f"{file}::{function}" if defined else file

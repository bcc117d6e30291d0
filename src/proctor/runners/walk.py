"""Lists the files of a project. Links to directories are not followed."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path

_NOT_TESTS = re.compile(r"\..*|node_modules|__pycache__|venv|build|dist|target|.*\.egg")
_MOST_ENTRIES = 20_000


def nearest_files(directory: Path) -> Iterator[Path]:
    """Files that may be Python tests, the nearest first: of a large project not all are looked at."""
    waiting, seen = deque([directory]), 0
    while waiting and seen < _MOST_ENTRIES:
        try:
            entries = sorted(waiting.popleft().iterdir())
        except OSError:
            continue
        seen += len(entries)
        for entry in entries:
            if _NOT_TESTS.fullmatch(entry.name):
                continue
            if not entry.is_dir():
                yield entry
            elif not entry.is_symlink():
                waiting.append(entry)


def all_files(directory: Path, left_out: re.Pattern[str]) -> Iterator[Path]:
    """In the order of their names, without files and directories whose names match `left_out`."""
    for path in sorted(directory.iterdir()):
        if left_out.fullmatch(path.name):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from all_files(path, left_out)
        else:
            yield path

"""What a server takes up while nothing is asked of it: what must not grow, however much it has done."""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

MIB = 1 << 20


@dataclass(frozen=True)
class Levels:
    memory: int  # bytes of RSS
    descriptors: int
    threads: int
    children: int  # zombies among them
    temporary: int  # files in its TMPDIR
    runs: int  # on disk

    def __str__(self) -> str:
        others = (f"{one.name} {getattr(self, one.name)}" for one in fields(self)[1:])
        return f"RSS {self.memory / MIB:.1f} MiB, {', '.join(others)}"


def levels(server: int, temporary: Path, runs: int) -> Levels:
    status = Path(f"/proc/{server}/status").read_text()
    number = {name: status.partition(f"{name}:")[2].split()[0] for name in ("VmRSS", "Threads")}
    return Levels(
        int(number["VmRSS"]) << 10,
        len(descriptors(server)),
        int(number["Threads"]),
        len(children(server)),
        len(left_in(temporary)),
        runs,
    )


def left_in(temporary: Path) -> list[Path]:
    """Files that somebody has forgotten. Python writes a word to a file to see whether it can, and whoever is
    killed at that moment leaves it: a test, not the server."""
    return [path for path in temporary.rglob("*") if not _is_trial(path)]


def _is_trial(path: Path) -> bool:
    with suppress(OSError):
        return re.fullmatch(r"\w{8}", path.name) is not None and path.read_bytes() in (b"", b"blat")
    return False


def descriptors(server: int) -> list[str]:
    """What each of them is."""
    found = []
    for entry in os.scandir(f"/proc/{server}/fd"):
        with suppress(FileNotFoundError):  # closed while we looked
            found.append(os.readlink(entry.path))
    return found


def children(process: int) -> list[int]:
    """None if it has ended."""
    found: list[int] = []
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # a thread that has just ended
            found += map(int, listed.read_text().split())
    return found


def described(process: int) -> str:
    with suppress(OSError):
        return f"{process} {Path(f'/proc/{process}/cmdline').read_bytes()!r}"
    return f"{process}"


def with_argument(text: str) -> list[int]:
    """Living processes with this on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if text.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def growth(memory: Sequence[int]) -> float:
    """Bytes by which the last quarter of the samples lies above the second; of each its median.

    The first quarter does not count: until every kind of run has been seen by every thread, an allocator
    has not got all the memory that it is going to keep.
    """
    quarter = len(memory) // 4
    return statistics.median(memory[-quarter:]) - statistics.median(memory[quarter : 2 * quarter])

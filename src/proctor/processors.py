"""How many processors this process may use: by its affinity, and by the quota of its control group."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_Reader: TypeAlias = Callable[[Path], float]


def processors(groups: Path = _GROUPS, own: Path = _OWN) -> int:
    """At least one; part of a processor counts as one."""
    known = _by_affinity()
    quotas = [math.ceil(quota) for quota in _quotas(groups, own)]
    return max(1, min([known, *quotas]))


def worker_count(asked: str) -> int:
    """What `-n` stands for: a number, or `auto`; 0 where nobody asked."""
    return processors() if asked == "auto" else int(asked or 0)


def _by_affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quotas(groups: Path, own: Path) -> Iterator[float]:
    """Of the process's own group and of those around it: in processors."""
    for line in _read(own).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:  # version 2 has one tree for all
            yield from _each(groups, path, _second)
        elif "cpu" in controllers.split(","):
            yield from _each(groups / "cpu", path, _first)


def _each(root: Path, path: str, read: _Reader) -> Iterator[float]:
    """A container may see its own group as the root, under the path that it has outside."""
    inner = root / path.lstrip("/")
    for group in (inner, *inner.parents):
        if group == root or root in group.parents:
            quota = read(group)
            if quota > 0:
                yield quota


def _second(group: Path) -> float:
    quota, _, period = _read(group / "cpu.max").strip().partition(" ")
    return _ratio(quota, period)


def _first(group: Path) -> float:
    return _ratio(_read(group / "cpu.cfs_quota_us"), _read(group / "cpu.cfs_period_us"))


def _ratio(quota: str, period: str) -> float:
    """0 if there is none."""
    try:
        return int(quota) / int(period)
    except (ValueError, ZeroDivisionError):  # "max", or -1, or no such file
        return 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""

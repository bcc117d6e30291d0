"""How many processors a process may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.projects import write_project

from proctor.processors import processors

MANY = range(64)


@pytest.fixture(autouse=True)
def sixty_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(MANY), raising=False)


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("", {}, 64),
        ("0::/", {"cpu.max": "max 100000"}, 64),
        ("0::/", {"cpu.max": "200000 100000"}, 2),
        ("0::/", {"cpu.max": "150000 100000"}, 2),
        ("0::/", {"cpu.max": "1000 100000"}, 1),
        ("0::/", {"cpu.max": "nonsense"}, 64),
        ("0::/a/b", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3),
        ("0::/a/b", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "100000 100000"}, 1),
        ("0::/outside", {"cpu.max": "400000 100000"}, 4),
        ("4:cpu,cpuacct:/x\n0::/", {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"}, 64),
        ("4:cpu,cpuacct:/x", {"cpu/cpu.cfs_quota_us": "500000", "cpu/cpu.cfs_period_us": "100000"}, 5),
        ("4:cpuset:/x", {"cpu/cpu.cfs_quota_us": "500000", "cpu/cpu.cfs_period_us": "100000"}, 64),
    ],
)
def test_a_quota_of_its_group_or_of_one_around_it_counts(
    tmp_path: Path, own: str, files: dict[str, str], expected: int
) -> None:
    write_project(tmp_path, {"own": own + "\n", **{f"groups/{name}": text for name, text in files.items()}})

    assert processors(tmp_path / "groups", tmp_path / "own") == expected


def test_affinity_counts_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 7})
    write_project(tmp_path, {"own": "0::/\n", "cpu.max": "900000 100000"})

    assert processors(tmp_path, tmp_path / "own") == 3


def test_this_process_may_use_at_least_one() -> None:
    assert processors() >= 1

"""Temporary directories: those of the dead are removed, those of the living are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.archive.scratch import Scratch

PREFIX = "proctor-made-"
DIES = f"""
import os, signal
from proctor.archive.scratch import Scratch
one = Scratch({PREFIX!r})
open(os.path.join(one.path, "file"), "w").close()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def aged(path: Path) -> Path:
    os.utime(path, (1, 1), follow_symlinks=False)
    return path


def test_what_a_killed_process_left_is_removed_by_the_next_one(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", DIES], env={**os.environ, "TMPDIR": str(folder)})
    (left,) = folder.iterdir()
    aged(left)

    Scratch(PREFIX).close()

    assert list(folder.iterdir()) == []


def test_what_somebody_uses_or_may_be_about_to_use_stays(folder: Path) -> None:
    used = Scratch(PREFIX)
    aged(Path(used.path))
    new = folder / f"{PREFIX}new"
    new.mkdir()

    Scratch(PREFIX).close()

    assert sorted(folder.iterdir()) == sorted([Path(used.path), new])
    used.close()
    assert list(folder.iterdir()) == [new]


def test_what_is_no_such_directory_stays(folder: Path) -> None:
    other, target = folder / "proctor-other", folder / "target"
    other.mkdir()
    target.mkdir()
    link = folder / f"{PREFIX}link"
    link.symlink_to(target)
    file = folder / f"{PREFIX}file"
    file.touch()
    stay = sorted(map(aged, (other, target, link, file)))

    Scratch(PREFIX).close()

    assert sorted(folder.iterdir()) == stay

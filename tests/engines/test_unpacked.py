"""Copies of projects in the user's cache: whole, shared, unchanged, and not for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier

import pytest
from support.projects import GUARD, write_project

from proctor.engines.packing import pack
from proctor.engines.project_files import project_files, tree_of
from proctor.engines.unpacked import KEPT, place, unpacked
from proctor.errors import LaunchError

FILES = {"test_a.py": "def test_a(): pass\n", "data/b.txt": "b\n", "data/c.txt": "c\n"}


class Sent:
    """A project that is to be sent."""

    def __init__(self, root: Path, number: int = 0) -> None:
        files = project_files(write_project(root, {**FILES, "number": f"{number}\n"}), os.environ)
        self.tree, self.archive, self.names = tree_of(files), pack(files), set(files.paths)


@pytest.fixture
def sent(tmp_path: Path) -> Sent:
    return Sent(tmp_path / "project")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "projects"


def _names(top: Path) -> set[str]:
    return {path.relative_to(top).as_posix() for path in top.rglob("*") if not path.is_dir()}


def _copies(base: Path) -> list[str]:
    return sorted(path.name for path in base.iterdir() if path.is_dir())


def test_a_project_is_unpacked_once_and_found_again(sent: Sent, base: Path) -> None:
    with unpacked(base, sent.tree, "", b"") as nothing:
        assert nothing is None
    with unpacked(base, sent.tree, "", sent.archive) as first:
        assert first is not None
        assert _names(first) == sent.names
    with unpacked(base, sent.tree, "", b"") as second:
        assert second == first


def test_shards_that_come_at_the_same_time_share_one_copy(sent: Sent, base: Path) -> None:
    together = Barrier(4)

    def use(_: int) -> Path | None:
        together.wait(GUARD)
        with unpacked(base, sent.tree, "", sent.archive) as top:
            together.wait(GUARD)
            return top

    with ThreadPoolExecutor(4) as pool:
        assert len({*pool.map(use, range(4))}) == len(_copies(base)) == 1


@pytest.mark.parametrize("change", ["changed", "more", "less", "mode"])
def test_a_copy_that_tests_have_changed_is_not_used_again(sent: Sent, base: Path, change: str) -> None:
    with unpacked(base, sent.tree, "", sent.archive) as first:
        assert first is not None
        if change == "changed":
            (first / "test_a.py").write_text("def test_a(): assert 1\n")
        elif change == "more":
            (first / "conftest.py").touch()
        elif change == "less":
            (first / "data" / "b.txt").unlink()
        else:
            (first / "test_a.py").chmod(0o700)
        with unpacked(base, sent.tree, "", b"") as second:  # the first one is still in use
            assert second is not None
            assert second != first
            assert first.is_dir()
            assert _names(second) == sent.names


def test_what_every_session_writes_is_no_change(sent: Sent, base: Path) -> None:
    with unpacked(base, sent.tree, "", sent.archive) as first:
        assert first is not None
        write_project(first, {"__pycache__/a.pyc": "", ".pytest_cache/v": "", "data/__pycache__/x.pyc": ""})
    with unpacked(base, sent.tree, "", b"") as second:
        assert second == first


def test_a_process_that_is_killed_while_it_unpacks_leaves_nothing_that_is_used(
    sent: Sent, base: Path
) -> None:
    killed = f"""
import os, signal, sys
from pathlib import Path
from proctor.engines import packing
from proctor.engines.unpacked import unpacked
whole = packing._write
def write(tar, member, path):
    if member.name == "number":
        os.kill(os.getpid(), signal.SIGKILL)
    whole(tar, member, path)
packing._write = write
with unpacked(Path({str(base)!r}), {sent.tree!r}, "", sys.stdin.buffer.read()):
    pass
"""
    ended = subprocess.run([sys.executable, "-c", killed], input=sent.archive, timeout=GUARD)
    left = _copies(base)

    with unpacked(base, sent.tree, "", b"") as nothing:
        assert nothing is None
    with unpacked(base, sent.tree, "", sent.archive) as top:
        assert top is not None
        assert _names(top) == sent.names

    assert ended.returncode == -signal.SIGKILL
    assert len(left) == 1
    assert not set(left) & set(_copies(base))


def test_a_disk_that_is_full_is_an_error_and_leaves_nothing(tmp_path: Path, base: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "large").write_bytes(b"x" * 3_000_000)
    sent = Sent(tmp_path / "project")
    full = f"""
import resource, sys
from pathlib import Path
from proctor.errors import LaunchError
from proctor.engines.unpacked import unpacked
data = sys.stdin.buffer.read()
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
try:
    with unpacked(Path({str(base)!r}), {sent.tree!r}, "", data):
        print("unpacked")
except LaunchError as error:
    print(error)
"""
    said = subprocess.run(
        [sys.executable, "-c", full], input=sent.archive, capture_output=True, timeout=GUARD
    ).stdout.decode()

    assert said == f"the project cannot be unpacked in {base}: File too large\n"
    assert _copies(base) == []


def test_an_archive_of_other_files_than_it_says_is_broken(tmp_path: Path, sent: Sent, base: Path) -> None:
    other = Sent(tmp_path / "other", number=2)

    broken = pytest.raises(LaunchError, match="its files are not those that were sent")
    with broken, unpacked(base, sent.tree, "", other.archive):
        pass

    with unpacked(base, sent.tree, "", b"") as nothing:
        assert nothing is None


def test_old_projects_are_removed_but_not_those_in_use(tmp_path: Path, base: Path) -> None:
    projects = [Sent(tmp_path / f"{number}", number) for number in range(KEPT + 3)]
    with ExitStack() as used:
        first = used.enter_context(unpacked(base, projects[0].tree, "", projects[0].archive))
        os.utime(base / f"{projects[0].tree}.archive", (1, 0))
        for sent in projects[1:]:
            with unpacked(base, sent.tree, "", sent.archive):
                os.utime(base / f"{sent.tree}.archive", (1, projects.index(sent)))
        assert first is not None
        assert first.is_dir()
        assert len(_copies(base)) == KEPT + 1
        assert len(list(base.glob("*.archive"))) == KEPT

    with unpacked(base, projects[-1].tree, "", b"") as last:
        assert last is not None
        (last / "more").touch()
    with unpacked(base, projects[-1].tree, "", b""):
        assert len(_copies(base)) == KEPT
        assert not first.is_dir()


def test_without_a_home_copies_are_in_a_directory_of_the_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    own = tmp_path / f"proctor-{os.getuid()}"

    assert place({}) == own / "projects"
    assert own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o777)
    with pytest.raises(LaunchError, match="not a directory of this user alone"):
        place({})

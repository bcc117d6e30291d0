"""Which files start a run, with and without git, and whether a write has changed anything."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.projects import write_project

from proctor.watching.contents import Contents
from proctor.watching.ignored import Ignored, is_source

PATHS = {"cart.py", "out/a.txt", "deep/my.log", "deep/kept.log", "odd\nname", "ünïcode.log", "tracked.log"}


@contextmanager
def ignored(root: Path, own: tuple[str, ...] = (), **environ: str) -> Iterator[Ignored]:
    found = Ignored(root, own, {**os.environ, **environ})
    try:
        yield found
    finally:
        found.close()


def project(root: Path) -> Path:
    return write_project(
        root, {".gitignore": "out/\n*.log\n", "deep/.gitignore": "!kept.log\n", "tracked.log": ""}
    )


@pytest.mark.parametrize("where", ["a repository", "none", "below an ignored directory"])
def test_what_git_ignores_starts_nothing(tmp_path: Path, where: str) -> None:
    root = project(tmp_path / "below")
    if where != "none":
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
        subprocess.run(["git", "-C", root, "add", "-f", "tracked.log"], check=True)
    if where == "below an ignored directory":
        write_project(tmp_path, {".gitignore": "below/"})
    with ignored(root) as found:
        left = found.without(PATHS)

    assert left - {"tracked.log"} == {"cart.py", "deep/kept.log", "odd\nname"}
    assert ("tracked.log" in left) == (where == "a repository")


def test_without_git_the_known_names_do(tmp_path: Path) -> None:
    paths = [
        "a.pyc",
        "x/__pycache__/a.py",
        ".git/index",
        ".cart.py.swp",
        "cart.py~",
        ".proctor/runs/1",
        "4913",
    ]
    with ignored(project(tmp_path), PATH="") as found:
        assert found.without([*paths, "cart.py", "my.log"]) == {"cart.py", "my.log"}
        assert list(found.files()) == []


def test_what_proctor_writes_starts_nothing(tmp_path: Path) -> None:
    root = project(tmp_path)
    own = (str(root / "report.xml"), "/elsewhere/report.xml")
    with ignored(root, own, XDG_CACHE_HOME=str(root / "cache"), XDG_STATE_HOME=str(root / "state")) as found:
        paths = ["report.xml", "report.xml.txt", "cache/proctor/x", "state/proctor/x", "cache/x"]
        assert found.without(paths) == {"report.xml.txt", "cache/x"}


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with ignored(project(tmp_path / "shop")):
        assert len(list(tmp_path.iterdir())) == 2
    assert len(list(tmp_path.iterdir())) == 1


def test_sources_are_known_by_their_names() -> None:
    assert all(map(is_source, ["cart.py", "a/b.ts", "pyproject.toml", "speed.so"]))
    assert not any(map(is_source, ["state.txt", "snapshot.json", "py", "coverage.xml"]))


def test_a_write_that_changes_nothing_is_no_change(tmp_path: Path) -> None:
    write_project(tmp_path, {"a.txt": "1", "b.txt": "1", "gone.txt": "1"})
    contents = Contents(tmp_path)
    contents.learn(["a.txt", "gone.txt"], time.time_ns() + 10**9)
    (tmp_path / "a.txt").touch()
    (tmp_path / "gone.txt").unlink()

    assert contents.changed(["a.txt", "b.txt", "gone.txt", "never.txt"]).keys() == {"b.txt", "gone.txt"}
    assert contents.changed(["a.txt", "b.txt", "gone.txt"]) == {}
    (tmp_path / "a.txt").write_text("2")
    assert contents.changed(["a.txt"]).keys() == {"a.txt"}


def test_what_was_changed_since_watching_began_is_not_taken_for_known(tmp_path: Path) -> None:
    write_project(tmp_path, {"a.txt": "1"})
    contents = Contents(tmp_path)
    contents.learn(["a.txt"], 0)

    assert contents.changed(["a.txt"]).keys() == {"a.txt"}


def test_a_directory_stands_for_the_files_in_it(tmp_path: Path) -> None:
    write_project(tmp_path, {"new/a.txt": "1", "new/deep/b.txt": "1", "new/skipped/c.txt": "1"})
    (tmp_path / "empty").mkdir()
    contents = Contents(tmp_path)
    found = contents.files(["new", "empty", "x.txt"], lambda path: path.endswith("skipped"))
    contents.changed(found)
    os.rename(tmp_path / "new", tmp_path.parent / f"{tmp_path.name}-moved")

    assert found == {"new/a.txt", "new/deep/b.txt", "x.txt"}
    gone = contents.files(["new"], lambda _: False)
    assert contents.changed(gone).keys() == {"new/a.txt", "new/deep/b.txt"}

"""Where programs, files and the user's cache are."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.places import is_program, program, relative, user_cache


def tool(directory: Path, name: str = "tool", mode: int = 0o755) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_a_program_is_the_first_on_path_that_can_be_run(tmp_path: Path) -> None:
    tool(tmp_path / "a", mode=0o644)
    (tmp_path / "b" / "tool").mkdir(parents=True)
    wanted, later = tool(tmp_path / "c"), tool(tmp_path / "d")
    path = ":".join(str(tmp_path / name) for name in ("missing", "a", "b", "c", "d"))

    assert program("tool", {"PATH": path}) == str(wanted)
    assert program("tool", {"PATH": str(later.parent)}) == str(later)
    assert program("other", {"PATH": path}) == ""


@pytest.mark.parametrize("path", ["", ":", "/nonexistent:", ":/nonexistent", "/nonexistent::/nonexistent"])
def test_an_empty_entry_of_path_is_not_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    tool(tmp_path)
    monkeypatch.chdir(tmp_path)

    assert program("tool", {"PATH": path}) == program("tool", {"PATH": path}, tmp_path) == ""


def test_a_relative_entry_of_path_starts_where_the_program_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tool(tmp_path / "bin")
    monkeypatch.chdir("/")

    assert program("tool", {"PATH": "bin"}, tmp_path) == str(wanted)
    assert program("tool", {"PATH": "bin"}) == ""


def test_without_a_path_the_systems_programs_are_found() -> None:
    assert Path(program("sh", {})).name == "sh"


def test_what_is_no_program(tmp_path: Path) -> None:
    assert not is_program(tmp_path)
    assert not is_program(tmp_path / "missing")
    assert not is_program(tool(tmp_path, mode=0o644))
    assert is_program(tool(tmp_path, mode=0o755))


def test_a_path_in_the_project_is_told_from_its_root() -> None:
    assert relative(Path("/p/a/b.t"), Path("/p")) == "a/b.t"
    assert relative(Path("/q/b.t"), Path("/p")) == "/q/b.t"


@pytest.mark.parametrize(
    "environ, place",
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/proctor"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/proctor"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/proctor"),
    ],
)
def test_the_cache_is_where_the_user_wants_caches(environ: dict[str, str], place: str) -> None:
    assert user_cache(environ) == Path(place)


def test_without_a_home_there_is_no_cache() -> None:
    assert user_cache({}) is user_cache({"XDG_CACHE_HOME": "relative"}) is None

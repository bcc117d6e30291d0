"""Which files belong to a project, and the hash of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.git import git

from proctor.engines.project_files import Files, project_files, tree_of
from proctor.errors import LaunchError


def _files(root: Path) -> Files:
    return project_files(root, os.environ)


def _tree(root: Path) -> str:
    return tree_of(_files(root))


def _write(root: Path, *names: str) -> Path:
    for name in names:
        path = Path(os.fsdecode(os.path.join(os.fsencode(root), os.fsencode(name))))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name!a}\n")
    return root


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q")
    return root


def test_git_says_which_files_belong_to_a_project(repository: Path) -> None:
    _write(repository, "kept.py", "deleted.py", "kept.pyc", "sub/a.py")
    (repository / ".gitignore").write_text("secret\n.venv/\n")
    git(repository, "add", "-f", "-A")
    git(repository, "commit", "-q", "-m", "first")
    _write(repository, "new.py", "secret", ".venv/lib/x.py", "__pycache__/new.pyc", "sub/.pytest_cache/v")
    (repository / "deleted.py").unlink()

    files = _files(repository)

    assert files.inside == ""
    assert [path for path, _ in files.found()] == [".gitignore", "kept.py", "kept.pyc", "new.py", "sub/a.py"]


def test_a_project_that_is_a_folder_of_its_repository_has_all_files_of_that(repository: Path) -> None:
    _write(repository, "conftest.py", "services/one/test_a.py")

    files = _files(repository / "services" / "one")

    assert (files.top, files.inside) == (str(repository), "services/one")
    assert files.paths == ("conftest.py", "services/one/test_a.py")


def test_a_project_that_the_repository_around_it_ignores_has_files_of_its_own(repository: Path) -> None:
    _write(repository, "other.py", "build/project/test_a.py")
    (repository / ".gitignore").write_text("build/\n")

    files = _files(repository / "build" / "project")

    assert (files.top, files.inside, files.paths) == (
        str(repository / "build" / "project"),
        "",
        ("test_a.py",),
    )


def test_submodules_and_other_repositories_below_belong_to_the_project(
    repository: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    _write(other, "library.py", "ignored")
    (other / ".gitignore").write_text("ignored\n")
    git(other, "add", "-A")
    git(other, "commit", "-q", "-m", "first")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "vendored")
    _write(repository / "vendored", "changed.py", "ignored")
    (repository / "untracked").mkdir()
    git(repository / "untracked", "init", "-q")
    _write(repository / "untracked", "a.py")

    assert _files(repository).paths == (
        ".gitmodules",
        "untracked/a.py",
        "vendored/.gitignore",
        "vendored/changed.py",
        "vendored/library.py",
    )


def test_a_submodule_that_is_not_checked_out_has_no_files(repository: Path, tmp_path: Path) -> None:
    other, clone = tmp_path / "other", tmp_path / "clone"
    other.mkdir()
    git(other, "init", "-q")
    _write(other, "library.py")
    git(other, "add", "-A")
    git(other, "commit", "-q", "-m", "first")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "vendored")
    git(repository, "commit", "-q", "-m", "first")
    git(tmp_path, "clone", "-q", str(repository), str(clone))

    assert _files(clone).paths == (".gitmodules",)


def test_a_directory_that_was_replaced_by_a_link_is_that_link_alone(repository: Path, tmp_path: Path) -> None:
    _write(repository, "data/a.txt", "test_a.py")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "first")
    (repository / "data").rename(tmp_path / "elsewhere")
    (repository / "data").symlink_to(tmp_path / "elsewhere")

    assert [path for path, _ in _files(repository).found()] == ["data", "test_a.py"]


def test_without_git_everything_but_caches_and_environments_belongs_to_a_project(tmp_path: Path) -> None:
    own = (".hidden", "a.py", "data/b.txt", "venv-tools/c.py")
    other = (
        *("env/pyvenv.cfg", "env/lib/x.py", "target/CACHEDIR.TAG", "target/debug/x", "node_modules/x.js"),
        *(".tox/x", ".mypy_cache/x", "__pycache__/a.pyc", ".pytest_cache/x", ".proctor/runs/x", ".coverage"),
    )
    _write(tmp_path, *own, *other)

    assert _files(tmp_path).paths == own


def test_pipes_are_no_files_of_a_project(tmp_path: Path) -> None:
    _write(tmp_path, "a.py")
    os.mkfifo(tmp_path / "pipe")

    assert [path for path, _ in _files(tmp_path).found()] == ["a.py"]
    assert _tree(tmp_path)


def test_a_repository_that_git_cannot_read_is_an_error(repository: Path) -> None:
    (repository / ".git" / "index").write_bytes(b"no index")

    with pytest.raises(LaunchError, match="git could not list the files of"):
        _files(repository)


def test_an_empty_project_has_a_hash(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()

    assert _tree(tmp_path / "one") == _tree(tmp_path / "two") != ""


def test_equal_files_have_an_equal_hash_wherever_they_are_and_whenever_they_were_written(
    tmp_path: Path,
) -> None:
    names = ("a.py", "data/\udcff\udcfe", "x" * 200 + "/" + "y" * 200)
    one, two = (_write(tmp_path / name, *names) for name in ("one", "two"))
    os.utime(two / "a.py", (1, 1))
    (two / "a.py").chmod(0o664)

    assert _tree(one) == _tree(two)


@pytest.mark.parametrize("change", ["content", "name", "mode", "link", "more", "less", "same size and time"])
def test_every_change_gives_another_hash(tmp_path: Path, change: str) -> None:
    _write(tmp_path, "a.py", "b.py", "c/d.py")
    a, before = tmp_path / "a.py", _tree(tmp_path)
    about = a.stat()
    if change == "content":
        a.write_text("other, and longer\n")
    elif change == "name":
        a.rename(tmp_path / "a2.py")
    elif change == "mode":
        a.chmod(0o755)
    elif change == "link":
        a.unlink()
        a.symlink_to("b.py")
    elif change == "more":
        _write(tmp_path, "conftest.py")
    elif change == "less":
        a.unlink()
    else:
        a.write_text("'A.py'\n")
        os.utime(a, ns=(about.st_atime_ns, about.st_mtime_ns))

    assert _tree(tmp_path) != before


def test_the_place_of_the_project_in_its_repository_is_part_of_the_hash(tmp_path: Path) -> None:
    _write(tmp_path, "a/x", "b/x")

    assert tree_of(Files(str(tmp_path), "a", ("a/x",))) != tree_of(Files(str(tmp_path), "b", ("a/x",)))

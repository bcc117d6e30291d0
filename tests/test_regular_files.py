"""Only regular files of a project are read: a pipe or a device under a well-known name blocks nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.projects import document_of, outcomes, proctor, write_project

from proctor.regular_files import read_bytes, read_text

NAMES = (
    *("pyproject.toml", "proctor.toml", "setup.cfg", "tox.ini", "pytest.ini", "package.json", "Pipfile"),
    *("go.mod", "go.work", "Cargo.toml", "uv.lock", "poetry.lock", "a.test.js", "test_pipe_test.go"),
    *("t/a.t", "test/a.bats", ".cargo/config.toml", ".python-version"),
)
KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_project_of_pipes_and_devices_is_run_all_the_same(tmp_path: Path, kind: str) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_passes(): pass\n"})
    for name in NAMES:
        (root / name).parent.mkdir(exist_ok=True)
        KINDS[kind](root / name)

    document = document_of(root)

    assert (document["outcome"], outcomes(document)) == ("passed", {"test_a.py::test_passes": "passed"})
    assert proctor("doctor", cwd=root).code == 0


def test_what_is_no_regular_file_is_named(tmp_path: Path) -> None:
    for kind, make in KINDS.items():
        make(tmp_path / kind)
        with pytest.raises(OSError, match=f"not a regular file: .*{kind}"):
            read_bytes(tmp_path / kind)
    with pytest.raises(OSError):
        read_bytes(tmp_path)


def test_texts_are_read_as_python_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes("é\r\nb\rc\n".encode() + b"\xff")

    assert read_text(file, "replace") == file.read_text("utf-8", "replace")
    assert read_bytes(file, 3) == file.read_bytes()[:3]

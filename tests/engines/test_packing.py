"""A project's files in an archive, and what an archive may not do."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from proctor.engines.packing import pack, unpack
from proctor.engines.project_files import Files, tree_of, walk
from proctor.errors import LaunchError


def _files(root: Path) -> Files:
    return Files(str(root), "", tuple(sorted(walk(str(root)), key=os.fsencode)))


def _archive(*members: tarfile.TarInfo) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for member in members:
            member.size = 1 if member.isreg() else 0
            tar.addfile(member, io.BytesIO(b"x"))
    return made.getvalue()


def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "bin").mkdir(parents=True)
    (root / "empty.txt").touch()
    (root / "bin" / "run").write_text("#!/bin/sh\n")
    (root / "bin" / "run").chmod(0o750)
    (root / "link").symlink_to("bin/run")
    (root / "outside").symlink_to("/nowhere")
    with open(os.fsencode(root) + b"/\xff\xfe" + b"n" * 150, "w") as odd:
        odd.write("odd")
    (root / "large").write_bytes(bytes(range(256)) * 9000)
    return root


def test_what_is_unpacked_is_what_was_packed(project: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()

    paths = unpack(pack(_files(project)), str(target))

    assert tuple(paths) == _files(project).paths
    assert tree_of(_files(target)) == tree_of(_files(project))
    assert (target / "bin" / "run").stat().st_mode & 0o777 == 0o750
    assert os.readlink(target / "outside") == "/nowhere"


def test_equal_files_make_equal_archives(project: Path) -> None:
    before = pack(_files(project))
    for path in _files(project).paths:
        os.utime(project / path, (1, 1), follow_symlinks=False)

    assert pack(_files(project)) == before


def test_no_files_make_an_archive_too(tmp_path: Path) -> None:
    assert unpack(pack(Files(str(tmp_path))), str(tmp_path)) == []


def test_a_project_that_is_too_large_is_refused_with_its_size_and_largest_files(project: Path) -> None:
    with pytest.raises(LaunchError) as refused:
        pack(_files(project), most=1 << 20)

    text = str(refused.value)
    assert "the project has 2.2 MB in 6 files; at most 1.0 MB are sent to workers" in text
    assert "the largest: large (2.2 MB), " in text


def test_a_file_that_cannot_be_read_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = _files(project)
    found = list(files.found())
    (project / "large").unlink()
    (project / "large").symlink_to("elsewhere")  # after it was listed
    monkeypatch.setattr(Files, "found", lambda _: iter(found))

    with pytest.raises(LaunchError, match="large cannot be read"):
        pack(files)


@pytest.mark.parametrize(
    "members",
    [
        [_member("/etc/proctor-absolute")],
        [_member("../outside")],
        [_member("a/../../outside")],
        [_member("./a")],
        [_member("a//b")],
        [_member("device", tarfile.CHRTYPE)],
        [_member("pipe", tarfile.FIFOTYPE)],
        [_member("hard", tarfile.LNKTYPE, "/etc/passwd")],
        [_member("folder", tarfile.DIRTYPE)],
        [_member("link", tarfile.SYMTYPE, ".."), _member("link/outside")],
        [_member("a/link", tarfile.SYMTYPE, "/"), _member("a/link/b/c")],
    ],
    ids=lambda members: members[-1].name,
)
def test_an_archive_writes_nothing_but_files_and_links_below_its_directory(
    members: list[tarfile.TarInfo], tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.mkdir()

    with pytest.raises(LaunchError, match="the project has "):
        unpack(_archive(*members), str(target))

    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    assert not Path("/etc/proctor-absolute").exists()


def test_a_path_cannot_be_in_an_archive_twice(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        unpack(_archive(_member("link", tarfile.SYMTYPE, "/nowhere"), _member("link")), str(tmp_path))


@pytest.mark.parametrize("cut", [0, 5, 40, -9, -1])
def test_an_archive_that_is_cut_off_is_broken(project: Path, tmp_path: Path, cut: int) -> None:
    with pytest.raises(LaunchError, match="the project arrived broken"):
        unpack(pack(_files(project))[:cut], str(tmp_path / "target"))


def test_an_archive_of_something_else_is_broken(tmp_path: Path) -> None:
    for data in (b"no archive", gzip.compress(b"no archive either" * 100)):
        with pytest.raises(LaunchError, match="the project arrived broken"):
            unpack(data, str(tmp_path))

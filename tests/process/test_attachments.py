from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proctor.process.attachments import Attachments, FileStore

NAMES = [
    "../x",
    "../../../../etc/passwd",
    "/etc/passwd",
    "a/b/c.txt",
    "..",
    ".",
    "",
    "/",
    ".hidden",
    "nul\0inside",
    "line\nbreak",
    "n" * 300,
    "ü" * 300,
    "lone \ud800 surrogate",
    "report.html",
    "'quoted' \"name\"",
    "files",
]


@contextmanager
def opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def files_in(directory: Path) -> FileStore:
    with opened(directory) as descriptor:
        return FileStore(descriptor)


def move(store: FileStore, directory: Path) -> None:
    with opened(directory) as descriptor:
        store.move_to(descriptor)


def sent(attachments: Attachments, name: str, *pieces: bytes, result: str | None = "t") -> None:
    attachments.open(result, name, sum(map(len, pieces)))
    for piece in pieces:
        attachments.write(piece)
    assert attachments.whole() is not None


@pytest.mark.parametrize("name", NAMES, ids=[repr(name)[:40] for name in NAMES])
def test_a_name_never_decides_where_bytes_go(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    attachments = Attachments(files_in(directory))

    sent(attachments, name, b"a", b"b")
    (file,) = attachments.take("t")
    attachments.close()

    assert file.name == name
    assert (directory / file.path).read_bytes() == b"ab"
    assert everything_below(tmp_path) == {"run", "run/files", f"run/{file.path}"}
    assert Path(file.path).parent == Path("files")
    assert len(os.fsencode(Path(file.path).name)) < 100


def test_the_end_of_a_name_stays_readable(tmp_path: Path) -> None:
    attachments = Attachments(files_in(tmp_path))
    sent(attachments, "shots/" + "x" * 300 + "-after login.png", b"")
    (file,) = attachments.take("t")
    attachments.close()

    assert file.path.endswith("-after_login.png")


def test_files_of_the_same_name_do_not_meet(tmp_path: Path) -> None:
    attachments = Attachments(files_in(tmp_path))
    for number in range(3):
        sent(attachments, "log.txt", b"%d" % number)
    files = attachments.take("t")
    attachments.close()

    assert [(tmp_path / file.path).read_bytes() for file in files] == [b"0", b"1", b"2"]
    assert [file.name for file in files] == ["log.txt"] * 3


def test_files_belong_to_the_result_that_sent_them(tmp_path: Path) -> None:
    attachments = Attachments(files_in(tmp_path))
    sent(attachments, "a", b"1", result="one")
    sent(attachments, "b", b"2", result=None)
    sent(attachments, "c", b"3", result="one")

    assert [file.name for file in attachments.take("one")] == ["a", "c"]
    assert attachments.take("one") == ()
    assert [file.name for file in attachments.take(None)] == ["b"]
    attachments.close()


def test_a_link_in_place_of_the_folder_takes_no_bytes(tmp_path: Path) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run.mkdir()
    elsewhere.mkdir()
    (run / "files").symlink_to(elsewhere)
    store = files_in(run)
    attachments = Attachments(store)
    sent(attachments, "x", b"secret")
    attachments.close()

    assert store.fault is not None
    assert everything_below(elsewhere) == set()


def test_a_folder_that_is_swapped_for_a_link_takes_no_bytes(tmp_path: Path) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run.mkdir()
    elsewhere.mkdir()
    attachments = Attachments(files_in(run))
    sent(attachments, "before", b"1")
    (run / "files").rename(run / "moved")
    (run / "files").symlink_to(elsewhere)
    sent(attachments, "after", b"2")
    attachments.close()

    assert everything_below(elsewhere) == set()


def test_a_directory_that_vanishes_is_a_fault_and_no_exception(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    store = files_in(tmp_path / "run")
    (tmp_path / "run").rmdir()
    attachments = Attachments(store)
    sent(attachments, "x", b"abc")
    (file,) = attachments.take("t")
    attachments.close()

    assert isinstance(store.fault, OSError)
    assert file.size == 3


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    for number in range(20):
        store = files_in(tmp_path)
        attachments = Attachments(store)
        sent(attachments, f"{number}", b"x")
        attachments.open("t", "half", 2)
        attachments.write(b"y")
        attachments.close()
        store.close()
        store.close()
        (tmp_path / "files").rename(tmp_path / f"files-{number}")

    assert set(os.listdir("/proc/self/fd")) == before


def everything_below(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def test_files_move_with_their_run_and_later_ones_follow(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    store = files_in(before)
    path, file = store.create("first")
    assert file is not None
    store.write(file, b"one")
    os.close(file)

    move(store, after)
    later, file = store.create("second")
    assert file is not None
    os.close(file)
    store.close()

    assert (after / path).read_bytes() == b"one"
    assert (after / later).exists()
    assert store.fault is None


def test_a_link_among_the_files_is_not_followed_when_they_move(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("not theirs")
    (tmp_path / "after").mkdir()
    store = files_in(tmp_path)
    _, file = store.create("first")
    assert file is not None
    os.close(file)
    (tmp_path / "files" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "files" / "name").hardlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "files" / "pipe")

    move(store, tmp_path / "after")
    store.close()

    assert os.listdir(tmp_path / "after" / "files") == ["000001-first"]

"""What cannot be preloaded is remembered, and nothing that happens to the file is an error."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import msgspec
import pytest

from proctor.launch import Ahead
from proctor.process.preloads import FILE, KEPT_SECONDS, Preloads
from proctor.process.standby import Key

KEY = Key(("python", "-m", "pytest"), Ahead(3, ("pytest 9",), ("a", "b")), "/shop", 0, (1, 2), frozenset())


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_another_process_knows_it_too(tmp_path: Path) -> None:
    one, other = Preloads(tmp_path / "new"), Preloads(tmp_path / "new")
    one.drop(KEY, "a", "prints 'x'\nand more")
    other.drop(KEY, "b", "raises")
    one.drop(KEY, "a", "prints 'y'")

    assert one.dropped(KEY) == other.dropped(KEY) == Preloads(tmp_path / "new").dropped(KEY) == {"a", "b"}
    known = other.of_project("/shop", "python", ("pytest 9",))
    assert known == {"b": "raises", "a": "prints 'y'"}
    assert os.listdir(tmp_path / "new") == [FILE]


@pytest.mark.parametrize(
    "change",
    [
        {"cwd": "/shelf"},
        {"argv": ("python3", "-m", "pytest")},
        {"memory": 1},
        {"interpreter": (1, 3)},
        {"environment": frozenset([("A", "b")])},
        {"ahead": Ahead(3, ("pytest 9", "numpy 2"), ("a", "b"))},
    ],
)
def test_it_holds_for_one_key(change: dict[str, object], tmp_path: Path) -> None:
    preloads = Preloads(tmp_path)
    preloads.drop(KEY, "a", "prints")

    assert preloads.dropped(msgspec.structs.replace(KEY, **change)) == frozenset()


def test_doctor_hears_of_every_environment_but_only_of_this_project(tmp_path: Path) -> None:
    preloads = Preloads(tmp_path)
    preloads.drop(msgspec.structs.replace(KEY, environment=frozenset([("A", "b")])), "a", "prints")

    assert preloads.of_project("/shop", "python", ("pytest 9",)) == {"a": "prints"}
    assert preloads.of_project("/shop", "python", ("pytest 8",)) == {}
    assert preloads.of_project("/shelf", "python", ("pytest 9",)) == {}


def test_a_package_is_tried_again_after_a_day(tmp_path: Path) -> None:
    clock = Clock()
    preloads = Preloads(tmp_path, clock)
    preloads.drop(KEY, "a", "prints")
    clock.now += KEPT_SECONDS - 1
    assert preloads.dropped(KEY) == {"a"}
    clock.now += 2
    assert preloads.dropped(KEY) == Preloads(tmp_path, clock).dropped(KEY) == frozenset()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'[{"package":"a"}]', b"\xff\xfe", b"[" * 100_000, b'{"a":[]}']
)
def test_a_broken_file_is_replaced(content: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(content)
    preloads = Preloads(tmp_path)

    assert preloads.dropped(KEY) == frozenset()
    preloads.drop(KEY, "a", "prints")
    assert Preloads(tmp_path).dropped(KEY) == {"a"}


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink(path, path)])
def test_what_is_no_file_costs_only_what_it_could_say(make: object, tmp_path: Path) -> None:
    make(tmp_path / FILE)  # type: ignore[operator]
    preloads = Preloads(tmp_path)
    preloads.drop(KEY, "a", "prints")

    assert preloads.dropped(KEY) == {"a"}


def test_without_a_cache_this_process_knows_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for cache in (None, tmp_path / "file", Path("/proc/proctor")):
        preloads = Preloads(cache)
        preloads.drop(KEY, "a", "prints \ud800")

        assert preloads.dropped(KEY) == {"a"}


def test_the_file_does_not_grow_without_end(tmp_path: Path) -> None:
    preloads = Preloads(tmp_path)
    for number in range(250):
        preloads.drop(KEY, f"a{number}", "x" * 1000)

    assert len(Preloads(tmp_path).dropped(KEY)) == 200
    assert (tmp_path / FILE).stat().st_size < 200 * 600


def test_threads_that_write_at_once_leave_a_whole_file_and_forget_nothing(tmp_path: Path) -> None:
    preloads = Preloads(tmp_path)
    threads = [
        threading.Thread(target=preloads.drop, args=(KEY, f"a{number}", "prints")) for number in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(preloads.dropped(KEY)) == 20
    assert msgspec.json.decode((tmp_path / FILE).read_bytes())

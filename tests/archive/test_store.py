"""Runs on disk: where they are, who may remove them, what survives."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor import events as e
from proctor.archive import read_log, store
from proctor.archive.inside import Folder
from proctor.archive.last_failed import last_failed
from proctor.archive.lookup import find_run
from proctor.archive.recording import Recording, loader
from proctor.errors import UsageError
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay


def started(number: int, everything: bool = True, root: str = "/p") -> e.RunStarted:
    run_id = f"20260101-00000{number}-abcdef"
    return e.RunStarted(run_id, "pytest", ("python",), root, "python", "2026-01-01T00:00:00Z", everything)


def record(
    root: Path,
    number: int,
    *outcomes: tuple[str, Outcome],
    everything: bool = True,
    selected: tuple[str, ...] = (),
    quarantined: tuple[str, ...] = (),
    mistake: bool = False,
) -> Path:
    directory = store.open_run(root, started(number).run_id, {})
    assert directory is not None
    recording = Recording(directory)
    relay = Relay(started(number, everything, str(root)), [recording])
    if selected:
        relay.publish(e.TestsSelected(selected), 0.0)
    if quarantined:
        relay.publish(e.TestsQuarantined(dict.fromkeys(quarantined, "")), 0.0)
    for test, outcome in outcomes:
        relay.publish(e.TestFinished(test, outcome), 0.0)
    if mistake:
        relay.publish(e.StatusExplained(RunOutcome.USAGE_ERROR, "not found: t.py::x"), 0.0)
    relay.close(1.0)
    recording.close()
    return directory.path


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), st.integers(31, 2_000_000))
def test_runs_sort_by_when_they_began_also_within_a_second(began: datetime, microseconds: int) -> None:
    first, later = (store.new_run_id(when) for when in (began, began + timedelta(microseconds=microseconds)))

    assert first < later
    assert len(first) == len("20260101-000000-abcdef")


def test_runs_that_begin_at_once_have_names_of_their_own(tmp_path: Path) -> None:
    now = datetime(2026, 1, 1)

    assert len({store.new_run_id(now) for _ in range(20)}) > 1
    directory = store.open_run(tmp_path, store.new_run_id(now), {})
    assert directory is not None
    assert list(store.list_runs(tmp_path, {})) == [directory.folder]


def test_a_run_is_kept_in_the_project_and_git_does_not_see_it(tmp_path: Path) -> None:
    path = record(tmp_path, 1, ("a", Outcome.PASSED))

    assert path.parent == tmp_path / ".proctor" / "runs"
    assert (tmp_path / ".proctor" / ".gitignore").read_text() == "*\n"
    assert {"events.jsonl", "result.json", "results.jsonl", "run.json"} <= set(os.listdir(path))


def test_where_the_project_cannot_be_written_the_cache_serves(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".proctor").write_text("in the way")
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}

    directory = store.open_run(project, "20260101-000001-abcdef", environ)

    assert directory is not None
    assert directory.path.is_relative_to(tmp_path / "cache")
    assert list(store.list_runs(project, environ)) == [directory.folder]
    directory.close()


def test_where_nothing_can_be_written_there_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / ".proctor").write_text("in the way")
    (tmp_path / "file").write_text("")

    assert store.open_run(tmp_path, "20260101-000001-abcdef", {"HOME": str(tmp_path / "file")}) is None


def test_two_projects_never_share_a_place_in_the_cache(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    roots = [Path("/a/b"), Path("/a%2Fb"), Path("/a/b/"), Path("/" + "x" * 300), Path("/" + "x" * 299)]

    assert len({store.homes(root, environ)[1].path for root in roots}) == 4


def test_a_relative_cache_is_ignored(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_CACHE_HOME": "caches"}

    assert store.homes(Path("/a"), environ)[1].path == tmp_path / ".cache" / "proctor" / "runs" / "%2Fa"


def test_runs_are_listed_newest_first_and_strangers_are_not_runs(tmp_path: Path) -> None:
    paths = [record(tmp_path, number) for number in (2, 1, 3)]
    (tmp_path / ".proctor" / "runs" / "notes").mkdir()

    assert [path.name[14] for path in store.list_runs(tmp_path, {})] == ["3", "2", "1"]
    assert len(paths) == 3


def test_only_the_oldest_are_removed_a_few_at_a_time_and_never_one_under_way(tmp_path: Path) -> None:
    for number in range(9):
        record(tmp_path, number)
    stranger = tmp_path / ".proctor" / "runs" / "20250101-my-notes"
    stranger.mkdir()
    oldest = tmp_path / ".proctor" / "runs" / started(0).run_id
    lock = store.RunDirectory(Folder(oldest))

    store.prune(tmp_path, {}, keep=2)
    left = {path.name[14] for path in store.list_runs(tmp_path, {})}
    lock.close()

    assert left == {"0", "5", "6", "7", "8"}
    assert stranger.is_dir()


def test_a_run_that_is_just_being_made_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock

    def lock_after_another_run_has_ended(descriptor: int, how: int) -> None:
        if how & fcntl.LOCK_SH:
            store.prune(tmp_path, {}, keep=0)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", lock_after_another_run_has_ended)
    directory = store.open_run(tmp_path, started(1).run_id, {})

    assert directory is not None
    assert not directory.vanished
    assert list(store.list_runs(tmp_path, {})) == [directory.folder]
    directory.close()


def test_a_link_among_the_runs_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    runs = tmp_path / ".proctor" / "runs"
    runs.mkdir(parents=True)
    (runs / "20260101-000001-abcdef").symlink_to(outside)
    record(tmp_path, 2)

    store.prune(tmp_path, {}, keep=1)

    assert outside.is_dir()


def test_a_run_whose_writer_died_is_incomplete(tmp_path: Path) -> None:
    path = record(tmp_path, 1)
    head = msgspec.json.decode((path / "run.json").read_bytes())
    (path / "run.json").write_bytes(msgspec.json.encode(head | {"outcome": "running"}))

    found = store.read_head(Folder(path))
    lock = store.RunDirectory(Folder(path))
    meanwhile = store.read_head(Folder(path))
    lock.close()

    assert found is not None
    assert found.outcome == "incomplete"
    assert meanwhile is not None
    assert meanwhile.outcome == "running"


@pytest.mark.parametrize(
    ("look", "room", "read"),
    [
        (store.read_head, store, "read_inside"),
        (lambda path: read_log.read_log(path).result, read_log, "_entries"),
    ],
)
def test_a_run_that_ends_while_it_is_read_has_not_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[..., Any], room: ModuleType, read: str
) -> None:
    directory = store.open_run(tmp_path, started(1).run_id, {})
    assert directory is not None
    recording = Recording(directory)
    relay = Relay(started(1, root=str(tmp_path)), [recording])
    relay.tick(0.0)
    really_read = getattr(room, read)

    def read_and_end(*arguments: Any) -> Any:
        found = really_read(*arguments)
        relay.close(1.0)
        recording.close()
        return found

    monkeypatch.setattr(room, read, read_and_end)

    assert look(directory.folder).outcome == "running"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"run_id": 1}', b"\xff"])
def test_a_damaged_run_is_passed_over(tmp_path: Path, content: bytes) -> None:
    path = record(tmp_path, 1, ("a", Outcome.FAILED))
    (path / "run.json").write_bytes(content)
    (path / "result.json").write_bytes(content)

    assert store.read_head(Folder(path)) is None
    assert last_failed(tmp_path, {}) == ([], 0)


def test_what_failed_last_is_what_no_later_run_has_mended(tmp_path: Path) -> None:
    record(tmp_path, 1, ("t.py::old", Outcome.FAILED))
    record(tmp_path, 2, ("t.py::a", Outcome.FAILED), ("t.py::b", Outcome.ERROR), ("t.py::c", Outcome.PASSED))
    record(tmp_path, 3, ("t.py::a", Outcome.PASSED), everything=False)
    record(tmp_path, 4, ("t.py::c", Outcome.CRASH), everything=False)

    failed, missed = last_failed(tmp_path, {})
    assert sorted(failed) == ["t.py::b", "t.py::c"]
    assert missed == 0


def test_a_run_that_broke_off_hides_no_earlier_failure(tmp_path: Path) -> None:
    record(tmp_path, 1, ("t.py::a", Outcome.PASSED), ("t.py::b", Outcome.FAILED), ("t.py::c", Outcome.PASSED))
    record(tmp_path, 2, ("t.py::a", Outcome.CRASH), selected=("t.py::a", "t.py::b", "t.py::c", "t.py::d"))
    assert last_failed(tmp_path, {}) == (["t.py::a", "t.py::b"], 2)

    record(tmp_path, 3, ("t.py::c", Outcome.PASSED), everything=False)
    assert last_failed(tmp_path, {}) == (["t.py::a", "t.py::b"], 1)


def test_a_failure_in_quarantine_is_none_that_failed_last(tmp_path: Path) -> None:
    kept = record(
        tmp_path, 1, ("t.py::a", Outcome.FAILED), ("t.py::b", Outcome.FAILED), quarantined=("t.py::a",)
    )

    assert last_failed(tmp_path, {}) == (["t.py::b"], 0)
    assert (kept / "failures.txt").read_text() == "t.py::b\n"


def test_a_mistake_in_a_command_is_not_the_last_run_and_hides_no_failure(tmp_path: Path) -> None:
    real = record(tmp_path, 1, ("t.py::a", Outcome.FAILED), ("t.py::b", Outcome.PASSED))
    mistake = record(tmp_path, 2, ("t.py::a", Outcome.PASSED), ("t.py::b", Outcome.FAILED), mistake=True)

    assert find_run("last", tmp_path, {}).path == real
    assert find_run(mistake.name, tmp_path, {}).path == mistake
    assert last_failed(tmp_path, {}) == (["t.py::a"], 0)


def test_where_all_runs_are_mistakes_there_is_no_last_one(tmp_path: Path) -> None:
    mistake = record(tmp_path, 1, mistake=True)

    with pytest.raises(UsageError, match=f"each is a usage error, the newest {mistake.name}"):
        find_run("last", tmp_path, {})


def test_a_long_text_is_loaded_with_its_middle_left_out(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_bytes(b"a" * 700_000 + b"b" * 700_000)
    load = loader(Folder(tmp_path))

    text = load("long.txt")

    assert text.startswith("aaa")
    assert text.endswith("bbb")
    assert str(tmp_path / "long.txt") in text
    assert len(text) < 1_100_000
    assert "cannot be read" in load("nowhere.txt")

"""A run under way: numbers and names of its suites, and what becomes of it on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.streams import STARTED, Recorder

from proctor import events as e
from proctor.archive import recording
from proctor.errors import LaunchError
from proctor.outcome import Outcome, RunOutcome
from proctor.running import Keeping, Running, Shelf

ENTERED = e.SuiteEntered("s", "s", (), "/p")


def shelf(root: Path, archive: bool = True) -> Shelf:
    return Shelf(root, STARTED.run_id, {"XDG_CACHE_HOME": str(root / "cache")}, Keeping(archive=archive))


def test_the_first_suite_keeps_its_names_and_later_ones_get_numbers(tmp_path: Path) -> None:
    recorder = Recorder()
    with shelf(tmp_path, archive=False) as place:
        run = Running(STARTED, [recorder], place, [], 0.0)
        first = run.enter(ENTERED)
        run.publish_all([e.TestsSelected(("a",)), e.TestsDeselected(("d",)), e.TestStarted("b")], first)
        second = run.enter(ENTERED)
        for name in ("a", "b", "c", "d"):
            run.publish(e.TestFinished(name, Outcome.PASSED), second)
        run.publish_all([e.TestFinished("c", Outcome.PASSED)], first)

    assert (first, second) == (0, 1)
    suites = run.result.suites
    assert (list(suites[1].tests), list(suites[0].tests)) == (["a#2", "b#2", "c", "d#2"], ["c#2"])


def test_an_attached_file_that_was_not_kept_is_said_before_the_verdict(tmp_path: Path) -> None:
    recorder = Recorder()
    with shelf(tmp_path, archive=False) as place:
        run = Running(STARTED, [recorder], place, [], 0.0)
        place.store.fault = OSError(28, "No space left on device")
        result = run.close()

    said = "some attached files were not kept: [Errno 28] No space left on device"
    assert result.notices == [said]
    kinds = [type(entry.event) for entry in recorder.entries]
    assert kinds.index(e.Noticed) < kinds.index(e.RunFinished) == len(kinds) - 1


def test_a_document_that_cannot_be_written_is_a_fault_and_changes_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recording, "document_chunks", full)
    monkeypatch.setattr(recording.Recording, "_move", lambda self, trouble, so_far: full())
    recorder = Recorder()
    with shelf(tmp_path) as place:
        run = Running(STARTED, [recorder], place, [], 0.0)
        result = run.close()
        place.prune()

    assert ([sink.name for sink, _ in run.faults], result.notices) == (["the record of the run"], [])
    assert type(recorder.entries[-1].event) is e.RunFinished


def test_a_run_that_is_kept_has_its_files_in_the_project_and_others_leave_nothing(tmp_path: Path) -> None:
    with shelf(tmp_path) as place:
        run = Running(STARTED, [], place, [], 0.0)
        run.stop(RunOutcome.CANCELLED)
        assert run.stopped
        run.close()
    assert (place.files.path / "result.json").is_file()

    with shelf(tmp_path, archive=False) as scratch:
        files = scratch.files.path
        assert files.is_dir()
    assert not files.exists()


def test_a_run_that_never_started_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(LaunchError), shelf(tmp_path) as place:
        raise LaunchError("no such program")

    assert not place.files.path.exists()


def test_a_run_that_cannot_be_kept_anywhere_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.running.store.open_run", lambda *_, **__: None)
    with shelf(tmp_path) as place:
        run = Running(STARTED, [], place, [], 0.0)

    assert run.result.notices == ["this run is not kept: neither the project nor the cache can be written"]

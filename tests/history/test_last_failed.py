"""What failed last, by the store: the same as a look back at all runs would tell."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.projects import document_of, outcomes, run_suite, write_project

from proctor import events as e
from proctor.history.last_failed import LastEnds
from proctor.history.schema import MIGRATIONS
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.relay import Relay
from proctor.result import RunResult

ROOT = "/project"
SUITE = {"test_a.py": "def test_bad(): assert 0\ndef test_good(): pass\n"}
NAMES = [f"{file}::{test}" for file in ("a.py", "b.py") for test in ("x", "y", "z")]


class Ended(msgspec.Struct, frozen=True):
    """A run, as far as it matters here."""

    outcomes: dict[str, Outcome]
    selected: list[str] = []
    whole: bool = False
    errors: list[str] = []
    mistake: bool = False
    quarantined: list[str] = []

    @property
    def missed(self) -> set[str]:
        return set(self.selected) - self.outcomes.keys()

    def result(self) -> RunResult:
        started = e.RunStarted("r", "pytest", (), ROOT, "python", "2026-01-01T00:00:00Z", self.whole)
        relay = Relay(started, [])
        relay.publish(e.TestsSelected(tuple(dict.fromkeys([*self.outcomes, *self.selected]))), 0.0)
        if self.quarantined:
            relay.publish(e.TestsQuarantined(dict.fromkeys(self.quarantined, "")), 0.0)
        for file in self.errors:
            relay.publish(e.CollectionFailed(file, e.Failure("ImportError", "no")), 0.0)
        for test, outcome in self.outcomes.items():
            relay.publish(e.TestFinished(test, outcome), 0.0)
        if self.mistake:
            relay.publish(e.StatusExplained(RunOutcome.USAGE_ERROR, "not found"), 0.0)
        return relay.close(1.0)


def by_the_store(runs: list[Ended]) -> tuple[set[str], set[str]]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(MIGRATIONS[1])
    for run in runs:
        LastEnds(run.result(), lambda test, _: test).write(connection)
    rows = connection.execute("select target, reached from last_failed where root = ?", (ROOT,)).fetchall()
    connection.close()
    return {target for target, reached in rows if reached}, {
        target for target, reached in rows if not reached
    }


def by_looking_back(runs: list[Ended]) -> tuple[set[str], set[str]]:
    """All runs, the newest first, up to one that knows every test."""
    last: dict[str, bool] = {}
    missed: set[str] = set()
    for run in reversed(runs):
        if run.mistake:
            continue
        here = {
            test: outcome in BAD and test not in run.quarantined for test, outcome in run.outcomes.items()
        }
        here |= dict.fromkeys(run.errors, True)
        missed |= {test for test in run.missed if test not in last}
        last = {**here, **{test.partition("::")[0]: False for test in run.outcomes}, **here, **last}
        if run.whole and here and not run.missed:
            break
    failed = {test for test, bad in last.items() if bad}
    return failed, missed - failed


ends = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([Outcome.PASSED, Outcome.FAILED]), max_size=6)


@st.composite
def runs(draw: st.DrawFn) -> Ended:
    found = draw(ends)
    errors = [] if draw(st.booleans()) else draw(st.sampled_from([["a.py"], ["b.py"], []]))
    found = {test: end for test, end in found.items() if test.partition("::")[0] not in errors}
    reach = [test for test in NAMES if test.partition("::")[0] not in errors]
    return Ended(
        found,
        draw(st.lists(st.sampled_from(reach))) if draw(st.booleans()) else [],
        draw(st.booleans()),
        errors,
        draw(st.integers(0, 9)) == 0,
        draw(st.sampled_from([[], [], NAMES[:1]])),
    )


@given(st.lists(runs(), max_size=8))
def test_the_store_keeps_what_a_look_back_at_all_runs_would_find(history: list[Ended]) -> None:
    assert by_the_store(history) == by_looking_back(history)


def test_a_part_that_failed_is_run_with_its_test_until_that_passes() -> None:
    def run(part: Outcome) -> LastEnds:
        relay = Relay(e.RunStarted("r", "pytest", (), ROOT, "python", "", False), [])
        relay.publish(e.TestFinished("a.py::x", Outcome.PASSED), 0.0)
        relay.publish(e.TestFinished("a.py::x/part", part, part_of="a.py::x"), 0.0)
        return LastEnds(relay.close(1.0), lambda test, _: test)

    connection = sqlite3.connect(":memory:")
    connection.executescript(MIGRATIONS[1])

    run(Outcome.FAILED).write(connection)
    assert connection.execute("select target from last_failed").fetchall() == [("a.py::x",)]
    run(Outcome.PASSED).write(connection)
    assert connection.execute("select target from last_failed").fetchall() == []
    connection.close()


def test_without_an_archive_the_store_knows_what_failed_last(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)
    document_of(root, "--no-archive")

    assert outcomes(document_of(root, "--last-failed", "--no-archive")) == {"test_a.py::test_bad": "failed"}


def test_a_run_that_only_the_archive_has_counts(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)
    document_of(root)
    write_project(root, {"test_a.py": "def test_bad(): pass\ndef test_good(): assert 0\n"})
    document_of(root, "--no-history")

    assert outcomes(document_of(root, "--last-failed")) == {"test_a.py::test_good": "failed"}


def test_a_worktree_knows_only_what_failed_in_it(tmp_path: Path) -> None:
    first = write_project(tmp_path / "first", SUITE)
    (first / ".git").mkdir()
    (first / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    second = write_project(first / "inner", SUITE)
    document_of(first, "test_a.py", "--no-archive")

    ran = run_suite(second, "--last-failed", "--no-archive", "--format", "agent")

    assert "no recorded failures" in ran.err


def test_a_test_whose_file_is_gone_is_not_asked_for(tmp_path: Path) -> None:
    root = write_project(tmp_path, {**SUITE, "test_b.py": "def test_b(): assert 0\n"})
    document_of(root)
    (root / "test_b.py").unlink()

    assert set(outcomes(document_of(root, "--last-failed"))) == {"test_a.py::test_bad"}


@pytest.mark.parametrize("more", [("--no-archive",), ()])
def test_a_test_that_was_running_when_the_time_was_up_failed_last(tmp_path: Path, more: tuple[str]) -> None:
    files = {"test_a.py": "import time\ndef test_a(): pass\ndef test_hangs(): time.sleep(1000)\n"}
    root = write_project(tmp_path, files)
    document_of(root, "--timeout", "4", *more)

    ran = run_suite(root, "--last-failed", "--timeout", "4", "--format", "json", *more)

    assert set(outcomes(ran.document)) == {"test_a.py::test_hangs"}

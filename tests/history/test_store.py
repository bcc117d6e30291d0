"""The store of results: what is added is there, what is too old goes, and nobody else can read it."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sqlite_faults import in_child, without_shared_memory

from proctor.history import retention, schema
from proctor.history import store as stores
from proctor.history.store import (
    KEPT_RUNS,
    FailureRow,
    HistoryError,
    ResultRow,
    RunRow,
    Store,
    TestKey,
    open_store,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ANCIENT = "1970-01-01T00:00:00.000+00:00"
FAILURE = FailureRow(b"f" * 12, "AssertionError: no", "test_a.py", 3)


def run_row(number: int, branch: str = "main", days: float = 0.0) -> RunRow:
    started = NOW - timedelta(days=days) + timedelta(seconds=number)
    return RunRow(
        f"run-{number}", "/p", started.isoformat(timespec="milliseconds"), 1.0, "passed", branch=branch
    )


def result(name: str = "test_a.py::test_a", failure: FailureRow | None = None, attempt: int = 1) -> ResultRow:
    outcome = "failed" if failure else "passed"
    return ResultRow(TestKey(".", "pytest", "pytest", name), attempt, outcome, 1500, "Linux", failure)


def count(store: Store, table: str) -> int:
    return int(store.connection.execute(f"select count(*) from {table}").fetchone()[0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "p-0123456789abcdef.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = open_store(path)
    yield opened
    opened.close()


def test_what_is_added_is_there_when_the_store_is_opened_again(path: Path, store: Store) -> None:
    assert store.add(run_row(1), [result(), result("test_a.py::test_b", FAILURE)], ANCIENT)
    store.close()

    again = open_store(path)
    rows = again.connection.execute(
        "select name, outcome, microseconds, environment.text, failure.text from result"
        " join test on test = test.id join environment on environment = environment.id"
        " left join failure on failure = failure.id order by name"
    ).fetchall()
    assert rows == [
        ("test_a.py::test_a", "passed", 1500, "Linux", None),
        ("test_a.py::test_b", "failed", 1500, "Linux", "AssertionError: no"),
    ]
    again.close()


def test_a_run_that_is_known_is_not_added_twice(store: Store) -> None:
    assert store.add(run_row(1), [result()], ANCIENT)
    assert not store.add(run_row(1), [result("test_a.py::other")], ANCIENT)
    assert (count(store, "run"), count(store, "result"), count(store, "test")) == (1, 1, 1)


def test_a_test_an_environment_and_a_failure_are_stored_once(store: Store) -> None:
    for number in range(5):
        store.add(run_row(number), [result(failure=FAILURE)], ANCIENT)
    assert count(store, "result") == 5
    assert [count(store, table) for table in ("test", "environment", "failure")] == [1, 1, 1]


def test_only_the_owner_can_read_it(path: Path, store: Store) -> None:
    store.add(run_row(1), [result(failure=FAILURE)], ANCIENT)
    for name in path.parent.iterdir():  # those beside it, too
        assert stat.S_IMODE(name.stat().st_mode) == 0o600, name
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_it_has_a_write_ahead_log_and_where_that_cannot_be_it_works_without(path: Path, store: Store) -> None:
    assert store.connection.execute("pragma journal_mode").fetchone() == ("wal",)
    store.close()
    path.unlink()

    def without() -> None:
        without_shared_memory()
        opened = open_store(path)
        assert opened.connection.execute("pragma journal_mode").fetchone() == ("delete",)
        assert opened.add(run_row(1), [result()], ANCIENT)
        opened.close()

    assert in_child(without) == 0
    with_log = open_store(path)
    assert with_log.add(run_row(2), [result()], ANCIENT)
    assert count(with_log, "run") == 2
    with_log.close()


# Retention


def test_the_newest_runs_of_each_branch_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "KEPT_RUNS", 3)
    for number in range(5):
        store.add(run_row(number, "main"), [result()], ANCIENT)
    for number in range(10, 14):
        store.add(run_row(number, "feature"), [result()], ANCIENT)

    ids = {row[0] for row in store.connection.execute("select id from run")}
    assert ids == {"run-2", "run-3", "run-4", "run-11", "run-12", "run-13"}
    assert count(store, "result") == 6


def test_old_runs_of_every_branch_go_a_few_with_each_new_one(store: Store) -> None:
    for number in range(12):
        store.add(run_row(number, f"gone-{number}", days=40), [result()], ANCIENT)
    oldest = (NOW - timedelta(days=30)).isoformat(timespec="milliseconds")

    left = []
    for number in range(20, 24):
        store.add(run_row(number), [result()], oldest)
        left.append(count(store, "run") - (number - 19))
    assert left == [7, 2, 0, 0]
    assert count(store, "result") == 4


def test_what_only_removed_runs_had_goes_in_time(store: Store) -> None:
    old = [result(f"old.py::test_{n}", FailureRow(b"%012d" % n, "x")) for n in range(450)]
    store.add(run_row(1, days=40), old, ANCIENT)
    store.add(
        run_row(2, days=39),
        [ResultRow(TestKey(".", "pytest", "pytest", "older"), 1, "passed", 1, "Linux 5")],
        ANCIENT,
    )
    oldest = (NOW - timedelta(days=30)).isoformat(timespec="milliseconds")
    for number in range(20, 30):
        store.add(run_row(number), [result(failure=FAILURE)], oldest)

    assert [count(store, table) for table in ("test", "failure", "environment")] == [1, 1, 1]


def test_the_file_stops_growing(path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "KEPT_RUNS", 20)
    sizes = []
    for number in range(120):
        failures = [
            result(f"test_a.py::test_{n}", FailureRow(b"%06d%06d" % (number, n), "words " * 20))
            for n in range(40)
        ]
        store.add(run_row(number), failures, ANCIENT)
        sizes.append(int(store.connection.execute("pragma page_count").fetchone()[0]))
    assert sizes[-1] <= sizes[60] * 1.1
    assert count(store, "failure") < 20 * 40 * 2


def test_a_clock_that_was_wrong_costs_no_run(store: Store) -> None:
    store.add(run_row(1), [result()], ANCIENT)
    store.add(run_row(2, days=-30_000), [result()], ANCIENT)  # in the far future
    store.add(run_row(3, days=20_000), [result()], ANCIENT)  # before all others
    assert count(store, "run") == 3


def test_the_kept_number_is_the_promised_one() -> None:
    assert KEPT_RUNS == 200


def test_stores_of_projects_without_runs_for_long_go_when_a_new_one_is_made(path: Path) -> None:
    path.parent.mkdir(parents=True)
    old, young = (path.with_name(f"{name}-0000000000000000.sqlite") for name in ("old", "young"))
    broken, foreign = path.with_name(f"{old.name}.broken-1"), path.with_name("notes.sqlite")
    for name in (old, young, broken, foreign):
        name.write_bytes(b"")
    long_ago = time.time() - 31 * 86_400
    for name in (old, broken, foreign):
        os.utime(name, (long_ago, long_ago))

    open_store(path).close()

    assert sorted(path.parent.iterdir()) == sorted([path, young, foreign])


def test_a_clock_that_is_wrong_costs_no_other_store(path: Path) -> None:
    path.parent.mkdir(parents=True)
    others = [path.with_name(f"other{n}-0000000000000000.sqlite") for n in range(3)]
    years_ago = time.time() - 1000 * 86_400  # as all files are when the clock has jumped ahead
    for number, name in enumerate(others):
        name.write_bytes(b"")
        os.utime(name, (years_ago + number, years_ago + number))

    open_store(path).close()

    assert all(name.exists() for name in others)


# Versions


def test_a_newer_store_is_left_alone_byte_for_byte(path: Path, store: Store) -> None:
    store.add(run_row(1), [result()], ANCIENT)
    store.connection.execute("pragma user_version = 99")
    store.close()
    before = path.read_bytes()

    with pytest.raises(HistoryError, match=r"newer version of proctor \(99, this one has 1\)"):
        open_store(path)

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_an_older_store_is_migrated_and_keeps_its_results(
    path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(run_row(1), [result()], ANCIENT)
    store.close()
    more = {
        2: "alter table run add column host text not null default 'here';\n",
        3: "create table extra (a);\n",
    }
    monkeypatch.setattr(stores, "VERSION", 3)
    monkeypatch.setattr(stores, "MIGRATIONS", schema.MIGRATIONS | more)

    migrated = open_store(path)

    assert migrated.connection.execute("select id, host from run").fetchall() == [("run-1", "here")]
    assert migrated.connection.execute("pragma user_version").fetchone() == (3,)
    assert count(migrated, "extra") == 0
    migrated.close()


def test_a_migration_that_fails_changes_nothing(
    path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(run_row(1), [result()], ANCIENT)
    store.close()
    monkeypatch.setattr(stores, "VERSION", 2)
    broken = {2: "alter table run add column host text not null default 'here';\nno statement;\n"}
    monkeypatch.setattr(stores, "MIGRATIONS", schema.MIGRATIONS | broken)

    with pytest.raises(sqlite3.OperationalError):
        open_store(path)

    monkeypatch.undo()
    again = open_store(path)
    assert count(again, "run") == 1
    assert not again.notice
    again.close()


# Texts


@given(name=st.text(st.characters()), text=st.text(st.characters()))
def test_any_text_is_stored_and_found_again(name: str, text: str) -> None:
    """sqlite has no lone surrogates; names of files may have some."""
    connection = sqlite3.connect(":memory:", isolation_level=None, factory=stores._Connection)
    stores._migrate(connection)
    store = Store.__new__(Store)
    store.connection = connection
    key = TestKey(name, "pytest", name, name)
    row = ResultRow(key, 1, "failed", 1, text, FailureRow(b"f", text, name))
    run = RunRow("id", name, ANCIENT, 1.0, "failed", branch=name, selection=text)

    store.add(run, [row], ANCIENT)
    store.add(RunRow("2", name, ANCIENT, 1.0, "failed", branch=name), [row], ANCIENT)

    found = connection.execute("select folder, runner, suite, name from test").fetchall()
    assert [TestKey(*one) for one in found] == [key]
    assert connection.execute("select count(*) from run where branch = ?", (name,)).fetchone() == (2,)
    assert count(store, "failure") == count(store, "environment") == 1
    connection.close()


def test_a_surrogate_becomes_six_plain_characters(store: Store) -> None:
    store.add(run_row(1), [result("test_\udc80.py::t")], ANCIENT)
    assert store.connection.execute("select name from test").fetchall() == [("test_\\udc80.py::t",)]
    assert TestKey(".", "pytest", "pytest", "test_\udc80") == TestKey(".", "pytest", "pytest", "test_\\udc80")

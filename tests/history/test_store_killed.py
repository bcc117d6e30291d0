"""A process that dies, or has no room left, at any write to the store: nothing is lost but its own run."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.sqlite_faults import die_at, full_at, in_child

from proctor.history.store import FailureRow, ResultRow, RunRow, TestKey, open_store

ANCIENT = "1970-01-01T00:00:00.000+00:00"
STARTED = "2026-06-01T00:00:00.000+00:00"
TESTS = 150  # enough for several pages
GUARD = 400  # writes: many more than there are
WRITERS = 16


def results(number: int) -> list[ResultRow]:
    failure = FailureRow(b"%012d" % number, "AssertionError: " + "x" * 900)
    keys = [TestKey(".", "pytest", "pytest", f"test_a.py::test_{number % 3}_{n}") for n in range(TESTS)]
    return [ResultRow(key, 1, "failed", n, "Linux", failure) for n, key in enumerate(keys)]


def write(path: Path, number: int) -> None:
    store = open_store(path)
    store.add(RunRow(f"run-{number}", "/p", STARTED, 1.0, "failed"), results(number), ANCIENT)
    store.close()


def whole_runs(path: Path) -> set[str]:
    """Those in the store, each with all of its results; it is in order, and needed no mending."""
    store = open_store(path)
    assert not store.notice
    assert store.connection.execute("pragma integrity_check").fetchall() == [("ok",)]
    found = store.connection.execute(
        "select run.id, count(failure.id) from run join result on number = run"
        " join failure on failure = failure.id join test on test = test.id group by run.id"
    ).fetchall()
    assert {number for _, number in found} <= {TESTS}
    assert len(found) == store.connection.execute("select count(*) from run").fetchone()[0]
    store.close()
    return {run for run, _ in found}


def ends_at_each_write(path: Path, known: int, hinder: Callable[[int], None], expected: int) -> int:
    """A writer that is hindered at the first write, the second…, until one comes to its end. Returns when."""
    for number in range(1, GUARD):

        def writer(number: int = number) -> None:
            hinder(number)
            write(path, 1000 + number)

        ended = in_child(writer)
        runs = whole_runs(path)
        assert {f"run-{n}" for n in range(known)} <= runs
        if ended == 0:
            assert f"run-{1000 + number}" in runs
            return number
        assert ended == expected
    raise AssertionError("it never came to its end")


@pytest.mark.parametrize("torn", [False, True], ids=["between writes", "within a write"])
@pytest.mark.parametrize("known", [0, 3], ids=["a new store", "a store with runs"])
def test_kill_9_at_any_write_loses_nothing_but_the_run_itself(tmp_path: Path, known: int, torn: bool) -> None:
    path = tmp_path / "store.sqlite"
    for number in range(known):
        write(path, number)

    ended = ends_at_each_write(path, known, partial(die_at, torn=torn), -signal.SIGKILL)

    assert ended > 10
    assert [name for name in os.listdir(tmp_path) if "broken" in name] == []


@pytest.mark.parametrize("known", [0, 3], ids=["a new store", "a store with runs"])
def test_a_disk_that_is_full_at_any_write_loses_nothing_but_the_run_itself(
    tmp_path: Path, known: int, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "store.sqlite"
    for number in range(known):
        write(path, number)

    ended = ends_at_each_write(path, known, full_at, 1)

    assert ended > 5
    lines = set(capfd.readouterr().err.splitlines())
    assert lines <= {"OperationalError('database or disk is full')", "OperationalError('disk I/O error')"}


def test_sixteen_writers_at_once_and_all_runs_are_there(tmp_path: Path) -> None:
    path = tmp_path / "state" / "store.sqlite"
    wait, go = os.pipe()
    children = []
    for number in range(WRITERS):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(go)
                os.read(wait, 1)  # until the other end is closed
                write(path, number)
                write(path, 100 + number)
                code = 0
            except (sqlite3.Error, OSError) as error:
                os.write(2, f"{error!r}\n".encode())
            finally:
                os._exit(code)
        children.append(child)
    os.close(wait)
    os.close(go)

    assert [os.waitpid(child, 0)[1] for child in children] == [0] * WRITERS
    assert whole_runs(path) == {f"run-{base + n}" for base in (0, 100) for n in range(WRITERS)}

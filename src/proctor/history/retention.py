"""Removes what the store need not keep: a little with each new run, so that no run pays for all."""

from __future__ import annotations

import sqlite3

KEPT_RUNS, KEPT_DAYS = 200, 30  # of each branch
_AT_ONCE = 5  # runs
_LOOKED_AT = 100  # tests that may be of no run any more


def remove_old(connection: sqlite3.Connection, run: int, branch: str, oldest: str) -> None:
    """Removes a few runs that are too many on this branch, or older than the time `oldest`, and some of what
    only they had. `run` is the number of the one that was just added."""
    too_many = "select number from run where branch = ? order by started desc, number desc limit -1 offset ?"
    old = connection.execute(
        f"select number from run where started < ? or number in ({too_many}) order by started limit ?",
        (oldest, branch, KEPT_RUNS, _AT_ONCE),
    ).fetchall()
    for (number,) in old:
        _remove(connection, number)
    if len(old) < _AT_ONCE:  # otherwise some results may be as old
        connection.execute("delete from environment where used < ?", (oldest,))
    _remove_unused_tests(connection, run)


def _remove(connection: sqlite3.Connection, run: int) -> None:
    """With the failures that no other run has."""
    failures = connection.execute(
        "select distinct failure from result where run = ? and failure is not null", (run,)
    ).fetchall()
    connection.execute("delete from result where run = ?", (run,))
    connection.execute("delete from run where number = ?", (run,))
    connection.executemany(
        "delete from failure where id = ?"
        " and not exists (select 1 from result where result.failure = failure.id)",
        failures,
    )


def _remove_unused_tests(connection: sqlite3.Connection, run: int) -> None:
    """Looks at some tests after each run, others than after the one before: at all of them, in time."""
    last = connection.execute("select max(id) from test").fetchone()[0] or 0
    connection.execute(
        "delete from test where id in (select id from test where id >= ? order by id limit ?) and not exists"
        " (select 1 from result where run in (select number from run) and test = test.id)",
        (run % (last // _LOOKED_AT + 1) * _LOOKED_AT, _LOOKED_AT),
    )

"""Removes what the store need not keep: a little with each new run, so that no run pays for all."""

from __future__ import annotations

import sqlite3

KEPT_RUNS, KEPT_DAYS = 200, 30  # of each branch
_AT_ONCE = 5  # runs
_LOOKED_AT = 100  # tests, and failures, that may be of no run any more


def remove_old(connection: sqlite3.Connection, run: int, branch: str, oldest: str) -> None:
    """Removes a few runs that are too many on this branch, or older than the time `oldest`, and some of what
    only they had. `run` is the number of the one that was just added."""
    too_many = "select number from run where branch = ? order by started desc, number desc limit -1 offset ?"
    old = connection.execute(
        f"select number from run where started < ? or number in ({too_many}) order by started limit ?",
        (oldest, branch, KEPT_RUNS, _AT_ONCE),
    ).fetchall()
    for (number,) in old:
        connection.execute("delete from result where run = ?", (number,))
        connection.execute("delete from run where number = ?", (number,))
    if len(old) < _AT_ONCE:  # otherwise some results may be as old
        connection.execute("delete from environment where used < ?", (oldest,))
    _remove_unused(connection, run, "test", "run in (select number from run) and test")
    _remove_unused(connection, run, "failure", "failure")


def _remove_unused(connection: sqlite3.Connection, run: int, table: str, refers: str) -> None:
    """Looks at another part of the table after each run: all of it, in time."""
    last = connection.execute(f"select max(id) from {table}").fetchone()[0] or 0
    parts = last // _LOOKED_AT + 1
    first = run % parts * _LOOKED_AT
    connection.execute(
        f"delete from {table} where id between ? and ?"
        f" and not exists (select 1 from result where {refers} = {table}.id)",
        (first, first + _LOOKED_AT - 1),
    )

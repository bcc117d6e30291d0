"""The tables of the store, and how a file of an older version becomes one of this version."""

from __future__ import annotations

# 1: first published form.
VERSION = 1
APPLICATION = 0x70726374  # in the head of each file (`prct`), so that no other database is taken for a store

#: By the version that it makes of the one before. A statement ends with a semicolon at the end of a line.
MIGRATIONS = {
    1: """
create table run (
    number integer primary key,
    id text not null unique,
    root text not null,
    started text not null,          -- RFC 3339, UTC
    seconds real not null,
    outcome text not null,
    commit_id text not null,        -- empty: no git, or nobody knows
    dirty integer not null,
    branch text not null,           -- empty: no branch
    state text not null,            -- of all files; empty: nobody knows
    tree text not null default '',  -- git's hash of them, where a failure had to be compared
    selection text not null,        -- JSON: what was asked for
    whole integer not null,         -- all tests were asked for
    imported integer not null,      -- read from a report
    passed integer not null,
    failed integer not null,        -- every bad end, and files that could not be collected
    tests integer not null
);
create index run_of_branch on run (branch, started);
create table test (
    id integer primary key,
    folder text not null,           -- that its name is relative to, seen from the top of the repository
    runner text not null,
    suite text not null,
    name text not null,
    unique (folder, runner, suite, name)
);
create table environment (
    id integer primary key,
    text text not null unique,      -- versions of Python, the platform and all that is installed
    used text not null default ''   -- when the last run with it started
);
create table failure (
    id integer primary key,
    fingerprint blob not null unique,
    text text not null,
    file text not null,
    line integer not null
);
-- In the order of runs, so that a run is written, and removed, in one piece. To find the results of a test,
-- name the runs (`run in (…) and test = ?`), or all results are read.
create table result (
    run integer not null,
    test integer not null,
    attempt integer not null,
    outcome text not null,
    microseconds integer not null,
    environment integer,            -- null: imported, which counts in every environment
    failure integer,                -- null: it did not fail
    primary key (run, test, attempt)
) without rowid;
create index bad_result on result (run, test) where failure is not null;
create index result_of_failure on result (failure) where failure is not null;
create table last_failed (
    id integer primary key,         -- in the order in which they became known
    root text not null,             -- of the project
    target text not null,           -- what runs it there; a file, if it could not be collected
    reached integer not null,       -- 0: it did not fail, but no run has come to it
    unique (root, target)
);
""",
}

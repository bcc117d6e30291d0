"""The file with the results of earlier runs. A fault in it costs what it could say, and nothing else."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from proctor.archive.store import FOLDER
from proctor.history.repository import Repository, name_of
from proctor.history.schema import MIGRATIONS, VERSION
from proctor.places import user_state

READ_PATIENCE, WRITE_PATIENCE = 2.0, 10.0  # seconds that another process may hold the file
KEPT_RUNS, KEPT_DAYS = 200, 30  # of each branch
_AT_ONCE = 5  # old runs removed by one new run, so that no run pays for all
_SUFFIX = ".sqlite"


class HistoryError(Exception):
    """The store cannot be used; the message is for the user, or empty where that is nothing to tell."""


def places(root: Path, found: Repository | None, environ: Mapping[str, str]) -> Iterator[Path]:
    """Where the store of a project may be, the proper place first."""
    name = name_of(root, found) + _SUFFIX
    if (state := user_state(environ)) is not None:
        yield state / name
    if not os.path.islink(root / FOLDER):
        yield root / FOLDER / f"history{_SUFFIX}"


def place(root: Path, found: Repository | None, environ: Mapping[str, str]) -> Path:
    """Where it is, or would be. Raises HistoryError if it can be nowhere."""
    candidates = list(places(root, found, environ))
    for path in candidates:
        if os.access(path if path.exists() else _existing(path.parent), os.W_OK):
            return path
    raise HistoryError("")


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


class RunRow(msgspec.Struct, frozen=True):
    """A run, as the store has it."""

    id: str
    root: str
    started: str
    seconds: float
    outcome: str
    commit_id: str = ""
    dirty: bool = False
    branch: str = ""
    state: str = ""
    tree: str = ""
    selection: str = "[]"
    whole: bool = True
    imported: bool = False
    passed: int = 0
    failed: int = 0
    tests: int = 0


class TestKey(msgspec.Struct, frozen=True, order=True):
    """What a test is called in all runs."""

    folder: str
    runner: str
    suite: str
    name: str


class FailureRow(msgspec.Struct, frozen=True):
    fingerprint: bytes
    text: str
    file: str = ""
    line: int = 0


class ResultRow(msgspec.Struct, frozen=True, gc=False):
    test: TestKey
    attempt: int
    outcome: str
    microseconds: int
    environment: str | None = None  # None: imported
    failure: FailureRow | None = None


class Store:
    """An open store."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self.connection = path, connection
        self.notice = ""  # what happened to the file that was there

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self.connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is kept, or nothing. Raises sqlite3.Error."""
        self.connection.execute(f"pragma busy_timeout = {int(WRITE_PATIENCE * 1000)}")
        self.connection.execute("begin immediate")
        try:
            yield self.connection
            self.connection.execute("commit")
        except BaseException:
            with suppress(sqlite3.Error):
                self.connection.execute("rollback")
            raise

    def add(
        self,
        run: RunRow,
        results: Iterable[ResultRow],
        oldest: str,
        more: Callable[[sqlite3.Connection], None] | None = None,
    ) -> bool:
        """Keeps a run, and removes a few that are too many, or older than the time `oldest`. Returns whether
        it is new: a run that is known is not added twice. `more` writes in the same transaction."""
        with self.writing() as connection:
            fields = run.__struct_fields__
            marks = ", ".join("?" * len(fields))
            added = connection.execute(
                f"insert or ignore into run ({', '.join(fields)}) values ({marks})",
                msgspec.structs.astuple(run),
            )
            if not added.rowcount:
                return False
            _add_results(connection, added.lastrowid or 0, list(results))
            if more is not None:
                more(connection)
            _remove_old(connection, run.branch, oldest)
        return True


def _add_results(connection: sqlite3.Connection, run: int, results: Sequence[ResultRow]) -> None:
    tests = _test_ids(connection, [result.test for result in results])
    environments: dict[str | None, int] = {
        text: _id(connection, "environment", "text", (text,))
        for text in {result.environment for result in results}
        if text is not None
    }
    failures: dict[FailureRow | None, int] = {
        result.failure: _id(connection, "failure", "fingerprint, text, file, line", _values(result.failure))
        for result in results
        if result.failure is not None
    }
    connection.executemany(
        "insert or replace into result values (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                tests[result.test],
                run,
                result.attempt,
                result.outcome,
                result.microseconds,
                environments.get(result.environment),
                failures.get(result.failure),
            )
            for result in results
        ],
    )


def _values(failure: FailureRow) -> tuple[bytes, str, str, int]:
    return failure.fingerprint, failure.text, failure.file, failure.line


def _id(connection: sqlite3.Connection, table: str, columns: str, values: tuple[object, ...]) -> int:
    """Of the row with the first of these values, which is unique; added if there is none."""
    marks = ", ".join("?" * len(values))
    connection.execute(f"insert or ignore into {table} ({columns}) values ({marks})", values)
    first = columns.partition(",")[0]
    found: int = connection.execute(f"select id from {table} where {first} = ?", values[:1]).fetchone()[0]
    return found


def _test_ids(connection: sqlite3.Connection, tests: Iterable[TestKey]) -> dict[TestKey, int]:
    wanted = dict.fromkeys(tests)
    found: dict[TestKey, int] = {}
    for group in {(test.folder, test.runner, test.suite) for test in wanted}:
        rows = connection.execute(
            "select id, name from test where folder = ? and runner = ? and suite = ?", group
        )
        found |= {TestKey(*group, name): number for number, name in rows}
    for test in wanted:
        if test not in found:
            added = connection.execute(
                "insert into test (folder, runner, suite, name) values (?, ?, ?, ?)",
                (test.folder, test.runner, test.suite, test.name),
            )
            found[test] = added.lastrowid or 0
    return found


def _remove_old(connection: sqlite3.Connection, branch: str, oldest: str) -> None:
    too_many = "select number from run where branch = ? order by started desc, number desc limit -1 offset ?"
    old = connection.execute(
        f"select number from run where started < ? or number in ({too_many}) order by started limit ?",
        (oldest, branch, KEPT_RUNS, _AT_ONCE),
    ).fetchall()
    for (number,) in old:
        # By test, because the results are in the order of the tests.
        connection.execute("delete from result where run = ? and test in (select id from test)", (number,))
        connection.execute("delete from run where number = ?", (number,))


def open_store(path: Path, make: bool = True) -> Store:
    """The store at this path. Raises HistoryError, sqlite3.Error or OSError."""
    if not make and not path.exists():
        raise HistoryError("")
    if make:
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
    try:
        return _opened(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) or not make:
            raise
        moved = _move_aside(path)
        store = _opened(path)
        store.notice = f"the history of the tests could not be read ({error}): it is kept as {moved}"
        return store


def _move_aside(path: Path) -> Path:
    for number in range(1, 1000):
        aside = path.with_name(f"{path.name}.broken-{number}")
        if not aside.exists():
            break
    os.replace(path, aside)
    for ending in ("-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{ending}")
    return aside


def _opened(path: Path) -> Store:
    connection = sqlite3.connect(path, timeout=READ_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        version = connection.execute("pragma user_version").fetchone()[0]
        connection.execute("pragma synchronous = normal")
        if version > VERSION:
            raise HistoryError(
                f"the history of the tests is of a newer version of proctor ({version}, this one has"
                f" {VERSION}): it is not used; it is in {path}"
            )
        if version < VERSION:
            _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return Store(path, connection)


def _migrate(connection: sqlite3.Connection) -> None:
    # Where the file system has no shared memory, the answer is another mode.
    with suppress(sqlite3.OperationalError):
        connection.execute("pragma journal_mode = wal")
    connection.execute("begin immediate")
    try:
        version = connection.execute("pragma user_version").fetchone()[
            0
        ]  # another process may have been first
        for number in range(version + 1, VERSION + 1):
            for statement in MIGRATIONS[number].split(";\n"):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise

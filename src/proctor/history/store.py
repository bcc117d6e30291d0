"""The file with the results of earlier runs. A fault in it costs what it could say, and nothing else."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from proctor.digest import blake2b
from proctor.history import file
from proctor.history.file import HistoryError, place, places
from proctor.history.repository import Repository
from proctor.history.retention import KEPT_DAYS, KEPT_RUNS, remove_old
from proctor.history.schema import APPLICATION, MIGRATIONS, VERSION
from proctor.text import literal

__all__ = [
    "FailureRow",
    "HistoryError",
    "KEPT_DAYS",
    "KEPT_RUNS",
    "ResultRow",
    "RunRow",
    "Store",
    "TestKey",
    "open_first",
    "open_store",
    "place",
    "places",
]

READ_PATIENCE, WRITE_PATIENCE = 2.0, 10.0  # seconds that another process may hold the file
_FEW = 100  # tests that are looked up one by one
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_UNWRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)


class RunRow(
    msgspec.Struct, frozen=True, rename={"id": "run_id", "seconds": "duration", "commit_id": "commit"}
):
    """A run, as the store has it; in JSON under the names that every other record uses."""

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
    """What a test is called in all runs, as UTF-8 can carry it."""

    folder: str
    runner: str
    suite: str
    name: str

    def __post_init__(self) -> None:
        if not (self.name.isascii() and self.folder.isascii() and self.suite.isascii()):
            for field in ("folder", "suite", "name"):
                msgspec.structs.force_setattr(self, field, literal(getattr(self, field)))


class FailureRow(msgspec.Struct, frozen=True):
    fingerprint: bytes
    text: str
    file: str = ""
    line: int = 0

    @classmethod
    def of(cls, text: str, file: str, line: int) -> FailureRow:
        said = f"{text}\0{file}\0{line}".encode("utf-8", "surrogatepass")
        return cls(blake2b(said, digest_size=12).digest(), text, file, line)


class ResultRow(msgspec.Struct, frozen=True, gc=False):
    test: TestKey
    attempt: int
    outcome: str
    microseconds: int
    environment: str | None = None  # None: imported
    failure: FailureRow | None = None


class _Connection(sqlite3.Connection):
    """sqlite has UTF-8 alone: a lone surrogate in a value is stored, and looked for, as `\\udc80`."""

    def execute(self, statement: str, values: Any = (), /) -> sqlite3.Cursor:
        try:
            return super().execute(statement, values)
        except UnicodeEncodeError:
            return super().execute(statement, _carried(values))


def _carried(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(literal(value) if isinstance(value, str) else value for value in values)


class Store:
    """An open store."""

    def __init__(self, path: Path, patience: float = READ_PATIENCE) -> None:
        """Raises sqlite3.Error, OSError, or HistoryError if a newer version of proctor has made it."""
        self.path = path
        self.notice = ""  # what happened to the file that was there
        self._file = file.identity(path)
        self.connection: sqlite3.Connection = _connected(path, patience)

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
            number = added.lastrowid or 0
            _add_results(connection, number, run.started, list(results))
            if more is not None:
                more(connection)
            remove_old(connection, number, run.branch, oldest)
        return True

    def renew(self, error: sqlite3.Error) -> None:
        """After an error that says that the file is damaged: goes on with a new file, and has a notice about
        the old one. Raises any other error again."""
        if not _is_damage(error):
            raise error
        self.close()
        renewed = _replaced(self.path, self._file, str(error))
        self.connection, self.notice, self._file = renewed.connection, renewed.notice, renewed._file


def _is_damage(error: sqlite3.Error) -> bool:
    return _code(error) in _DAMAGE


def _code(error: sqlite3.Error) -> int:
    """Without the details."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _add_results(
    connection: sqlite3.Connection, run: int, started: str, results: Sequence[ResultRow]
) -> None:
    tests = _test_ids(connection, [result.test for result in results])
    environments: dict[str | None, int] = {
        text: _id(connection, "environment", "text", (text,))
        for text in {result.environment for result in results}
        if text is not None
    }
    for number in environments.values():
        connection.execute(
            "update environment set used = ? where id = ? and used < ?", (started, number, started)
        )
    failures: dict[FailureRow | None, int] = {
        failure: _id(connection, "failure", "fingerprint, text, file, line", msgspec.structs.astuple(failure))
        for failure in {result.failure for result in results}
        if failure is not None
    }
    found = {
        (tests[result.test], result.attempt): (
            result.outcome,
            result.microseconds,
            environments.get(result.environment),
            failures.get(result.failure),
        )
        for result in results
    }
    connection.executemany(  # in the order in which they are stored: each page is written once
        "insert into result values (?, ?, ?, ?, ?, ?, ?)",
        [(run, *key, *found[key]) for key in sorted(found)],
    )


def _id(connection: sqlite3.Connection, table: str, columns: str, values: tuple[object, ...]) -> int:
    """Of the row with the first of these values, which is unique; added if there is none."""
    first = columns.partition(",")[0]
    ask = f"select id from {table} where {first} = ?"
    if (found := connection.execute(ask, values[:1]).fetchone()) is not None:
        return int(found[0])
    marks = ", ".join("?" * len(values))
    return connection.execute(f"insert into {table} ({columns}) values ({marks})", values).lastrowid or 0


def _test_ids(connection: sqlite3.Connection, tests: Iterable[TestKey]) -> dict[TestKey, int]:
    wanted: dict[tuple[str, str, str], dict[str, TestKey]] = {}
    for test in tests:
        wanted.setdefault((test.folder, test.runner, test.suite), {})[test.name] = test
    found: dict[TestKey, int] = {}
    of_group = "select name, id from test where folder = ? and runner = ? and suite = ?"
    for group, names in wanted.items():
        known: dict[str, int] = {}
        if len(names) > _FEW:
            known.update(connection.execute(of_group, group))
        else:
            for name in names:
                known.update(connection.execute(f"{of_group} and name = ?", (*group, name)))
        for name, test in names.items():
            if (number := known.get(name)) is None:
                added = connection.execute(
                    "insert into test (folder, runner, suite, name) values (?, ?, ?, ?)", (*group, name)
                )
                number = added.lastrowid or 0
            found[test] = number
    return found


def open_first(
    root: Path, found: Repository | None, environ: Mapping[str, str], patience: float = READ_PATIENCE
) -> Store:
    """The store of a project, in the first place that can be written. Raises as `open_store` does."""
    for path in places(root, found, environ):
        try:
            return open_store(path, patience=patience)
        except OSError as error:
            if error.errno not in file.ELSEWHERE:
                raise
        except sqlite3.OperationalError as error:
            if _code(error) not in _UNWRITABLE:
                raise
    raise HistoryError("")


def open_store(path: Path, make: bool = True, patience: float = READ_PATIENCE) -> Store:
    """The store at this path; `make` a new one if there is none. What is there and is no store is moved
    aside, with a notice. Raises HistoryError, sqlite3.Error or OSError."""
    if make:
        file.make_folder(path)
    if file.is_missing(path):
        if not make:
            raise HistoryError("")
        with file.alone(path.parent, patience):
            _make(path)
    seen = file.identity(path)
    if file.is_something_else(path):
        return _replaced(path, seen, "it is no file")
    try:
        return Store(path, patience)
    except sqlite3.DatabaseError as error:
        if not _is_damage(error):
            raise
        return _replaced(path, seen, str(error))


def _replaced(path: Path, seen: tuple[int, int] | None, why: str) -> Store:
    """A new store instead of the file that was seen, unless another process has been here meanwhile."""
    notice = ""
    with file.alone(path.parent, READ_PATIENCE):
        if file.identity(path) == seen:
            moved = file.move_aside(path)
            notice = f"the history of the tests could not be read ({why}): it is kept as {moved}"
        _make(path)
    store = Store(path)
    store.notice = notice
    return store


def _make(path: Path) -> None:
    """A new file, which appears when it is whole."""
    if os.path.exists(path):
        return  # another process was faster
    proper = os.path.realpath(path)
    new = os.path.join(os.path.dirname(proper), f".{path.name}.new")
    try:
        _fill(new, "wal")
    except sqlite3.OperationalError as error:
        if _code(error) == sqlite3.SQLITE_FULL:
            raise
        _fill(new, "delete")  # a file system without shared memory
    os.rename(new, proper)
    if not file.is_in_project(path):
        file.remove_stale(path, KEPT_DAYS)


def _fill(new: str, journal_mode: str) -> None:
    file.discard(new)  # a process that was killed may have left one
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        connection = sqlite3.connect(new, isolation_level=None)
        try:
            connection.execute(f"pragma journal_mode = {journal_mode}")
            _migrate(connection)
        finally:
            connection.close()
    except BaseException:
        file.discard(new)
        raise


def _connected(path: Path, patience: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=patience, isolation_level=None, check_same_thread=False, factory=_Connection
    )
    try:
        version = connection.execute("pragma user_version").fetchone()[0]
        ours = connection.execute("pragma application_id").fetchone()[0] == APPLICATION
        if not ours and connection.execute("select 1 from sqlite_master limit 1").fetchone():
            raise _damage("it is another database")
        if version > VERSION:
            raise HistoryError(
                f"the history of the tests is of a newer version of proctor ({version}, this one has"
                f" {VERSION}): it is not used; it is in {path}"
            )
        connection.execute("pragma synchronous = normal")
        if version < VERSION:
            _migrate(connection)
        else:
            _check_writable(connection, patience)
    except BaseException:
        connection.close()
        raise
    return connection


def _damage(why: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(why)
    error.sqlite_errorcode = sqlite3.SQLITE_NOTADB
    return error


def _check_writable(connection: sqlite3.Connection, patience: float) -> None:
    """sqlite opens what it may not write for reading, and in a sandbox nothing else tells the difference."""
    connection.execute("pragma busy_timeout = 0")
    try:
        connection.execute("begin immediate")
        connection.execute("rollback")
    except sqlite3.OperationalError as error:
        if _code(error) != sqlite3.SQLITE_BUSY:  # somebody writes: so can we
            raise
    connection.execute(f"pragma busy_timeout = {int(patience * 1000)}")


def _migrate(connection: sqlite3.Connection) -> None:
    connection.execute("begin immediate")
    try:
        # Another process may have been first.
        version = connection.execute("pragma user_version").fetchone()[0]
        for number in range(version + 1, VERSION + 1):
            for statement in MIGRATIONS[number].split(";\n"):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute("commit")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("rollback")
        raise

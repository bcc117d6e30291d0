"""The history as JSON lines, one for each run, so that another store can have it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from proctor import decoding
from proctor.errors import StreamError
from proctor.history.store import FailureRow, ResultRow, RunRow, Store, TestKey
from proctor.remembered import SCHEMA
from proctor.wire.literal import encode_line

_OPENING = b'{"schema":"' + SCHEMA.encode()


class _Failure(msgspec.Struct):
    message: str
    file: str = ""
    line: int = 0


class _Result(msgspec.Struct):
    node_id: str
    outcome: str
    duration: float
    attempt: int = 1
    folder: str = "."  # that the id is relative to, seen from the top of the repository
    runner: str = ""
    suite: str = ""
    environment: int | None = None  # a number in `environments`
    failure: _Failure | None = None


class _Line(msgspec.Struct):
    schema: str
    run: RunRow
    environments: list[str] = []
    results: list[_Result] = []


def lines(store: Store) -> Iterator[bytes]:
    """The oldest run first."""
    columns = ", ".join(RunRow.__struct_fields__)
    runs = store.connection.execute(f"select number, {columns} from run order by started, number").fetchall()
    for number, *values in runs:
        row: dict[str, Any] = dict(zip(RunRow.__struct_fields__, values, strict=True))
        flags = {name: bool(row[name]) for name in ("dirty", "whole", "imported")}
        environments: dict[str, int] = {}
        results = [_result(found, environments) for found in _results(store, number)]
        line = {
            "schema": SCHEMA,
            "run": RunRow(**row | flags),
            "environments": list(environments),
            "results": results,
        }
        yield encode_line(line)


def _results(store: Store, run: int) -> Iterator[tuple[Any, ...]]:
    return store.connection.execute(
        "select name, outcome, microseconds, attempt, folder, runner, suite"
        ", (select text from environment where id = environment), failure.text, file, line"
        " from result join test on test = test.id left join failure on failure.id = failure"
        " where run = ? order by test, attempt",
        (run,),
    )


def _result(row: tuple[Any, ...], environments: dict[str, int]) -> _Result:
    *first, folder, runner, suite, environment, text, file, line = row
    name, outcome, microseconds, attempt = first
    where = None if environment is None else environments.setdefault(environment, len(environments))
    failure = None if text is None else _Failure(text, file, line)
    return _Result(name, outcome, microseconds / 1e6, attempt, folder, runner, suite, where, failure)


def is_export(beginning: bytes) -> bool:
    return beginning.startswith(_OPENING)


def read(data: bytes, name: str) -> Iterator[tuple[RunRow, list[ResultRow]]]:
    """The runs of an export. As in every import, results count in all environments, so that these and the
    states of the files say nothing here. Raises StreamError."""
    decoder = decoding.decoder(_Line)
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise StreamError(f"{name}: line {number} is no line of a history: {error}") from None
        if found.schema != SCHEMA:
            raise StreamError(f"{name}: line {number} is of {found.schema!r}: expected {SCHEMA!r}")
        run = msgspec.structs.replace(found.run, state="", tree="", imported=True)
        yield run, list(map(_row, found.results))


def _row(result: _Result) -> ResultRow:
    test = TestKey(result.folder, result.runner, result.suite, result.node_id)
    failure = None
    if result.failure is not None:
        failure = FailureRow.of(result.failure.message, result.failure.file, result.failure.line)
    return ResultRow(test, result.attempt, result.outcome, round(result.duration * 1e6), None, failure)

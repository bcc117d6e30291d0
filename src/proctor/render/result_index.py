"""The failure index of a result: between two sentinels, `test | error | file:line` for each failure."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import join, relpath

from proctor.causes import COLLECT, bad_tests, occurrences
from proctor.events import Place, TestFinished
from proctor.failure_row import LENGTH, ROWS, Row, block, encode, error
from proctor.result import RunResult


def failure_index(result: RunResult, most: int = ROWS, length: int = LENGTH) -> str:
    """Empty if nothing failed. Collection errors come first, then the tests in the order of collection."""
    rows = list(_rows(result, length))
    return block(map(encode, rows[:most]), max(0, len(rows) - most))


def _rows(result: RunResult, length: int) -> Iterator[Row]:
    relative = _Relative(result)
    yield from dict.fromkeys(
        Row(relative.id(e.file), error(e.failure.message, COLLECT, length), _text(e.failure.place))
        for e in result.collection_errors
    )
    for test in bad_tests(result):
        yield from _rows_of(test, relative, length)


def _rows_of(test: TestFinished, relative: _Relative, length: int) -> Iterator[Row]:
    name = relative.id(test.test)
    defined = relative.id(str(test.place)) if test.place and test.place.line else ""
    for found in occurrences(test):
        message = found.failure.message or test.message or ("" if test.phases else test.outcome)
        label = f"{name} {found.subtest}" if found.subtest else name
        yield Row(label, error(message, found.when, length), _text(found.failure.place) or defined)


def _text(place: Place | None) -> str:
    return str(place) if place else ""


class _Relative:
    """Writes ids relative to the directory in which the run was started, not to the project's root."""

    def __init__(self, result: RunResult) -> None:
        self._root = result.described.root if result.described else ""
        self._here = result.run.cwd

    def id(self, name: str) -> str:
        if not self._root or not self._here or self._root == self._here:
            return name
        path, colons, rest = name.partition("::")
        return relpath(join(self._root, path), self._here) + colons + rest if path else name

"""The failure index of a result: between two sentinels, `test | error | file:line` for each failure."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import join, relpath

from proctor.events import Failure, Phase, Place, TestFinished
from proctor.failure_row import LENGTH, ROWS, Row, block, encode, error
from proctor.outcome import BAD
from proctor.result import RunResult


def failure_index(result: RunResult, most: int = ROWS, length: int = LENGTH) -> str:
    """Empty where nothing failed. Collection errors come first, then the tests in the order of collection."""
    rows = list(_rows(result, length))
    return block(map(encode, rows[:most]), max(0, len(rows) - most))


def _rows(result: RunResult, length: int) -> Iterator[Row]:
    names = _Names(result)
    collected = {
        Row(names.shown(e.file), error(e.failure.message, "collect", length), _text(e.failure.place)): None
        for e in result.collection_errors
    }
    yield from collected
    bad = [test for test in result.tests.values() if test.outcome in BAD]
    for test in sorted(bad, key=names.position):
        yield from _of_test(test, names, length)


def _of_test(test: TestFinished, names: _Names, length: int) -> Iterator[Row]:
    name = names.shown(test.test)
    defined = names.shown(str(test.place)) if test.place and test.place.line else ""
    phases = [phase for phase in test.phases if phase.outcome == "failed"]
    if any(phase.subtest is not None for phase in phases):
        phases = [phase for phase in phases if phase.subtest is not None or _raised(phase)]
    for phase in phases:
        told = None if phase.longrepr else test.failure  # a public stream tells of the test's failure alone
        failure = phase.failure or told or Failure("", phase.longrepr)
        shown = error(failure.message or test.message or "", phase.when, length)
        label = name if phase.subtest is None else f"{name} {phase.subtest}"
        yield Row(label, shown, _text(failure.place) or defined)
    if not phases:  # it has none, or none that failed: what ended it came from outside
        failure = test.failure or Failure()
        shown = error(failure.message or test.message or test.outcome, length=length)
        yield Row(name, shown, _text(failure.place) or defined)


def _raised(phase: Phase) -> bool:
    """It failed by itself, not for its subtests."""
    return phase.failure is not None and bool(phase.failure.type)


def _text(place: Place | None) -> str:
    return str(place) if place else ""


class _Names:
    """The names of tests, seen from where the run was started, and the order in which they were collected."""

    def __init__(self, result: RunResult) -> None:
        self._order = {test: position for position, test in enumerate(result.selected)}
        self._root = result.described.root if result.described else ""
        self._here = result.run.cwd

    def position(self, test: TestFinished) -> int:
        return self._order.get(test.part_of or test.test, len(self._order))

    def shown(self, name: str) -> str:
        if not self._root or not self._here or self._root == self._here:
            return name
        path, colons, rest = name.partition("::")
        return relpath(join(self._root, path), self._here) + colons + rest if path else name

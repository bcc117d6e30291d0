"""The failure index of a result: between two sentinels, `test | error | file:line` for each failure."""

from __future__ import annotations

from posixpath import join, relpath

from proctor.causes import Occurrence, failures
from proctor.failure_row import LENGTH, ROWS, Row, block, encode, error, unescaped
from proctor.result import RunResult


def failure_index(result: RunResult, most: int = ROWS, length: int = LENGTH) -> str:
    """Empty if nothing failed. Collection errors come first, each once, then tests as selected."""
    found = [(failure.finished, _row(failure, result, length)) for failure in failures(result)]
    rows = [*dict.fromkeys(row for test, row in found if test is None), *(row for test, row in found if test)]
    return block(map(encode, rows[:most]), max(0, len(rows) - most))


def _row(found: Occurrence, result: RunResult, length: int) -> Row:
    name, message, place = _relative(found.test, result), found.failure.message, found.failure.place
    if found.failure.exact:
        message = unescaped(found.failure.exact)
    defined, test = "", found.finished
    if test is not None:
        message = message or test.message or ("" if test.phases else test.outcome)
        defined = _relative(str(test.place), result) if test.place and test.place.line else ""
    label = f"{name} {found.subtest}" if found.subtest else name
    return Row(label, error(message, found.when, length), str(place) if place else defined)


def _relative(name: str, result: RunResult) -> str:
    """The id relative to the directory in which the run was started, not to the project's root."""
    root, here = result.described.root if result.described else "", result.run.cwd
    path, colons, rest = name.partition("::")
    if not (path and root and here) or root == here:
        return name
    return relpath(join(root, path), here) + colons + rest

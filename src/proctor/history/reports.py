"""Runs that were read from reports, as rows of the store: with the names that runs of this project have."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from proctor.history.rows import Keys, rows
from proctor.history.store import ResultRow, RunRow, TestKey
from proctor.result import RunResult
from proctor.runners.table import RUNNERS
from proctor.unique_names import without_number
from proctor.wire.reports.id_parts import id_parts

_PYTEST = "pytest"
#: Whose tests a report has, where its format says it.
_RUNNERS = {
    "reportlog": _PYTEST,
    "json-report": _PYTEST,
    "go-json": "go",
    "jest": "jest",
    "vitest": "vitest",
    "libtest": "cargo",
    "libtest-json": "cargo",
    "tap": "tap",
}


class ReportKeys(Keys):
    """What the tests of a report are called in runs of this project.

    Names that are those of Python tests are looked up: `tests.test_a.TestX::test_m`, as JUnit has it, is
    `tests/test_a.py::TestX::test_m` if there is such a file.
    """

    def __init__(self, result: RunResult, root: str, top: str) -> None:
        self._result, self._root, self._top = result, root, top
        self._found: dict[str, tuple[str, str]] = {}  # folder and path, by a path or a dotted name
        self._earlier = [set[str]() for _ in result.suites]
        seen: set[str] = set()
        for number, suite in enumerate(result.suites):
            self._earlier[number] = set(seen)
            seen |= suite.tests.keys()

    def of(self, test: str, number: int) -> TestKey:
        suite = self._result.suites[number]
        runner = suite.entered.runner
        base = without_number(test)
        name = base if base in self._earlier[number] else test
        folder, found = self._python(name)
        own = os.path.relpath(self._root, self._top)
        if runner in RUNNERS:
            # Where the ids of pytest are relative to a directory above the project, their files are there.
            at = folder if runner == _PYTEST and found == name else own
            return TestKey(at, runner, suite.whole_name, name)
        if found:
            return TestKey(folder, _PYTEST, _PYTEST, found)
        known = _RUNNERS.get(runner, runner)
        return TestKey(own, known, known, name)

    def _python(self, name: str) -> tuple[str, str]:
        """The folder and the id of a Python test, or file; nothing if there is no such file."""
        path, names = id_parts(name)
        if path not in self._found:
            self._found[path] = self._file(path)
        folder, found = self._found[path]
        return (folder, "::".join([found, *names])) if found else (os.path.relpath(self._root, self._top), "")

    def _file(self, path: str) -> tuple[str, str]:
        for base in self._bases():
            if path.endswith(".py") and os.path.isfile(os.path.join(base, path)):
                return os.path.relpath(base, self._top), path
            parts = path.split(".")
            for count in range(len(parts), 0, -1):
                file = "/".join(parts[:count]) + ".py"
                if all(parts) and "/" not in path and os.path.isfile(os.path.join(base, file)):
                    return os.path.relpath(base, self._top), "::".join([file, *parts[count:]])
        return ".", ""

    def _bases(self) -> Iterator[str]:
        """The project, and the directories above it up to the top of the repository."""
        base = self._root
        yield base
        while base != self._top and os.path.dirname(base) != base:
            base = os.path.dirname(base)
            yield base


def report_rows(result: RunResult, root: str, top: str, mask: Callable[[str], str]) -> Iterator[ResultRow]:
    """They count in every environment."""
    environments = [""] * len(result.suites)
    for row in rows(result, ReportKeys(result, root, top), environments, mask):
        yield msgspec.structs.replace(row, environment=None)


def run_row(result: RunResult, run_id: str, root: str, branch: str, otherwise: float) -> RunRow:
    """`run_id` is for a report that names none; `otherwise` the time for one that has none."""
    summary = result.summary()
    return RunRow(
        result.run.run_id or run_id,
        root,
        _started(result, otherwise),
        result.seconds,
        result.outcome,
        branch=branch,
        selection=os.fsdecode(msgspec.json.encode([*result.run.asked, "--"])),
        whole=result.run.everything,
        imported=True,
        passed=summary["passed"] + summary["flaky"],
        failed=summary["failed"] + summary["errors"],
        tests=summary["total"],
    )


def _started(result: RunResult, otherwise: float) -> str:
    """As every run of the store has it, so that times can be compared as texts."""
    try:
        began = datetime.fromisoformat(result.run.started)
        return utc(began if began.tzinfo else began.replace(tzinfo=UTC))
    except ValueError:
        pass
    ends = _ends(result)
    try:
        return utc(datetime.fromtimestamp(min(ends), UTC) if ends else datetime.fromtimestamp(otherwise, UTC))
    except (ValueError, OverflowError, OSError):
        return utc(datetime.fromtimestamp(otherwise, UTC))


def _ends(result: RunResult) -> Sequence[float]:
    """When its sessions began, by what they say at their ends."""
    finished = (session.finished for suite in result.suites for session in suite.sessions)
    return [end.created - end.duration for end in finished if end is not None and end.created > 0]


def utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")

"""The outcome of each test, as a tree of files, classes, functions and parameters."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.outcome import Outcome
from proctor.render.discovery_tree import new_branches, split_id
from proctor.render.failure_report import short
from proctor.render.human import write_report
from proctor.render.line_per_test import TestLine, mark, tone
from proctor.render.neutral import neutral
from proctor.render.writer import Writer
from proctor.result import RunResult

_Leaf = tuple[tuple[str, ...], TestLine]


def write_outcome_tree(result: RunResult, write: Writer) -> None:
    """Files in the order in which their first test ended, whatever ran at the same time."""
    files: dict[str, list[_Leaf]] = {}
    for leaf in _leaves(result):
        files.setdefault(leaf[0][0], []).append(leaf)
    above: list[str] = []
    for (*parents, name), line in (leaf for leaves in files.values() for leaf in leaves):
        for branch in new_branches(above, parents):
            write(f"{branch}\n")
        write("  " * len(parents) + f"{line.mark} {neutral(name)}{line.remark}\n", line.tone)
        above = parents
    write_report(result, write)


def _leaves(result: RunResult) -> Iterator[_Leaf]:
    for error in result.collection_errors:
        why = f": {short(error.failure.message)}" if error.failure.message else ""
        yield (error.file,), TestLine(mark(Outcome.ERROR), tone(Outcome.ERROR), why)
    for suite in result.suites:
        for test in suite.tests.values():
            yield split_id(test.test), TestLine.of(test, suite)
    for name in result.not_run:
        yield split_id(name), TestLine(mark(Outcome.NOT_RUN), tone(Outcome.NOT_RUN))

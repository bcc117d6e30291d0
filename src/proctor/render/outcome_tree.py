"""What became of each test, as a tree of files, classes, functions and parameters."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.events import TestFinished
from proctor.outcome import Outcome
from proctor.render.discovery_tree import split_id
from proctor.render.failure_report import short
from proctor.render.human import write_report
from proctor.render.line_per_test import mark, remark, tone
from proctor.render.neutral import neutral
from proctor.render.writer import Tone, Writer
from proctor.result import RunResult

_Leaf = tuple[tuple[str, ...], str, str, Tone]  # path, mark, remark, tone


def write_outcome_tree(result: RunResult, write: Writer) -> None:
    """Branches in the order in which their first test ended, whatever ran at the same time."""
    branch: dict[tuple[str, ...], list[_Leaf]] = {}
    for leaf in _leaves(result):
        branch.setdefault(leaf[0][:1], []).append(leaf)
    above: tuple[str, ...] = ()
    for leaves in branch.values():
        for path, word, rest, how in leaves:
            *parents, name = path
            shared = 0
            while shared < min(len(above), len(parents)) and above[shared] == parents[shared]:
                shared += 1
            for depth in range(shared, len(parents)):
                write("  " * depth + neutral(parents[depth]) + "\n")
            write("  " * len(parents) + f"{word} {neutral(name)}{rest}\n", how)
            above = tuple(parents)
    write_report(result, write)


def _leaves(result: RunResult) -> Iterator[_Leaf]:
    for error in result.collection_errors:
        why = f": {short(error.failure.message)}" if error.failure.message else ""
        yield (error.file,), mark(Outcome.ERROR), why, "bad"
    for test in result.tests.values():
        yield _leaf(test)
    for name in result.not_run:
        yield split_id(name), mark(Outcome.NOT_RUN), "", "odd"


def _leaf(test: TestFinished) -> _Leaf:
    return split_id(test.test), mark(test.outcome), remark(test), tone(test.outcome)

"""The history of a project for people: its runs, the results of a test, flaky and slow tests."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime

from proctor.durations import ago, brief
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.remembered import FlakyTest, RememberedResult, RememberedRun, SlowTest
from proctor.render.history_words import COMMIT
from proctor.render.neutral import neutral
from proctor.render.table import Cell, cell, write_table
from proctor.render.writer import Tone, Writer
from proctor.text import first_line

_RUNS = ("RUN", "AGE", "OUTCOME", "TIME", "COMMIT", "BRANCH", "TESTS", "ASKED FOR")
_RESULTS = ("OUTCOME", "TIME", "AGE", "COMMIT", "BRANCH", "RUN", "")
_STRIP = 60  # results in a row of marks
_MESSAGE = 200  # characters
_LEVELS, _PLAIN_LEVELS = "▁▂▃▄▅▆▇█", "_.-:=+*#"
_PASS, _FAIL, _RETRIED, _OTHER = range(4)
_MARKS, _PLAIN_MARKS = "✓✗↻·", ".FRs"
_TONES: tuple[Tone, ...] = ("good", "bad", "odd", "quiet")
NEEDED = _LEVELS + _MARKS  # characters that an output must be able to write


def write_runs(runs: Sequence[RememberedRun], now: datetime, write: Writer) -> None:
    """One line each."""
    write_table(_RUNS, [tuple(_cells(run, now)) for run in runs], write, cuts=True)


def _cells(run: RememberedRun, now: datetime) -> Iterator[Cell]:
    yield cell(neutral(run.run_id))
    yield cell(ago(run.started, now))
    yield cell(run.outcome.replace("_", " "), "good" if run.outcome == RunOutcome.PASSED else "bad")
    yield cell(f"{run.duration:.1f}s", "quiet")
    yield cell(_commit(run.commit) + "-dirty" * run.dirty)
    yield cell(neutral(run.branch) or "-")
    others = run.tests - run.passed - run.failed
    counts: tuple[tuple[int, str, Tone], ...] = (
        (run.failed, "failed", "bad"),
        (run.passed, "passed", "good"),
        (others, "other", "odd"),
    )
    yield [(f"{count} {word}", tone) for count, word, tone in counts if count > 0] or cell("none")
    asked = "everything" if run.whole else neutral(shlex.join(run.asked)) or "a part"
    yield cell("imported" if run.imported else asked)


def write_test(
    test: str, results: Sequence[RememberedResult], limit: int, now: datetime, write: Writer, plain: bool
) -> None:
    """`results` are all of them, the newest first; `limit` of them get a line. `plain`: in ASCII."""
    write(f"{neutral(test)}\n", "id")
    ends = [result for result in results if result.final]
    failures = [result for result in results if result.outcome in BAD]
    runs = f"{len(ends)} run{'s' if len(ends) != 1 else ''}"
    write(f"{runs}, {sum(end.outcome in BAD for end in ends)} failed\n")
    write("results    ")
    for end in reversed(ends[:_STRIP]):
        kind = _kind(end)
        write((_PLAIN_MARKS if plain else _MARKS)[kind], _TONES[kind])
    write("\n")
    passes = [end.duration for end in reversed(ends) if end.outcome == Outcome.PASSED][-_STRIP:]
    if passes:
        write(f"durations  {sparkline(passes, plain)}")
        write(f"  {brief(min(passes))} to {brief(max(passes))}\n", "quiet")
    if len(failures) > 1:
        _write_failure("first failure", failures[-1], now, write)
    if failures:
        _write_failure("last failure" if len(failures) > 1 else "only failure", failures[0], now, write)
    write("\n")
    rows = [tuple(_result_cells(result, now)) for result in results[:limit]]
    write_table(_RESULTS, rows, write, cuts=True)


def sparkline(values: Sequence[float], plain: bool = False) -> str:
    """A letter for each value, as high as the value is between 0 and the largest."""
    levels = _PLAIN_LEVELS if plain else _LEVELS
    most = max(values, default=0.0)
    step = most / (len(levels) - 1) if most > 0 else 1.0
    return "".join(levels[round(value / step)] for value in values)


def _kind(result: RememberedResult) -> int:
    if result.outcome in BAD:
        return _FAIL
    if result.outcome != Outcome.PASSED:
        return _OTHER
    return _RETRIED if result.attempt > 1 else _PASS


def _write_failure(what: str, result: RememberedResult, now: datetime, write: Writer) -> None:
    where = [ago(result.started, now), f"run {neutral(result.run_id)}"]
    where += [f"commit {_commit(result.commit)}"] if result.commit else []
    where += [f"branch {neutral(result.branch)}"] if result.branch else []
    write(f"{what}  ")
    write(f"{', '.join(where)}\n", "quiet")
    said = _said(result)
    if said:
        write(f"  {said}\n", "bad")


def _said(result: RememberedResult) -> str:
    place = f"{neutral(result.place)}: " if result.place else ""
    return place + neutral(first_line(result.message, _MESSAGE)) if result.message else place[:-2]


def _result_cells(result: RememberedResult, now: datetime) -> Iterator[Cell]:
    again = f" (try {result.attempt})" if result.attempt > 1 else ""
    yield cell(result.outcome.replace("_", " ") + again, _TONES[_kind(result)])
    yield cell(brief(result.duration), "quiet")
    yield cell(ago(result.started, now))
    yield cell(_commit(result.commit))
    yield cell(neutral(result.branch) or "-")
    yield cell(neutral(result.run_id))
    yield cell(_said(result))


def write_flaky(tests: Sequence[FlakyTest], hidden: int, now: datetime, write: Writer) -> None:
    rows = [
        (
            cell(f"{test.failed} of {test.results}", "odd"),
            cell(ago(test.last, now), "quiet"),
            cell(neutral(test.node_id)),
        )
        for test in tests
    ]
    write_table(("FAILED", "LAST", "TEST"), rows, write)
    _write_hidden(hidden, write)


def write_slow(tests: Sequence[SlowTest], hidden: int, write: Writer) -> None:
    rows = [
        (
            cell(brief(test.before)),
            cell(brief(test.after), "odd"),
            cell(f"{test.after / test.before:.1f}x" if test.before else "", "odd"),
            cell(neutral(test.node_id)),
        )
        for test in tests
    ]
    write_table(("USUAL", "LAST", "", "TEST"), rows, write)
    _write_hidden(hidden, write)


def _write_hidden(hidden: int, write: Writer) -> None:
    if hidden:
        write(f"and {hidden} more: --limit shows them\n", "quiet")


def _commit(commit: str) -> str:
    return neutral(commit[:COMMIT]) or "-"

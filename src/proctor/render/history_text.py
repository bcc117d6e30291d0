"""The history of a project for people: its runs, the results of a test, flaky and slow tests."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime

from proctor.durations import ago
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.remembered import FlakyTest, RememberedResult, RememberedRun, SlowTest
from proctor.render.neutral import neutral
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
    rows = [tuple(_cells(run, now)) for run in runs]
    tones = [_run_tones(run) for run in runs]
    _write_table(_RUNS, rows, tones, write)


def _cells(run: RememberedRun, now: datetime) -> Iterator[str]:
    yield neutral(run.run_id)
    yield ago(run.started, now)
    yield run.outcome.replace("_", " ")
    yield f"{run.duration:.1f}s"
    yield _commit(run.commit) + ("+" if run.dirty else "")
    yield neutral(run.branch) or "-"
    others = run.tests - run.passed - run.failed
    counts = ((run.failed, "failed"), (run.passed, "passed"), (others, "other"))
    yield " ".join(f"{count} {word}" for count, word in counts if count > 0) or "none"
    asked = "everything" if run.whole else neutral(shlex.join(run.asked)) or "a part"
    yield "imported" if run.imported else asked


def _run_tones(run: RememberedRun) -> dict[int, Tone]:
    tone: Tone = "good" if run.outcome == RunOutcome.PASSED else "bad"
    return {2: tone, 3: "quiet", 6: "bad" if run.failed else "", 7: "rest"}


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
        write(f"  {_seconds(min(passes))} to {_seconds(max(passes))}\n", "quiet")
    if len(failures) > 1:
        _write_failure("first failure", failures[-1], now, write)
    if failures:
        _write_failure("last failure" if len(failures) > 1 else "only failure", failures[0], now, write)
    write("\n")
    shown = results[:limit]
    rows = [tuple(_result_cells(result, now)) for result in shown]
    tones: list[dict[int, Tone]] = [{0: _TONES[_kind(one)], 1: "quiet", 6: "rest"} for one in shown]
    _write_table(_RESULTS, rows, tones, write)


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


def _result_cells(result: RememberedResult, now: datetime) -> Iterator[str]:
    yield result.outcome.replace("_", " ") + (f" (try {result.attempt})" if result.attempt > 1 else "")
    yield _seconds(result.duration)
    yield ago(result.started, now)
    yield _commit(result.commit)
    yield neutral(result.branch) or "-"
    yield neutral(result.run_id)
    yield _said(result)


def write_flaky(tests: Sequence[FlakyTest], hidden: int, now: datetime, write: Writer) -> None:
    rows = [
        (f"{test.failed} of {test.results}", ago(test.last, now), neutral(test.node_id)) for test in tests
    ]
    tones: list[dict[int, Tone]] = [{0: "odd", 1: "quiet"} for _ in tests]
    _write_table(("FAILED", "LAST", "TEST"), rows, tones, write)
    _write_hidden(hidden, write)


def write_slow(tests: Sequence[SlowTest], hidden: int, write: Writer) -> None:
    rows = [
        (
            _seconds(test.before),
            _seconds(test.after),
            f"{test.after / test.before:.1f}x" if test.before else "",
            neutral(test.node_id),
        )
        for test in tests
    ]
    tones: list[dict[int, Tone]] = [{1: "odd", 2: "odd"} for _ in tests]
    _write_table(("USUAL", "LAST", "", "TEST"), rows, tones, write)
    _write_hidden(hidden, write)


def _write_hidden(hidden: int, write: Writer) -> None:
    if hidden:
        write(f"and {hidden} more: --limit shows them\n", "quiet")


def _write_table(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]], tones: Sequence[dict[int, Tone]], write: Writer
) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    write(
        "".join(f"{name:{width}}  " for name, width in zip(header, widths, strict=True)).rstrip() + "\n",
        "strong",
    )
    for row, row_tones in zip(rows, tones, strict=True):
        filled = max((at for at, cell in enumerate(row) if cell), default=0)
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            if at <= filled:
                write(cell if at == filled else f"{cell:{width}}  ", row_tones.get(at, ""))
        write("\n")


def _commit(commit: str) -> str:
    return neutral(commit[:7]) or "-"


def _seconds(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f}s"
    return f"{seconds * 1000:.{0 if seconds >= 0.01 else 1}f}ms"

"""A run on one screen: the verdict, what failed, what was left out, what took longest."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.render.failure_report import headlines
from proctor.render.human import skip_reasons, tone, verdict
from proctor.render.neutral import neutral
from proctor.render.writer import Writer
from proctor.result import RunResult

_ROWS = 20  # of each list
_SLOWEST = 5


def write_summary(result: RunResult, write: Writer) -> None:
    write(f"{verdict(result)}\n", tone(result))
    _list(write, "failures", list(headlines(result)))
    _list(write, "skipped", [f"{count}x {reason}" for reason, count in skip_reasons(result).items()])
    _list(write, "not run", [neutral(test) for test in result.not_run])
    _list(write, "suites not run", [neutral(f"{one.runner}: {one.reason}") for one in result.missing])
    _list(write, "slowest", list(_slowest(result)))
    _list(write, "notes", [neutral(notice) for notice in result.notices])


def _slowest(result: RunResult) -> Iterator[str]:
    if len(result.tests) > 1:
        for test in sorted(result.tests.values(), key=lambda test: -test.seconds)[:_SLOWEST]:
            if test.seconds >= 0.1:
                yield f"{test.seconds:.2f}s {neutral(test.test)}"


def _list(write: Writer, name: str, rows: list[str]) -> None:
    if rows:
        write(f"{name}:\n")
        for row in rows[:_ROWS]:
            write(f"  {row}\n")
        if len(rows) > _ROWS:
            write(f"  ... and {len(rows) - _ROWS} more\n", "quiet")

"""How long the tests of a list take: by earlier runs, or by reports. Reads no report itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from pathlib import Path

import msgspec

from proctor.archive.last_failed import target
from proctor.history.usual_times import usual_times
from proctor.outcome import Outcome
from proctor.phases import is_collector
from proctor.result import RunResult
from proctor.shards.grouping import PYTEST
from proctor.shards.report_ids import report_name


class Times(msgspec.Struct, frozen=True):
    seconds: dict[str, float] = {}  # of tests, by id
    usual: float = 0.0  # of each other test; 0: not known

    def __bool__(self) -> bool:
        return bool(self.seconds or self.usual)


def of_history(found: RunResult, root: Path, environ: Mapping[str, str]) -> Times:
    """By the newest runs. Where nearly all tests are short, only the others have a time of their own."""
    seconds, usual = usual_times(root, environ)
    named = {test: seconds.get(target(test, base, root)) for test, base in _based(found, root)}
    return Times({test: spent for test, spent in named.items() if spent is not None}, usual)


def _based(found: RunResult, root: Path) -> Iterator[tuple[str, str]]:
    """Tests, with the directory that their ids are relative to."""
    for suite in found.suites:
        known = suite.entered.runner == PYTEST and suite.described is not None
        base = suite.described.root if known and suite.described is not None else str(root)
        yield from ((test, base) for test in suite.selected)


def of_reports(found: RunResult, reports: Iterable[RunResult]) -> Times:
    """The last report that has a test counts. Tests that none has take the median time of the others."""
    spent: dict[str, float] = {}
    for report in reports:
        spent |= _spent(report)
    named = {test: spent.get(test, spent.get(report_name(test))) for test in found.selected}
    seconds = {test: took for test, took in named.items() if took is not None}
    return Times(seconds, sorted(seconds.values())[len(seconds) // 2] if seconds else 0.0)


def _spent(report: RunResult) -> Iterator[tuple[str, float]]:
    for name, test in report.tests.items():
        counts = test.outcome is not Outcome.NOT_RUN and not (test.part_of or is_collector(test))
        if counts and isfinite(test.seconds) and test.seconds >= 0:
            yield name, test.seconds

"""Which phases of a test are its failures. `inject/failure_index.py` runs elsewhere and repeats the rule."""

from __future__ import annotations

import re
from collections.abc import Iterable

from proctor.events import Phase, TestFinished

COLLECT = "collect"  # the phase of what was skipped before it had a test
_COUNT = r"contains [0-9]+ failed subtests?"  # pytest's text for a test that fails because its subtests do


def failed_phases(phases: Iterable[Phase]) -> list[Phase]:
    """The phases that failed, in their order. Next to a failed subtest, a phase that only counts is none."""
    failed = [phase for phase in phases if phase.outcome == "failed"]
    if any(phase.subtest is not None for phase in failed):
        return [phase for phase in failed if phase.subtest is not None or not _only_counts(phase)]
    return failed


def _only_counts(phase: Phase) -> bool:
    """Whether the phase has no text of its own beside the number of failed subtests."""
    text = phase.failure.message if phase.failure is not None else phase.longrepr
    return not text or re.fullmatch(_COUNT, text) is not None


def is_collector(test: TestFinished) -> bool:
    """Whether it is a module or package that was skipped as a whole, and no test."""
    return len(test.phases) == 1 and test.phases[0].when == COLLECT

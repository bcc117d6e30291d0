"""What the history of a project has, as values, and which tests have become slow. Reads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

SCHEMA = "proctor.history/1"
PASSES = 20  # before the last one: their median is what that is held against
_TIMES, _MORE = 1.5, 0.05  # both have to be exceeded; the second is in seconds


class RememberedRun(msgspec.Struct, frozen=True):
    run_id: str
    started: str  # RFC 3339, UTC
    outcome: str
    duration: float  # seconds
    commit: str  # empty: no git, or nobody knows
    dirty: bool  # files were changed since that commit
    branch: str  # empty: no branch
    root: str
    whole: bool  # all tests were asked for
    asked: tuple[str, ...]  # else: for which part
    imported: bool
    passed: int
    failed: int
    tests: int


class RememberedResult(msgspec.Struct, frozen=True):
    """One try at a test."""

    run_id: str
    outcome: str
    duration: float  # seconds
    commit: str
    tree: str  # the state of all files: equal where they are; empty: nobody knows
    started: str  # of the run
    attempt: int  # 1 is the first
    branch: str = ""
    message: str = ""  # of a failure
    place: str = ""  # likewise, `file:line`
    final: bool = True  # no other try of this run came after it


class FlakyTest(msgspec.Struct, frozen=True):
    node_id: str
    failed: int  # how often it failed where it had to pass,
    results: int  # of so many
    last: str = ""  # when it last did: the start of that run


class SlowTest(msgspec.Struct, frozen=True):
    node_id: str
    before: float  # median of the passes before the last one, in seconds
    after: float  # the last pass
    passes: int  # that the median was taken of


def slower(before: float, after: float) -> bool:
    """Whether a test takes clearly longer: half as long again, and 50 ms more."""
    return after > before * _TIMES and after - before > _MORE


def slow(node_id: str, passes: Sequence[float]) -> SlowTest | None:
    """By the seconds of its passes, the newest first."""
    last, *earlier = passes[: PASSES + 1]
    if not earlier:
        return None
    before = median(earlier)
    return SlowTest(node_id, before, last, len(earlier)) if slower(before, last) else None

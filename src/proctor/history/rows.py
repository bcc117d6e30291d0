"""A run as rows of the store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from proctor import events as e
from proctor.history.store import FailureRow, ResultRow, TestKey
from proctor.outcome import BAD, Outcome
from proctor.result import RunResult, SuiteResult

_TEXT = 2000  # characters of a failure's message that are kept
#: Those that are kept, as plain texts: sqlite's module looks for adapters of anything else, each time.
_KEPT = {one: one.value for one in (*BAD, Outcome.PASSED, Outcome.SKIPPED, Outcome.XFAILED, Outcome.XPASSED)}


class Keys:
    """What the tests of a run are called in all runs."""

    def __init__(self, result: RunResult, top: str, own_name: Callable[[str, int], str]) -> None:
        """`top` of the repository; `own_name` is the name that a suite itself has for one of its tests."""
        self._own_name = own_name
        real = os.path.realpath(top)  # a framework may know its directory by another path
        self._suites = [
            (os.path.relpath(os.path.realpath(base_of(suite)), real), suite.entered.runner, suite.whole_name)
            for suite in result.suites
        ]

    def of(self, test: str, number: int) -> TestKey:
        """Of a test, or a file, of the suite with this number."""
        return TestKey(*self._suites[number], self._own_name(test, number))


def described(suite: SuiteResult) -> e.SuiteDescribed:
    """As the first of its sessions did that came so far; empty where none did."""
    found = (session.described for session in suite.sessions if session.described is not None)
    return next(found, e.SuiteDescribed(""))


def base_of(suite: SuiteResult) -> str:
    """What the names of its tests are relative to."""
    return described(suite).root or suite.entered.cwd or suite.run.cwd


def by_chance(suite: SuiteResult) -> frozenset[str]:
    """Tests that ended badly because something else did: we stopped the run, or one of several that ran at
    the time killed the process. This says nothing about themselves."""
    found: set[str] = set()
    for session in suite.sessions:
        if suite.stopped is not None or len(session.lost) > 1:
            found |= set(session.lost) - session.overdue.keys()
    if suite.stopped is not None:
        found |= {test for test, end in suite.tests.items() if end.outcome in BAD and not _has_story(end)}
    return frozenset(found)


def _has_story(end: e.TestFinished) -> bool:
    return bool(end.phases or (end.failure is not None and end.failure.type))


def rows(
    result: RunResult, keys: Keys, environments: list[str], mask: Callable[[str], str]
) -> Iterator[ResultRow]:
    """Every try at every test that ended, and every file that could not be collected. `environments` are one
    for each suite; `mask` hides secrets."""
    for number, suite in enumerate(result.suites):
        environment, skipped = environments[number], by_chance(suite)
        for test, end in suite.tests.items():
            outcome = _KEPT.get(end.outcome)
            if outcome is None or test in skipped:
                continue
            key = keys.of(test, number)
            if end.outcome not in BAD and not end.attempts:  # nearly all
                yield ResultRow(key, 1, outcome, round(end.seconds * 1e6), environment)
                continue
            tries: Sequence[e.TestFinished | e.Attempt] = end.tries or (end,)
            for attempt, one in enumerate(tries, 1):
                failure = _failure(one, mask) if one.outcome in BAD else None
                yield ResultRow(
                    key, attempt, one.outcome.value, round(one.seconds * 1e6), environment, failure
                )
        for error in suite.errors:
            found = _row(error.failure, mask)
            yield ResultRow(keys.of(error.file, number), 1, Outcome.ERROR.value, 0, environment, found)


def _failure(end: e.TestFinished | e.Attempt, mask: Callable[[str], str]) -> FailureRow:
    return _row(end.failure or e.Failure("", end.message or ""), mask)


def _row(failure: e.Failure, mask: Callable[[str], str]) -> FailureRow:
    said_already = failure.message.startswith(failure.type)
    text = failure.message if said_already else f"{failure.type}: {failure.message}"
    text = mask(text)[:_TEXT].encode("utf-8", "replace").decode()
    file, line = (failure.place.file, failure.place.line) if failure.place else ("", 0)
    return FailureRow.of(text, file, line)

"""What a report of any format contains: suites, tests, and why a run failed if no test shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from proctor import events as e
from proctor.launch import Voice
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.result import RunResult, SuiteResult
from proctor.text import literal, without_escapes

_BY_TESTS = {RunOutcome.FAILED, RunOutcome.COLLECTION_ERROR, RunOutcome.CRASHED, RunOutcome.TIMEOUT}
_NO_FAULT = {RunOutcome.PASSED, RunOutcome.NO_TESTS}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")


def unexplained(result: RunResult) -> str:
    """Why the run is not a pass, where its tests do not show it; empty where they do, or where it passed."""
    if result.outcome is RunOutcome.PASSED:
        return ""
    if all(suite.outcome in _NO_FAULT for suite in result.suites):
        return _words(result.outcome, result.reason)
    found = [(suite.name, why) for suite in result.suites if (why := _unexplained(suite))]
    return "; ".join(f"{name}: {why}" if result.several else why for name, why in found)


def _unexplained(suite: SuiteResult) -> str:
    shown = suite.outcome in _BY_TESTS and (suite.errors or any(suite.counts[bad] for bad in BAD))
    return "" if shown or suite.outcome in _NO_FAULT else _words(suite.outcome, suite.reason)


def _words(outcome: RunOutcome, reason: str) -> str:
    words = str(outcome).replace("_", " ")
    return f"{words}: {reason}" if reason else words


def suites(result: RunResult) -> list[SuiteResult]:
    """The suites to show, at least one: a build that passed is no suite of tests."""
    built = (Voice.BUILD, RunOutcome.PASSED)
    return [suite for suite in result.suites if (suite.source, suite.outcome) != built] or result.suites[:1]


def tests_of(suite: SuiteResult) -> Iterator[e.TestFinished]:
    """The tests that ended, then those that never ran."""
    yield from suite.tests.values()
    for test in suite.not_run:
        yield e.TestFinished(test, Outcome.NOT_RUN, message="not run", place=suite.places.get(test))


def tests(result: RunResult) -> Iterator[e.TestFinished]:
    """Those of all suites."""
    return chain.from_iterable(map(tests_of, result.suites))


def printable(text: str) -> str:
    """Without colours and control characters; what has no UTF-8 as literal text."""
    if text.isascii() and text.isprintable():
        return text
    return literal(_CONTROL.sub("", without_escapes(text)))

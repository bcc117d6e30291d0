"""What every writer of a report must tell beside the tests, lest a run that was not green look like one."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    if suite.outcome in _NO_FAULT:
        return ""
    if suite.outcome in _BY_TESTS and (suite.errors or any(suite.counts[bad] for bad in BAD)):
        return ""
    return _words(suite.outcome, suite.reason)


def _words(outcome: RunOutcome, reason: str) -> str:
    words = str(outcome).replace("_", " ")
    return f"{words}: {reason}" if reason else words


def suites(result: RunResult) -> list[SuiteResult]:
    """Those that a report shows, at least one: a build that went well is no suite of tests."""
    shown = [
        suite
        for suite in result.suites
        if suite.source != Voice.BUILD or suite.outcome is not RunOutcome.PASSED
    ]
    return shown or result.suites[:1]


def tests_of(suite: SuiteResult) -> Iterator[e.TestFinished]:
    """Every test that is known: those with an end, then those that never ran."""
    yield from suite.tests.values()
    for test in suite.not_run:
        yield e.TestFinished(test, Outcome.NOT_RUN, message="not run", place=suite.places.get(test))


def tests(result: RunResult) -> Iterator[e.TestFinished]:
    """Those of all suites."""
    for suite in result.suites:
        yield from tests_of(suite)


def stdout(test: e.TestFinished) -> str:
    return "".join(phase.stdout for phase in test.phases)


def stderr(test: e.TestFinished) -> str:
    return "".join(phase.stderr for phase in test.phases)


def printable(text: str) -> str:
    """Without colours and control characters; what has no UTF-8 as literal text."""
    if text.isascii() and text.isprintable():
        return text
    return literal(_CONTROL.sub("", without_escapes(text)))

"""What every writer of a report must tell beside the tests, lest a run that was not green look like one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

import msgspec

from proctor import events as e
from proctor.launch import Voice
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.result import Mark, Result
from proctor.text import literal, without_escapes

_BY_TESTS = {RunOutcome.FAILED, RunOutcome.COLLECTION_ERROR, RunOutcome.CRASHED, RunOutcome.TIMEOUT}
_NO_FAULT = {RunOutcome.PASSED, RunOutcome.NO_TESTS}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")


def unexplained(result: Result) -> str:
    """Why the run is not a pass, where its tests do not show it; empty where they do, or where it passed."""
    if result.outcome is RunOutcome.PASSED:
        return ""
    if any(suite.finished.outcome not in _NO_FAULT for suite in result.suites):
        return "; ".join(f"{group.name}: {why}" for group in groups(result) if (why := group.unexplained()))
    return _unexplained(result.outcome, result.reason, result.counts, result.collection_errors)


def _unexplained(
    outcome: RunOutcome, reason: str, counts: Mapping[Outcome, int], errors: Sequence[e.CollectionFailed]
) -> str:
    if outcome in _BY_TESTS and (errors or any(counts.get(bad) for bad in BAD)):
        return ""
    words = str(outcome).replace("_", " ")
    return f"{words}: {reason}" if reason else words


class Group(msgspec.Struct, frozen=True):
    """One suite of a result, which may be all of it."""

    name: str
    outcome: RunOutcome
    reason: str
    seconds: float
    counts: Mapping[Outcome, int]
    errors: Sequence[e.CollectionFailed]
    not_run: tuple[str, ...]
    ended: Callable[[], Iterable[e.TestFinished]]
    places: Mapping[str, e.Place]

    def unexplained(self) -> str:
        if self.outcome in _NO_FAULT:
            return ""
        return _unexplained(self.outcome, self.reason, self.counts, self.errors)

    def tests(self) -> Iterator[e.TestFinished]:
        """Every test that is known: those with an end, then those that never ran."""
        yield from self.ended()
        for test in self.not_run:
            yield e.TestFinished(test, Outcome.NOT_RUN, message="not run", place=self.places.get(test))


def groups(result: Result) -> Iterator[Group]:
    """At least one: its suites, and what ended in none of them."""
    suites = [
        suite
        for suite in result.suites
        if suite.entered.source != Voice.BUILD or suite.finished.outcome is not RunOutcome.PASSED
    ]  # a build that went well is no suite
    for suite in suites:
        yield Group(
            suite.entered.name,
            suite.finished.outcome,
            suite.finished.reason,
            suite.finished.seconds,
            suite.counts,
            result.collection_errors[suite.begin.collection_errors : suite.end.collection_errors],
            suite.finished.not_run,
            partial(suite.tests, result),
            result.places,
        )
    told = result.suites[-1].end if result.suites else Mark()
    errors = result.collection_errors[told.collection_errors :]
    if not suites or errors or len(result.tests) > told.tests:
        yield Group(
            result.run.runner,
            result.outcome,
            result.reason,
            0.0 if suites else result.seconds,
            result.counts - Counter(told.counts),
            errors,
            () if suites else result.not_run,
            partial(_after, result, told.tests),
            result.places,
        )


def _after(result: Result, told: int) -> Iterator[e.TestFinished]:
    return islice(result.tests.values(), told, None)


def tests(result: Result) -> Iterator[e.TestFinished]:
    """Those of all suites."""
    for group in groups(result):
        yield from group.tests()


def stdout(test: e.TestFinished) -> str:
    return "".join(phase.stdout for phase in test.phases)


def stderr(test: e.TestFinished) -> str:
    return "".join(phase.stderr for phase in test.phases)


def printable(text: str) -> str:
    """Without colours and control characters; what has no UTF-8 as literal text."""
    if text.isascii() and text.isprintable():
        return text
    return literal(_CONTROL.sub("", without_escapes(text)))

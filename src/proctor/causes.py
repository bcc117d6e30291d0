"""The failures of a run, grouped by cause: one broken fixture is one cause, however many tests it breaks.

Every report uses these groups. Grouping loses nothing: each occurrence keeps its own message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from proctor.events import Failure, Phase, Place, TestFinished
from proctor.outcome import BAD, Outcome
from proctor.phases import failed_phases
from proctor.result import RunResult
from proctor.text import first_line

COLLECT = "collect"
CALL = "call"
#: Outcomes that the test itself did not report.
HARNESS = (Outcome.CRASH, Outcome.TIMEOUT)

# A text in quotes; an escaped quote does not open one.
_QUOTED = re.compile(r"\\.|'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\"")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?")
_SHAPED = 2000  # characters of a line that are compared

#: Types that a test raises itself: the same message at another line has another cause.
_RAISED_BY_TESTS = ("", "AssertionError", "Failed")


class Occurrence(msgspec.Struct, frozen=True):
    """One failure of one test. A test that fails in its call and in its teardown has two."""

    test: str
    when: str  # setup, call, teardown, collect, crash, timeout
    failure: Failure
    subtest: str = ""
    traceback: str = ""


class Cause(msgspec.Struct, frozen=True):
    """Failures that have the same cause, in the order of the tests; at least one."""

    occurrences: tuple[Occurrence, ...]

    @property
    def first(self) -> Occurrence:
        return self.occurrences[0]

    @property
    def tests(self) -> list[str]:
        """Each test once."""
        return list(dict.fromkeys(occurrence.test for occurrence in self.occurrences))


def causes(result: RunResult) -> list[Cause]:
    """Every failure of a run, grouped: crashes and timeouts, then collection errors, then the other tests."""
    found: dict[object, list[Occurrence]] = {}
    for occurrence in _occurrences(result):
        found.setdefault(_key(occurrence), []).append(occurrence)
    return [Cause(tuple(group)) for group in _joined(found.values())]


def _occurrences(result: RunResult) -> Iterator[Occurrence]:
    bad = bad_tests(result)
    for test in bad:
        if test.outcome in HARNESS:
            yield from occurrences(test)
    for error in result.collection_errors:
        yield Occurrence(error.file, COLLECT, error.failure, traceback=error.traceback)
    for test in bad:
        if test.outcome not in HARNESS:
            yield from occurrences(test)


def bad_tests(result: RunResult) -> list[TestFinished]:
    """The tests that did not succeed, in the order of selection: parallel workers do not change it."""
    bad = [test for test in result.tests.values() if test.outcome in BAD]
    if not bad:
        return bad
    order = {test: at for at, test in enumerate(result.selected)}
    return sorted(bad, key=lambda test: order.get(test.part_of or test.test, len(order)))


def occurrences(test: TestFinished) -> Iterator[Occurrence]:
    """The failures of one bad test, at least one: a crash or a timeout first, then each phase that failed."""
    failed = failed_phases(test.phases)
    if test.outcome in HARNESS or not failed:
        when = test.outcome if test.outcome in HARNESS else CALL
        own = next((phase.failure for phase in failed if phase.subtest is None), None)
        failure = own or test.failure or Failure("", test.message or "")
        yield Occurrence(test.test, when, failure, traceback=test.traceback or "")
        failed = [phase for phase in failed if phase.subtest is not None]
    traceback = test.traceback or ""  # of the first phase, where phases have none of their own
    for phase in failed:
        failure = phase.failure or _without_details(test, phase)
        yield Occurrence(test.test, phase.when, failure, phase.subtest or "", phase.longrepr or traceback)
        traceback = ""


def _without_details(test: TestFinished, phase: Phase) -> Failure:
    """The failure of a phase that has a text at most. A public stream has details of the test alone."""
    if phase.longrepr or test.failure is None:
        return Failure("", phase.longrepr)
    return test.failure


def shape(message: str) -> str:
    """The first line of a message without quoted texts and numbers, which differ between tests."""
    first = first_line(message)[:_SHAPED]
    return _NUMBER.sub("#", _QUOTED.sub(_without_value, first))


def _without_value(found: re.Match[str]) -> str:
    return found[0] if found[0][0] == "\\" else "'*'"


def _key(occurrence: Occurrence) -> tuple[str, str, str, Place | None, str]:
    failure = occurrence.failure
    return occurrence.when, failure.fixture, failure.type, failure.place, shape(failure.message)


def _joined(groups: Iterable[list[Occurrence]]) -> Iterable[list[Occurrence]]:
    """Groups with the same message at different lines become one: all callers of a changed function."""
    merged: dict[object, list[Occurrence]] = {}
    for group in groups:
        first = group[0]
        messages = {occurrence.failure.message for occurrence in group}
        if len(messages) > 1 or first.failure.type in _RAISED_BY_TESTS:
            merged[id(group)] = group
        else:
            key = first.when, first.failure.fixture, first.failure.type, first.failure.message
            merged.setdefault(key, []).extend(group)
    return merged.values()

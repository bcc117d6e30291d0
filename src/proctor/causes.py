"""The failures of a run, grouped by cause: one broken fixture is one cause, however many tests it breaks.

Every report uses these groups. Grouping loses nothing: each occurrence keeps its own message.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator

import msgspec

from proctor.events import CANNOT_TELL, FAILS, STILL, Failure, Phase, Place, TestFinished
from proctor.outcome import BAD, FLAKY, QUARANTINED, Outcome
from proctor.phases import failed_phases
from proctor.result import RunResult
from proctor.text import first_line

#: Outcomes that the test itself did not report.
HARNESS = (Outcome.CRASH, Outcome.TIMEOUT)

# A text in quotes; an escaped quote does not open one.
_QUOTED = re.compile(r"\\.|'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\"")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?")
_SHAPED = 2000  # characters of a line that are compared

#: Types that a test raises itself: the same message at another line has another cause.
_ASSERTED = ("AssertionError", "Failed")
_RAISED_BY_TESTS = ("", *_ASSERTED)


class Occurrence(msgspec.Struct, frozen=True):
    """One failure of one test. A test that fails in its call and in its teardown has two."""

    test: str  # or the file that could not be collected
    when: str  # setup, call, teardown, collect, crash, timeout
    failure: Failure
    subtest: str = ""
    traceback: str = ""
    finished: TestFinished | None = None  # the test as a whole; None for a file


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

    @property
    def one_place(self) -> bool:
        return len({occurrence.failure.place for occurrence in self.occurrences}) == 1

    @property
    def one_message(self) -> bool:
        return len({occurrence.failure.message for occurrence in self.occurrences}) == 1


def causes(result: RunResult) -> list[Cause]:
    """Every failure of a run, grouped; the most likely root cause first.

    Crashes and timeouts, then collection errors, then exceptions, then assertions of tests; of equals, what
    explains most failures. Last, in the same order, are those of tests that failed before.
    """
    found: dict[object, list[Occurrence]] = {}
    for occurrence in failures(result):
        found.setdefault(_key(occurrence), []).append(occurrence)
    groups = [Cause(tuple(group)) for group in _joined(found.values())]
    files = {_file(test) for test in result.tests}
    return sorted(
        groups,
        key=lambda cause: (is_old(cause, result), _rank(cause.first, files), -len(cause.occurrences)),
    )


def is_old(cause: Cause, result: RunResult) -> bool:
    """Whether all its tests failed before: on the baseline or, if nobody looked there, in earlier runs."""
    return all(_failed_before(test, result) for test in cause.tests)


def _failed_before(test: str, result: RunResult) -> bool:
    baseline = result.baseline.tests.get(test, CANNOT_TELL) if result.baseline else CANNOT_TELL
    if baseline != CANNOT_TELL:
        return baseline == FAILS
    earlier = result.earlier(test)
    return earlier is not None and earlier.word == STILL


def _rank(occurrence: Occurrence, test_files: Container[str]) -> int:
    test = occurrence.finished
    if test is None or test.outcome in HARNESS:
        return 1 if test is None else 0
    return 3 if _found_by_test(occurrence.failure, test_files) else 2


def _found_by_test(failure: Failure, test_files: Container[str]) -> bool:
    """Whether it is an assertion of a test: the fault itself is elsewhere."""
    place = failure.place
    of_test = place is None or place.file in test_files or place.file.endswith("conftest.py")
    return of_test and failure.type in _ASSERTED


def _file(test: str) -> str:
    return test.partition("::")[0]


def failures(result: RunResult) -> Iterator[Occurrence]:
    """Collection errors, then those of tests in the order of selection: parallel workers do not change it."""
    for error in result.collection_errors:
        yield Occurrence(error.file, "collect", error.failure, traceback=error.traceback)
    quarantined = result.quarantined
    bad = [t for t in result.tests.values() if t.outcome in BAD and t.test not in quarantined]
    order = {test: at for at, test in enumerate(result.selected)} if bad else {}
    for test in sorted(bad, key=lambda test: order.get(test.part_of or test.test, len(order))):
        yield from _failures_of(test)


def made_good(result: RunResult) -> Iterator[tuple[str, Occurrence]]:
    """The first failure of each test that is flaky, then of each that failed in quarantine, with the word."""
    for test in result.tests.values():
        if test.flaky:
            yield FLAKY, next(_failures_of(_first_try(test)))
    for suite in result.suites:
        for test in suite.tests.values():
            if suite.excuses(test):
                yield QUARANTINED, next(_failures_of(test))


def _first_try(test: TestFinished) -> TestFinished:
    """The test as it was when it failed for the first time."""
    one = next(one for one in test.attempts if one.outcome in BAD)
    facts = {"outcome": one.outcome, "seconds": one.seconds, "message": one.message, "failure": one.failure}
    return msgspec.structs.replace(test, **facts, traceback=None, phases=(), passed_in=None)


def _failures_of(test: TestFinished) -> Iterator[Occurrence]:
    """At least one: a crash or a timeout first, then each phase that failed."""
    failed = failed_phases(test.phases)
    traceback = test.traceback or ""
    if test.outcome in HARNESS or not failed:
        when = test.outcome if test.outcome in HARNESS else "call"
        own = next((phase.failure for phase in failed if phase.subtest is None), None)
        failure = own or test.failure or Failure("", test.message or "")
        yield Occurrence(test.test, when, failure, "", traceback, test)
        failed = [phase for phase in failed if phase.subtest is not None]
    for phase in failed:
        failure = phase.failure or _without_details(test, phase)
        trace = phase.longrepr or traceback
        yield Occurrence(test.test, phase.when, failure, phase.subtest or "", trace, test)
        traceback = ""  # it is that of the first phase, where phases have none of their own


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
    failure, test = occurrence.failure, occurrence.finished
    if occurrence.when == Outcome.CRASH and failure.place is None and test is not None and test.phases:
        return (
            occurrence.when,
            "",
            "",
            None,
            occurrence.test,
        )  # one process died for each, for an unknown reason
    return occurrence.when, failure.fixture, failure.type, failure.place, shape(failure.message)


def _joined(groups: Iterable[list[Occurrence]]) -> Iterable[list[Occurrence]]:
    """Groups with the same message at different lines become one: all callers of a changed function.

    A bare comparison is no message: `assert 1 == 0` at two lines may have two causes.
    """
    merged: dict[object, list[Occurrence]] = {}
    for group in groups:
        first = group[0]
        messages = {occurrence.failure.message for occurrence in group}
        bare = first.failure.type in _RAISED_BY_TESTS and "\n" not in first.failure.message
        if bare or len(messages) > 1:
            merged[id(group)] = group
        else:
            key = first.when, first.failure.fixture, first.failure.type, first.failure.message
            merged.setdefault(key, []).extend(group)
    return merged.values()

"""Failures grouped by what is behind them: one broken fixture is one cause, however many tests it breaks.

Grouping only arranges. Every occurrence keeps its own message, so nothing is merged away: what is the same
for a whole group is for the reader of the group to find.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from proctor.events import CollectionFailed, Failure, Phase, Place, TestFinished
from proctor.outcome import BAD, Outcome
from proctor.result import Result

COLLECT = "collect"
CALL = "call"

_HARNESS = (Outcome.CRASH, Outcome.TIMEOUT)
# A text in quotes; an escaped quote opens nothing.
_QUOTED = re.compile(r"\\.|'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\"")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?")
_SUBTESTS = re.compile(r"contains [0-9]+ failed subtests?")
_SHAPED = 2000  # characters of a line that make its shape

#: Raised by a test about itself: the same words at another line have another reason.
_OWN_WORDS = ("", "AssertionError", "Failed")


class Occurrence(msgspec.Struct, frozen=True):
    """One failure of one test: what failed in its call and again in its teardown occurs twice."""

    test: str
    when: str  # setup, call, teardown, collect, crash, timeout
    failure: Failure
    subtest: str = ""


class Cause(msgspec.Struct, frozen=True):
    occurrences: tuple[Occurrence, ...]

    @property
    def first(self) -> Occurrence:
        return self.occurrences[0]

    @property
    def tests(self) -> list[str]:
        return list(dict.fromkeys(occurrence.test for occurrence in self.occurrences))


def causes(result: Result) -> list[Cause]:
    """The harness first (crashes, then what could not be collected), then in the order of the tests."""
    found: dict[object, list[Occurrence]] = {}
    for occurrence in _occurrences(result):
        found.setdefault(_key(occurrence), []).append(occurrence)
    return [Cause(tuple(group)) for group in _joined(found.values())]


def _occurrences(result: Result) -> Iterator[Occurrence]:
    bad = _in_order(result, [test for test in result.tests.values() if test.outcome in BAD])
    for test in bad:
        if test.outcome in _HARNESS:
            yield Occurrence(test.test, test.outcome, test.failure or Failure("", test.message or ""))
    for error in result.collection_errors:
        yield _not_collected(error)
    for test in bad:
        if test.outcome not in _HARNESS:
            yield from _of_test(test)


def _in_order(result: Result, bad: list[TestFinished]) -> list[TestFinished]:
    """As the tests were selected, not as they happened to end: workers do not change an answer."""
    if not bad:
        return bad
    order = {test: at for at, test in enumerate(result.selected)}
    return sorted(bad, key=lambda test: order.get(test.part_of or test.test, len(order)))


def _not_collected(error: CollectionFailed) -> Occurrence:
    return Occurrence(error.file, COLLECT, error.failure)


def _told_by(test: TestFinished, phase: Phase) -> Failure:
    """A public stream tells of a test's failure, not of its phases'."""
    if phase.longrepr or test.failure is None:
        return Failure("", phase.longrepr)
    return test.failure


def _of_test(test: TestFinished) -> Iterator[Occurrence]:
    failed = [phase for phase in test.phases if phase.outcome == "failed"]
    if any(phase.subtest is not None for phase in failed):
        failed = [phase for phase in failed if not _only_counts(phase)]
    for phase in failed:
        failure = phase.failure or _told_by(test, phase)
        yield Occurrence(test.test, phase.when, failure, phase.subtest or "")
    if not failed:
        yield Occurrence(test.test, CALL, test.failure or Failure("", test.message or ""))


def _only_counts(phase: Phase) -> bool:
    """A test that has failed because of its subtests, which speak for themselves."""
    message = phase.failure.message if phase.failure else ""
    return phase.subtest is None and (not message or _SUBTESTS.fullmatch(message) is not None)


def shape(message: str) -> str:
    """The first line of a message without its values: two failures of one kind have the same."""
    first = message.partition("\n")[0][:_SHAPED]
    return _NUMBER.sub("#", _QUOTED.sub(_without_value, first))


def _without_value(found: re.Match[str]) -> str:
    return found[0] if found[0][0] == "\\" else "'*'"


def _key(occurrence: Occurrence) -> tuple[str, str, str, Place | None, str]:
    failure = occurrence.failure
    return occurrence.when, failure.fixture, failure.type, failure.place, shape(failure.message)


def _joined(groups: Iterable[list[Occurrence]]) -> Iterable[list[Occurrence]]:
    """Groups that say word for word the same at different lines are one: all callers of what has changed."""
    merged: dict[object, list[Occurrence]] = {}
    for group in groups:
        first = group[0]
        messages = {occurrence.failure.message for occurrence in group}
        if len(messages) > 1 or first.failure.type in _OWN_WORDS:
            merged[id(group)] = group
        else:
            key = first.when, first.failure.fixture, first.failure.type, first.failure.message
            merged.setdefault(key, []).extend(group)
    return merged.values()

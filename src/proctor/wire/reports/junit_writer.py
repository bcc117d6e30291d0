"""A result as JUnit XML that keeps to junit-10.xsd, with the names of `pytest --junitxml`.

What the schema has no place for is in `junit_full`, which shares the frame around the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TypeAlias

import msgspec

from proctor import events as e
from proctor.outcome import BAD, QUARANTINED, Outcome, RunOutcome
from proctor.phases import failed_phases, is_collector
from proctor.result import RunResult, SuiteResult
from proctor.unique_names import without_number
from proctor.wire.control.session import concluded
from proctor.wire.reports import contents
from proctor.wire.reports.junit import COLLECTING, TEARDOWN, XFAIL
from proctor.wire.reports.junit_case import (
    Case,
    Complaint,
    attributes_text,
    properties_xml,
    seconds_text,
    value_text,
)
from proctor.wire.reports.junit_names import CaseName, collector_name, test_name
from proctor.wire.stream.words import KIND

#: The cases of one suite of a run.
Cases: TypeAlias = Callable[[SuiteResult, RunResult], Iterable[Case]]

SKIPPED = {outcome for outcome, kind in KIND.items() if kind is Outcome.SKIPPED}
COMPLAINED = SKIPPED | BAD  # outcomes with an element of their own
_DECIMALS = 3  # of a second: more are against the schema
_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}
_TYPES = {outcome: str(outcome) for outcome in (Outcome.CRASH, Outcome.TIMEOUT, Outcome.NOT_RUN)}
_TYPES[Outcome.XFAILED] = XFAIL


def write(result: RunResult) -> Iterator[bytes]:
    return document(result, partial(_cases, _Owners(result)), _DECIMALS, ("tests", "failures", "errors"))


# The frame


class _Suite(msgspec.Struct, frozen=True):
    name: str
    seconds: float
    cases: Callable[[], Iterable[Case]]  # made when they are counted, and again when they are written
    timestamp: str = ""
    properties: dict[str, str] = {}


def document(
    result: RunResult,
    cases: Cases,
    decimals: int,
    totals: tuple[str, ...],
    properties: dict[str, str] | None = None,
) -> Iterator[bytes]:
    """The XML in pieces; `totals` are the counts that its outermost element has, `properties` are of the run:
    its first suite has them."""
    suites = list(_suites(result, cases))
    if properties:
        suites[0] = msgspec.structs.replace(suites[0], properties=suites[0].properties | properties)
    counts = [_counts(suite.cases()) for suite in suites]
    sums = {name: str(sum(count[name] for count in counts)) for name in totals}
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{attributes_text(sums | {'time': seconds_text(result.seconds, decimals)})}>\n".encode()
    for suite, count in zip(suites, counts, strict=True):
        attributes = {"name": suite.name, **count, "time": seconds_text(suite.seconds, decimals)}
        known = {"timestamp": suite.timestamp, "hostname": result.run.host}
        attributes |= {name: text for name, text in known.items() if text}
        yield f"<testsuite{attributes_text(attributes)}>\n".encode()
        if suite.properties:
            yield f"{properties_xml(suite.properties)}\n".encode()
        for case in suite.cases():
            yield case.xml(decimals).encode()
        yield b"</testsuite>\n"
    yield b"</testsuites>\n"


def _suites(result: RunResult, cases: Cases) -> Iterator[_Suite]:
    """Those that ran, then those that did not; the last one that ran has the reason why the run failed."""
    shown = contents.suites(result)
    for suite in shown:
        found: Callable[[], Iterable[Case]] = partial(cases, suite, result)
        if suite is shown[-1] and (explanation := _explanation(result)):
            found = partial(_with_more, found, explanation)
        yield _Suite(
            suite.name, suite.seconds, found, _timestamp(result, suite.started), _suite_properties(suite)
        )
    for missing in result.missing:
        test = contents.missing_test(missing)
        name = CaseName(missing.runner, test.test)
        case = Case(name, complaints=(Complaint("skipped", "not_run", test.message or ""),))
        yield _Suite(missing.runner, 0.0, partial(list, [case]), _timestamp(result, 0.0))


def _timestamp(result: RunResult, at: float) -> str:
    moment = contents.moment_of(result, at)
    return moment.isoformat(timespec="milliseconds") if moment else ""


def _with_more(cases: Callable[[], Iterable[Case]], more: list[Case]) -> Iterator[Case]:
    return chain(cases(), more)


def _counts(cases: Iterable[Case]) -> dict[str, int]:
    """Each case counts once as what is worst in it."""
    counts = dict.fromkeys(("tests", *_COUNTED), 0)
    for case in cases:
        counts["tests"] += 1
        for name, tag in _COUNTED.items():
            if case.has(tag):
                counts[name] += 1
                break
    return counts


def _suite_properties(suite: SuiteResult) -> dict[str, str]:
    described = suite.described
    facts = {**described.toolchain, **described.environment} if described else {}
    return {name: value_text(value) for name, value in facts.items() if name and value}


def _explanation(result: RunResult) -> list[Case]:
    """Why the run is not a pass, if no test shows it; an internal error has the name that pytest gives it."""
    why = contents.unexplained(result)
    internal = result.broke is not None and result.outcome is RunOutcome.INTERNAL_ERROR
    name = CaseName("pytest", "internal") if internal else CaseName("proctor", "run")
    trace = result.broke.traceback if internal and result.broke else why
    return [Case(name, complaints=(Complaint("error", str(result.outcome), why, trace),))] if why else []


# Tests as pytest writes them


class _Owners:
    """Which suite of a run is the first with a test of a name. Few tests need to know, if any."""

    def __init__(self, result: RunResult) -> None:
        self._result = result
        self._first: dict[str, int] = {}

    def first(self, name: str) -> int:
        if not self._first:
            for number, suite in reversed([*enumerate(self._result.suites)]):
                self._first.update(dict.fromkeys(suite.tests, number))
        return self._first.get(name, len(self._result.suites))


class _Before:
    """The names of tests in the suites before one."""

    def __init__(self, owners: _Owners, number: int) -> None:
        self._owners, self._number = owners, number

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._owners.first(name) < self._number


def _cases(owners: _Owners, suite: SuiteResult, result: RunResult) -> Iterator[Case]:
    before = _Before(owners, next(at for at, other in enumerate(result.suites) if other is suite))
    collectors: dict[str, list[Complaint]] = {}  # one case for each: a file's tests and doctests are two
    for test in suite.tests.values() if _ended_by_pytest(suite) else contents.tests_of(suite):
        if is_collector(test):
            base = without_number(test.test)
            name = base if base in collectors else test.test
            collectors.setdefault(name, []).append(_complaint(test))
        else:
            case = test_name(test, suite, before)
            if why := contents.excuse(test, suite.quarantined):
                yield msgspec.structs.replace(_case(test, case), complaints=(excused(test, why),))
            else:
                yield from _of_test(test, case)
    for error in suite.errors:
        collectors.setdefault(error.file, []).append(_collection_error(error))
    for name, complaints in collectors.items():
        yield Case(collector_name(name), complaints=tuple(complaints))


def _ended_by_pytest(suite: SuiteResult) -> bool:
    """Whether pytest ended the session itself: its own report then lacks tests that never ran (`-x`)."""
    by_itself = suite.session.finished is not None and suite.stopped is None
    return by_itself and suite.entered.runner == "pytest"


def _of_test(test: e.TestFinished, name: CaseName) -> Iterator[Case]:
    """Two cases for a test whose call and teardown failed, as pytest has it; one for any other."""
    failed = failed_phases(test.phases)
    torn = [phase for phase in failed if phase.when == "teardown"]
    if not torn or all(phase.when != "call" for phase in failed):
        yield _case(test, name)
        return
    rest = tuple(phase for phase in test.phases if phase not in torn)
    first = concluded(test.test, rest, test.place)
    yield _case(msgspec.structs.replace(first, attempts=test.attempts), name)
    last = _case(concluded(test.test, tuple(torn)), name)
    why = last.complaints[0]
    why = msgspec.structs.replace(why, message=f'{TEARDOWN}"{why.message}"')
    yield msgspec.structs.replace(last, complaints=(why,))


def _case(test: e.TestFinished, name: CaseName) -> Case:
    complaints = [_complaint(test)] if test.outcome in COMPLAINED else []
    complaints += earlier(test)
    return Case(
        name, test.seconds, tuple(complaints), contents.output(test), contents.printed(test, "stderr")
    )


def _complaint(test: e.TestFinished) -> Complaint:
    """With the type that says most, though no reader has to know it."""
    found = complaint(test)
    return msgspec.structs.replace(found, type=found.type or _TYPES.get(test.outcome, ""))


def complaint(test: e.TestFinished) -> Complaint:
    """Of a test that failed or was skipped."""
    message = test.message or ""
    if test.outcome in SKIPPED:
        return Complaint("skipped", "", message)
    tag = "failure" if test.outcome is Outcome.FAILED else "error"
    kind = test.failure.type if test.failure else ""
    return Complaint(tag, kind, message or str(test.outcome), contents.trace(test))


def earlier(test: e.TestFinished) -> Iterator[Complaint]:
    """The tries before the last that failed, in the words of Maven's Surefire."""
    kind = "rerun" if test.outcome in BAD else "flaky"
    for one in test.attempts:
        if one.outcome in BAD:
            tag = "Failure" if one.outcome is Outcome.FAILED else "Error"
            failure = one.failure or e.Failure()
            message = one.message or failure.message or str(one.outcome)
            place = str(failure.place or "")
            text = f"{place}: {message.removesuffix(f' at {place}')}" if place else ""
            yield Complaint(f"{kind}{tag}", failure.type or str(one.outcome), message, text)


def excused(test: e.TestFinished, why: str) -> Complaint:
    """A test that ended badly in quarantine is skipped."""
    return Complaint("skipped", QUARANTINED, why, contents.trace(test))


def _collection_error(error: e.CollectionFailed) -> Complaint:
    failure = error.failure
    message = f"{COLLECTING}: {failure.message}" if failure.message else COLLECTING
    return Complaint("error", failure.type or "collection_error", message, error.traceback)

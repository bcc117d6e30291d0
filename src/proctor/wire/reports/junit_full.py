"""A result as JUnit XML with all that its readers may use, though no schema knows it.

A test's id as `classname` and `name`, its file and line, its properties and attached files. What JUnit has no
element for (a crash, an expected failure, a test that never ran) is in the property `proctor.outcome`; why a
test is in quarantine, in `proctor.quarantine`; what earlier runs say of it, in `proctor.history`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proctor import events as e
from proctor.outcome import BAD, Outcome
from proctor.result import RunResult, SuiteResult
from proctor.wire.document.history import Words
from proctor.wire.reports import contents, junit_history
from proctor.wire.reports.junit import ATTACHED, OUTCOME, QUARANTINE
from proctor.wire.reports.junit_case import Case, Complaint, value_text
from proctor.wire.reports.junit_names import CaseName
from proctor.wire.reports.junit_writer import COMPLAINED, complaint, document, earlier, excused
from proctor.wire.reports.report import COLLECTION_ERROR

_DECIMALS = 6
_PLAIN = {Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.SKIPPED}


def write(result: RunResult) -> Iterator[bytes]:
    totals = ("tests", "failures", "errors", "skipped")
    return document(result, _cases, _DECIMALS, totals, junit_history.of_suite(result))


def _cases(suite: SuiteResult, result: RunResult) -> Iterator[Case]:
    words = Words(result)
    for test in contents.tests_of(suite):
        yield _case(test, suite.quarantined, words)
    for error in suite.errors:
        message = error.failure.message or "could not be collected"
        why = Complaint("error", error.failure.type, message, error.traceback)
        properties = {OUTCOME: COLLECTION_ERROR} | junit_history.of_test(words.of(error.file))
        yield Case(CaseName("", contents.printable(error.file)), complaints=(why,), properties=properties)


def _case(test: e.TestFinished, quarantined: dict[str, str], words: Words) -> Case:
    why = contents.excuse(test, quarantined)
    own = [excused(test, why)] if why else [complaint(test)] if test.outcome in COMPLAINED else []
    return Case(
        _split(contents.printable(test.test)),
        test.seconds,
        (*own, *(() if why else earlier(test))),
        contents.output(test),
        contents.printed(test, "stderr"),
        test.place,
        _properties(test, quarantined) | _history(test, words),
    )


def _split(test: str) -> CaseName:
    """At the last `::` that is not part of a parameter."""
    bracket = test.find("[")
    at = test.rfind("::", 0, bracket if bracket >= 0 else None)
    return CaseName(test[:at], test[at + 2 :] or "?") if at > 0 else CaseName("", test or "?")


def _history(test: e.TestFinished, words: Words) -> dict[str, str]:
    return junit_history.of_test(words.of(test.test)) if test.outcome in BAD else {}


def _properties(test: e.TestFinished, quarantined: dict[str, str]) -> dict[str, str]:
    found: dict[str, Any] = {}
    for phase in test.phases:
        for recorded in phase.user_properties or ():  # pytest's record_property
            found |= recorded
    found |= test.properties or {}
    found |= {f"{ATTACHED}{file.name}": file.path for file in test.files}
    if test.test in quarantined:
        found[QUARANTINE] = quarantined[test.test]
    if test.outcome not in _PLAIN or (test.outcome in BAD and test.test in quarantined):
        found[OUTCOME] = str(test.outcome)
    return {name: value_text(value) for name, value in found.items()}

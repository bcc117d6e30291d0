"""What every writer of a report must tell beside the tests, lest a run that was not green look like one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proctor import events as e
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.result import Result

_BY_TESTS = {RunOutcome.FAILED, RunOutcome.COLLECTION_ERROR, RunOutcome.CRASHED, RunOutcome.TIMEOUT}
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")


def unexplained(result: Result) -> str:
    """Why the run is not a pass, where its tests do not show it; empty where they do, or where it passed."""
    if result.outcome is RunOutcome.PASSED:
        return ""
    shown = bool(result.collection_errors) or any(result.counts[outcome] for outcome in BAD)
    if shown and result.outcome in _BY_TESTS:
        return ""
    words = str(result.outcome).replace("_", " ")
    return f"{words}: {result.reason}" if result.reason else words


def tests(result: Result) -> Iterator[e.TestFinished]:
    """Every test that is known: those with an end, then those that never ran."""
    yield from result.tests.values()
    for test in result.not_run:
        yield e.TestFinished(test, Outcome.NOT_RUN, message="not run", place=result.places.get(test))


def stdout(test: e.TestFinished) -> str:
    return "".join(phase.stdout for phase in test.phases)


def stderr(test: e.TestFinished) -> str:
    return "".join(phase.stderr for phase in test.phases)


def printable(text: str) -> str:
    """Without colours and control characters; what has no UTF-8 as literal text."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROL.sub("", _COLOUR.sub("", text)).encode("utf-8", "backslashreplace").decode()

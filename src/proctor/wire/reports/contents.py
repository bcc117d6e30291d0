"""What a report of any format contains: suites, tests, and why a run failed if no test shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from proctor import events as e
from proctor.launch import Voice
from proctor.outcome import BAD, QUARANTINED, Outcome, RunOutcome
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
    """Those of all suites, then one for each suite that could not be started."""
    return chain(chain.from_iterable(map(tests_of, result.suites)), map(missing_test, result.missing))


def excuse(test: e.TestFinished, quarantined: Mapping[str, str]) -> str:
    """What a format says that has no word for a test which ended badly in quarantine; empty for any other."""
    if test.outcome not in BAD or test.test not in quarantined:
        return ""
    return excused(quarantined[test.test], test.message or str(test.outcome))


def excused(reason: str, message: str) -> str:
    return ": ".join(part for part in (QUARANTINED, reason, message) if part)


def missing_test(missing: e.SuiteMissing) -> e.TestFinished:
    """What stands for the tests of a suite that nobody could list."""
    return e.TestFinished(f"{missing.runner}: not run", Outcome.SKIPPED, message=missing.reason or "not run")


def moment_of(result: RunResult, at: float) -> datetime | None:
    """The time so many seconds after the start of the run, where that is known."""
    try:
        return datetime.fromisoformat(result.run.started) + timedelta(seconds=at)
    except (ValueError, OverflowError):
        ended = result.finished.created if result.finished else 0.0
    if ended <= 0:
        return None
    return datetime.fromtimestamp(max(0.0, ended - result.seconds + at), UTC)


def printed(test: e.TestFinished, stream: str) -> str:
    """What a test wrote to stdout or stderr; of a text that became a file, the end."""
    return "".join(_kept(phase, stream) for phase in test.phases)


def trace(test: e.TestFinished) -> str:
    """The traceback, likewise."""
    return test.traceback or "\n".join(text for phase in test.phases if (text := _kept(phase, "longrepr")))


def _kept(phase: e.Phase, field: str) -> str:
    text: str = getattr(phase, field)
    if text or not phase.tails or field not in phase.tails:
        return text
    return f"[... the end of {(phase.files or {}).get(field, 'a long text')}]\n{phase.tails[field]}"


def output(test: e.TestFinished) -> str:
    """What a test wrote to stdout, and its log records, as pytest formats them, under a heading."""
    text = printed(test, "stdout")
    records = [log_line(record) for phase in test.phases for record in phase.log]
    if not records:
        return text
    between = "" if not text or text.endswith("\n") else "\n"
    return text + between + "\n".join(["--- log ---", *records, ""])


def log_line(record: dict[str, Any]) -> str:
    """As pytest writes it: `WARNING  app.billing:billing.py:12 quota is low`, and its exception."""
    place = ":".join(str(record[key]) for key in ("name", "filename", "lineno") if record.get(key))
    line = f"{record.get('levelname') or '':<8} {place} {record.get('msg')}"
    return f"{line}\n{record['exc_text']}" if record.get("exc_text") else line


def printable(text: str) -> str:
    """Without colours and control characters; what has no UTF-8 as literal text."""
    if text.isascii() and text.isprintable():
        return text
    return literal(_CONTROL.sub("", without_escapes(text)))

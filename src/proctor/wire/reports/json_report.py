"""The document of pytest-json-report as events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from proctor import decoding
from proctor import events as e
from proctor.outcome import BAD, Outcome
from proctor.wire.control.session import concluded, without_type
from proctor.wire.reports.pytest_session import (
    concluded_session,
    disagreement,
    not_collected,
    skip_facts,
    skipped_collector,
)
from proctor.wire.reports.report import SUMMARY, JsonDocument, place_of, took

_TOTALS = {"total", "collected", "deselected"}
_FAILED = {"failed", "error"}
_GOOD = {"passed", "skipped", "xfailed", "xpassed"}
_STAGES = {"passed", "failed", "skipped", "rerun"}  # the last is a word of a plugin that repeats tests


class _Stage(msgspec.Struct):
    outcome: str
    duration: float = 0.0
    crash: e.CrashSite | None = None
    traceback: tuple[e.CrashSite, ...] | None = None
    stdout: str = ""
    stderr: str = ""
    log: tuple[dict[str, Any], ...] = ()
    longrepr: str = ""


class _Test(msgspec.Struct):
    nodeid: str
    outcome: str
    lineno: int | None = None
    keywords: tuple[str, ...] = ()
    setup: _Stage | None = None
    call: _Stage | None = None
    teardown: _Stage | None = None
    user_properties: tuple[dict[str, Any], ...] | None = None


class _Found(msgspec.Struct):
    nodeid: str
    type: str = ""
    lineno: int | msgspec.UnsetType | None = msgspec.UNSET


class _Collector(msgspec.Struct):
    nodeid: str
    outcome: str
    result: list[_Found] = []
    longrepr: str | None = None


class _Warning(msgspec.Struct):
    message: str = ""
    category: str = ""
    when: str = ""
    filename: str = ""
    lineno: int = 0


class _Report(msgspec.Struct):
    exitcode: int
    summary: dict[str, int]
    created: float = 0.0
    duration: float = 0.0
    root: str = ""
    environment: dict[str, Any] = {}
    collectors: list[_Collector] = []
    tests: list[_Test] = []
    warnings: list[_Warning] = []


class JsonReportReader(JsonDocument):
    format = "json-report"
    decoder = decoding.decoder(_Report)

    def _events(self, report: _Report) -> Iterator[e.Event]:
        summary = report.summary
        total, collected = summary.get("total", 0), summary.get("collected", 0)
        yield e.SuiteDescribed(report.root, {}, report.environment)
        broken = [collector for collector in report.collectors if collector.outcome == "failed"]
        skipped = [collector for collector in report.collectors if collector.outcome == "skipped"]
        yield from map(_collector, report.collectors)
        expected = max(collected - summary.get("deselected", 0), total)
        yield e.SuiteStarted("pytest", "", expected + len(broken) + len(skipped))
        for collector in broken:
            yield not_collected(collector.nodeid, collector.longrepr or "")
        for collector in skipped:
            name = self._names.unique(collector.nodeid or ".")
            yield skipped_collector(name, collector.longrepr, report.root)
        for test in report.tests:
            yield _finished(test, self._names.unique(test.nodeid))
        for found in report.warnings:
            yield e.WarningRecorded(found.category, found.message, found.filename, found.lineno, found.when)
        self._check_counts(report)
        failed = any(test.outcome in _FAILED for test in report.tests)
        self._gaps += disagreement(report.exitcode, failed or bool(broken), bool(report.tests))
        if self._gaps:
            yield self._ending()
            return
        times = took(report.duration), took(report.created)
        yield from concluded_session(e.SessionFinished(report.exitcode, collected, *times), bool(broken))

    def _check_counts(self, report: _Report) -> None:
        """The summary leaves out what there is none of; a plugin may add a word of its own."""
        outcomes = Counter(test.outcome for test in report.tests)
        self._compare("tests", report.summary.get("total", 0), len(report.tests), SUMMARY)
        for word in sorted({*outcomes, *report.summary} - _TOTALS):
            self._compare(word[:40], report.summary.get(word, 0), outcomes[word], SUMMARY)
        for test in report.tests:
            stages = [stage.outcome for stage in (test.setup, test.call, test.teardown) if stage is not None]
            if odd := set(stages) - _STAGES:
                self._gaps.append(f"{test.nodeid}: the outcome of a stage is {min(odd)[:20]!r}")
            elif "failed" in stages and test.outcome in _GOOD:
                self._gaps.append(f"{test.nodeid} is said to be {test.outcome}, and a stage of it failed")


def _collector(collector: _Collector) -> e.CollectorFinished:
    children = tuple(
        e.Child(found.nodeid, found.type)
        if isinstance(found.lineno, msgspec.UnsetType)
        else e.Child(found.nodeid, found.type, found.lineno, tested=True)
        for found in collector.result
    )
    return e.CollectorFinished(collector.nodeid, collector.outcome, children, collector.longrepr)


def _finished(test: _Test, name: str) -> e.TestFinished:
    stages = (("setup", test.setup), ("call", test.call), ("teardown", test.teardown))
    phases = tuple(_phase(when, stage, test) for when, stage in stages if stage is not None)
    file = test.nodeid.partition("::")[0]
    place = place_of(file, test.lineno + 1 if test.lineno is not None else 0)
    if phases:
        event = concluded(name, phases, place, test.keywords)
        if event.outcome is Outcome.ERROR and event.message is None:
            return msgspec.structs.replace(event, message="it was set up and never called")
        if test.outcome in _FAILED and event.outcome not in BAD:  # of two subtests, the last has the stage
            message = f"the report says {test.outcome}, and no stage of it shows why"
            failure = e.Failure("", message)
            return msgspec.structs.replace(event, outcome=Outcome.FAILED, message=message, failure=failure)
        return event
    outcome = Outcome(test.outcome) if test.outcome in set(Outcome) else Outcome.ERROR
    return e.TestFinished(name, outcome, place=place, keywords=test.keywords)


def _phase(when: str, stage: _Stage, test: _Test) -> e.Phase:
    """Only the test as a whole has the information that it was expected to fail."""
    reason = without_type(skip_facts(stage.longrepr)[0]) if stage.outcome == "skipped" else ""
    expected = test.outcome in ("xfailed", "xpassed") and (stage.outcome == "skipped" or when == "call")
    failure = None
    if stage.outcome == "failed" and stage.crash is not None:
        kind = stage.traceback[-1].message if stage.traceback else ""
        place = place_of(stage.crash.path, stage.crash.lineno)
        failure = e.Failure(kind, stage.crash.message, place)
    return e.Phase(
        when,
        stage.outcome,
        took(stage.duration),
        wasxfail="" if expected else None,
        longrepr=stage.longrepr,
        crash=stage.crash,
        traceback=stage.traceback,
        stdout=stage.stdout,
        stderr=stage.stderr,
        log=stage.log,
        failure=failure,
        reason=reason,
        user_properties=test.user_properties if when == "call" else None,
    )

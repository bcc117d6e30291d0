"""The public stream: `suite`, `test` and `final` lines and nothing else, projected from the events of a run.

Pure: the same entries give the same lines, live or replayed. A suite line promises a number of tests, so it
is written when that number is known and not before; what comes beyond it gets a suite of its own afterwards,
and what was promised and never came is said to be not run: the promise is kept, whatever the tests do.
"""

from __future__ import annotations

from datetime import datetime
from math import isfinite
from typing import Any

import msgspec

from proctor import events as e
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.result import Result
from proctor.wire.literal import encode_line, literal

# 1: first published form.
REVISION = 1

SUBTYPES = ("test", "bench", "should_panic")
REASON = 500  # characters of a `reason`: one short line
NOT_RUN = "not_run"
_PARTS_UNKNOWN = "program"  # the source of a run whose tests report on parts that nobody can count before
_EPOCH = "1970-01-01T00:00:00+00:00"

STATUS = {
    Outcome.PASSED: "ok",
    Outcome.XPASSED: "ok",
    Outcome.INFO: "ok",
    Outcome.WARN: "ok",
    Outcome.SKIPPED: "ignore",
    Outcome.XFAILED: "ignore",
    Outcome.NOT_RUN: "ignore",
    **dict.fromkeys(BAD, "fail"),
}

#: `extra.outcome`, where the three words of `status` do not say it all.
WORDS = {
    Outcome.ERROR: "error",
    Outcome.XFAILED: "xfail",
    Outcome.XPASSED: "xpass",
    Outcome.TIMEOUT: "timeout",
    Outcome.CRASH: "crash",
    Outcome.NOT_RUN: NOT_RUN,
    Outcome.INFO: "info",
    Outcome.WARN: "warn",
}
STRICT_XPASS = "[XPASS(strict)]"  # how pytest begins to say that a test passed which must not

_QUIET = (RunOutcome.PASSED, RunOutcome.NO_TESTS)  # endings that need no failure to explain them

Object = dict[str, Any]


class StrictStream:
    """Entries in, lines out. One for a whole output: labels are unique in all of its suites."""

    def __init__(self) -> None:
        self._labels: dict[str, int] = {}
        self._begin()

    def _begin(self) -> None:
        self._suite: e.SuiteStarted | None = None
        self._written: int | None = None  # tests, since the suite line was
        self._held: list[Object] = []
        self._beyond: list[Object] = []
        self._tally = {"ok": 0, "fail": 0, "ignore": 0}
        self._seen: set[str] = set()

    def lines(self, entry: e.Entry, so_far: Result) -> list[bytes]:
        """What can be said now that this entry is known; `so_far` includes it."""
        event = entry.event
        found: list[Object] = []
        if isinstance(event, e.RunStarted):
            self._begin()
        elif isinstance(event, e.SuiteStarted):
            if self._written is None:
                self._suite = event
        elif isinstance(event, e.RunFinished):
            found = self._end(event, so_far)
        else:
            if self._suite is not None and self._written is None and so_far.run.source != _PARTS_UNKNOWN:
                found = self._open(self._suite.count, so_far)
            if isinstance(event, e.TestFinished):
                self._seen.add(event.test)
                found += self._add(_test(self._label(event.test), event))
            elif isinstance(event, e.CollectionFailed):
                found += self._add(_collection_error(self._label(event.file), event))
        return [encode_line(line) for line in found]

    def _add(self, test: Object) -> list[Object]:
        if self._written is None or self._suite is None:
            self._held.append(test)
            return []
        if self._written == self._suite.count:
            self._beyond.append(test)
            return []
        self._written += 1
        self._tally[test["status"]] += 1
        return [test]

    def _open(self, count: int, result: Result) -> list[Object]:
        assert self._suite is not None
        self._suite = msgspec.structs.replace(self._suite, count=count)
        self._written = 0
        found = [_suite(self._suite, result)]
        held, self._held = self._held, []
        for test in held:
            found += self._add(test)
        return found

    def _end(self, event: e.RunFinished, result: Result) -> list[Object]:
        missing = [self._not_run(test) for test in result.selected if test not in self._seen]
        why = self._explanation(event, result)
        found: list[Object] = []
        if self._suite is None:
            self._suite = e.SuiteStarted(result.run.runner, result.run.started, 0)
        if self._written is None:
            promised = self._suite.count if result.run.source != _PARTS_UNKNOWN else 0
            known = len(self._held) + len(missing)
            found = self._open(max(promised, known) + len(why), result)
            reserved = len(why)
        else:
            reserved = 0
        for test in missing:
            found += self._add(test)
        for number in range(self._written or 0, self._suite.count - reserved):
            nameless = f"{self._suite.name}: test {number + 1} of {self._suite.count}"
            found += self._add(self._not_run(nameless))
        for test in why:
            found += self._add(test)
        found.append(_final(self._tally, event, result))
        return found + self._rest(event, result)

    def _rest(self, event: e.RunFinished, result: Result) -> list[Object]:
        """A suite for what came beyond the count of the first."""
        beyond = self._beyond
        if not beyond or self._suite is None:
            return []
        tally = {
            status: sum(test["status"] == status for test in beyond) for status in ("ok", "fail", "ignore")
        }
        more = e.SuiteStarted(f"{self._suite.name} (beyond the count)", self._suite.build, len(beyond))
        return [_suite(more, result), *beyond, _final(tally, event, result)]

    def _label(self, name: str) -> str:
        base = label = literal(name) or "unnamed"
        while label in self._labels:
            self._labels[base] += 1
            label = f"{base}#{self._labels[base]}"
        self._labels[label] = 1
        return label

    def _not_run(self, name: str) -> Object:
        label = self._label(name)
        test: Object = {"type": "test", "status": "ignore", "label": label}
        return {**test, "extra": {**_native_id(label, name), "outcome": NOT_RUN}}

    def _explanation(self, event: e.RunFinished, result: Result) -> list[Object]:
        """For a run that did not pass though none of its tests failed: nobody shall count that as a pass."""
        tests = (*self._held, *self._beyond)
        if event.outcome in _QUIET or self._tally["fail"] or any(test["status"] == "fail" for test in tests):
            return []
        told = ": ".join(part for part in (event.outcome.replace("_", " "), event.reason) if part)
        label = self._label(result.run.runner or "run")
        test: Object = {"type": "test", "status": "fail", "reason": one_line(told), "label": label}
        return [{**test, "extra": {"outcome": "error", "phase": "run"}}]


def _suite(suite: e.SuiteStarted, result: Result) -> Object:
    toolchain = result.suite.toolchain if result.suite else {}
    extra: Object = {"proctor": {"rev": REVISION}, "run": result.run.run_id, "runner": result.run.runner}
    if toolchain:
        extra["toolchain"] = toolchain
    if filtered_out := suite.filtered_out or len(result.deselected):
        extra["filtered_out"] = filtered_out
    return {
        "type": "suite",
        "name": suite.name,
        "build": _build(suite, result),
        "count": suite.count,
        "rustc": toolchain.get("rustc") or "none",
        "extra": extra,
    }


def _build(suite: e.SuiteStarted, result: Result) -> str:
    return next((time for time in (suite.build, result.run.started) if has_zone(time)), _EPOCH)


def has_zone(text: str) -> bool:
    """Whether it is an ISO 8601 time that says where."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _final(tally: dict[str, int], event: e.RunFinished, result: Result) -> Object:
    extra: Object = {"outcome": event.outcome, "seconds": round(event.seconds, 6)}
    if event.reason:
        extra["reason"] = event.reason
    if result.exited is not None:
        extra["exit"] = {"code": result.exited.exit_code, "signal": result.exited.signal}
    return {"type": "final", "results": dict(tally), "extra": extra}


def _test(label: str, event: e.TestFinished) -> Object:
    status = STATUS[event.outcome]
    line: Object = {"type": "test", "status": status, "label": label}
    if event.subtype in SUBTYPES:
        line["subtype"] = event.subtype
    if status == "fail":
        failure = event.failure.message if event.failure else ""
        line["reason"] = one_line(event.message or failure or WORDS.get(event.outcome, "failed"))
    if event.place is not None:
        line["file"] = event.place.file
        if event.place.line > 0:
            line["line"] = event.place.line
    for stream in ("stdout", "stderr"):
        if text := captured(event, stream):
            line[stream] = text
    if event.outcome is not Outcome.NOT_RUN or event.subtype == "bench":
        line["duration"] = _nanoseconds(event.seconds)
    if event.throughput is not None and isfinite(event.throughput):
        line["throughput"] = event.throughput
    if extra := _extra(label, event):
        line["extra"] = extra
    return line


def _extra(label: str, event: e.TestFinished) -> Object:
    extra: Object = _native_id(label, event.test)
    if word := outcome_word(event):
        extra["outcome"] = word
    if STATUS[event.outcome] == "ignore" and event.message:
        extra["skip_reason"] = event.message
    if event.failure is not None or event.traceback:
        extra["failure"] = _failure(event.failure or e.Failure(), event.traceback)
    phases = [phase for phase in event.phases if phase.subtest is None]
    if len(phases) > 1:
        extra["phases"] = [
            {"when": phase.when, "outcome": phase.outcome, "duration": _nanoseconds(phase.duration)}
            for phase in phases
        ]
    if subtests := [phase for phase in event.phases if phase.subtest is not None]:
        extra["subtests"] = [{"name": phase.subtest, "outcome": phase.outcome} for phase in subtests]
    if event.files:
        extra["files"] = event.files
    if event.properties:
        extra["properties"] = event.properties
    return extra


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9) if isfinite(seconds) and seconds > 0 else 0


def _native_id(label: str, name: str) -> Object:
    return {} if label == name else {"id": name}


def outcome_word(event: e.TestFinished) -> str | None:
    """The word for `extra.outcome`; None where the status is enough."""
    if event.outcome is Outcome.FAILED and (event.message or "").startswith(STRICT_XPASS):
        return "xpass"
    return WORDS.get(event.outcome)


def _failure(failure: e.Failure, trace: str | None) -> Object:
    place = failure.place
    facts = {
        "type": failure.type,
        "message": failure.message,
        "file": place.file if place else "",
        "line": place.line if place else 0,
        "trace": trace,
    }
    known = {name: value for name, value in facts.items() if value}
    compared = {"expected": failure.expected, "actual": failure.actual}
    return known | {name: value for name, value in compared.items() if value is not None}


def _collection_error(label: str, event: e.CollectionFailed) -> Object:
    reason = one_line(event.failure.message or "could not be collected")
    line: Object = {"type": "test", "status": "fail", "reason": reason, "label": label, "file": event.file}
    facts = {"outcome": "error", "phase": "collect", "failure": _failure(event.failure, event.traceback)}
    return {**line, "extra": {**_native_id(label, event.file), **facts}}


def captured(event: e.TestFinished, stream: str) -> str:
    """What a test wrote to one of its streams, all phases together."""
    return "".join(getattr(phase, stream) for phase in event.phases)


def one_line(text: str) -> str:
    """The first line that says something, short; never empty."""
    line = next((part.strip() for part in literal(text).splitlines() if part.strip()), "failed")
    return line if len(line) <= REASON else line[: REASON - 3] + "..."

"""The objects of the public stream, each built from an event."""

from __future__ import annotations

from math import isfinite

from proctor import events as e
from proctor.outcome import FLAKY, QUARANTINED, Outcome
from proctor.phases import COLLECT, is_collector
from proctor.result import SuiteResult
from proctor.wire.stream.foreign import restored, with_more
from proctor.wire.stream.words import (
    BAD_WORDS,
    STRICT_XPASS,
    SUBTYPES,
    WORDS,
    Object,
    one_line,
    rfc3339,
    status_of,
)

# 1: first published form.
REVISION = 1


def suite_object(started: e.SuiteStarted, suite: SuiteResult) -> Object:
    toolchain = suite.described.toolchain if suite.described else {}
    known = {"run": suite.run.run_id, "runner": suite.entered.runner}
    extra: Object = {"proctor": {"rev": REVISION}, **{name: text for name, text in known.items() if text}}
    if toolchain.keys() - {"rustc"} or not suite.retold:
        extra |= {"toolchain": toolchain} if toolchain else {}
    if started.prefix:
        extra["prefix"] = started.prefix
    if filtered_out := started.filtered_out or len(suite.deselected):
        extra["filtered_out"] = filtered_out
    build = rfc3339(started.build) or ("" if suite.retold else rfc3339(suite.run.started))
    if started.build and not build:
        extra["build"] = started.build  # it does not say where
    line: Object = {"type": "suite"}
    line |= {name: text for name, text in (("name", started.name), ("build", build)) if text}
    line |= {"count": started.count, "rustc": toolchain.get("rustc") or "none", "extra": extra}
    return with_more(line, started.foreign)


def final_object(tally: dict[str, int], suite: SuiteResult) -> Object:
    extra: Object = {"outcome": suite.outcome}
    if suite.seconds or not suite.retold:
        extra["seconds"] = round(suite.seconds, 6)
    if suite.reason:
        extra["reason"] = suite.reason
    if suite.exited is not None:
        extra["exit"] = {"code": suite.exited.exit_code, "signal": suite.exited.signal}
    if suite.restarts:
        extra["restarts"] = suite.restarts
    if suite.restarted:
        extra["restarted"] = True
    return with_more({"type": "final", "results": dict(tally), "extra": extra}, suite.foreign_end)


def test_object(
    label: str, event: e.TestFinished, timed: bool = True, quarantine: str | None = None
) -> Object:
    """`timed`: each test was measured, so that a duration of 0 is one. `quarantine`: the reason for it, which
    may be empty, if the test is in quarantine."""
    status = status_of(event.outcome, quarantine is not None)
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
    duration, bench = _nanoseconds(event.seconds), event.subtype == "bench"
    measured = duration or timed or (bench and status == "ok")
    if measured and (bench or event.outcome is not Outcome.NOT_RUN):
        line["duration"] = duration
    if event.throughput is not None and isfinite(event.throughput):
        line["throughput"] = event.throughput
    if extra := _extra(label, event, status, quarantine):
        line["extra"] = extra
    return restored(line, event.foreign)


def _extra(label: str, event: e.TestFinished, status: str, quarantine: str | None) -> Object:
    extra: Object = native_id(label, event.test)
    strict_xpass = event.outcome is Outcome.FAILED and (event.message or "").startswith(STRICT_XPASS)
    words = BAD_WORDS if status == "ignore" and event.outcome in BAD_WORDS else WORDS
    if word := "xpass" if strict_xpass and status == "fail" else words.get(event.outcome):
        extra["outcome"] = word
    if status == "ignore" and event.message:
        extra["skip_reason"] = event.message
    if event.failure is not None or event.traceback:
        extra["failure"] = _failure(event.failure or e.Failure(), event.traceback)
    if is_collector(event):
        extra["phase"] = COLLECT
    phases = [phase for phase in event.phases if phase.subtest is None]
    if len(phases) > 1:
        extra["phases"] = [
            {"when": phase.when, "outcome": phase.outcome, "duration": _nanoseconds(phase.duration)}
            for phase in phases
        ]
    if subtests := [phase for phase in event.phases if phase.subtest is not None]:
        extra["subtests"] = [{"name": phase.subtest, "outcome": phase.outcome} for phase in subtests]
    rest = {
        "part_of": event.part_of,
        "files": event.files,
        "properties": event.properties,
        "session": event.session if event.session > 1 else 0,
        "worker": event.worker,
        "attempts": list(map(_attempt, event.tries)),
        FLAKY: event.flaky,
        QUARANTINED: quarantine is not None,
        "quarantine_reason": quarantine,
    }
    return extra | {name: value for name, value in rest.items() if value}


def _attempt(one: e.Attempt) -> Object:
    facts: Object = {"outcome": one.outcome, "duration": _nanoseconds(one.seconds)}
    if one.message:
        facts["message"] = one.message
    if one.failure is not None:
        facts["failure"] = _failure(one.failure, None)
    return facts


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9) if isfinite(seconds) and seconds > 0 else 0


def native_id(label: str, name: str) -> Object:
    return {} if label == name else {"id": name}


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


def collection_object(label: str, event: e.CollectionFailed) -> Object:
    reason = one_line(event.failure.message or "could not be collected")
    line: Object = {"type": "test", "status": "fail", "reason": reason, "label": label, "file": event.file}
    facts = {"outcome": "error", "phase": "collect", "failure": _failure(event.failure, event.traceback)}
    return restored({**line, "extra": {**native_id(label, event.file), **facts}}, event.foreign)


def captured(event: e.TestFinished, stream: str) -> str:
    """What a test wrote to one of its streams, all phases together."""
    return "".join(getattr(phase, stream) for phase in event.phases)

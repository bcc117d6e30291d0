"""The document that pytest-json-report 1.5 writes for the same session, built from our own facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from proctor import events as e
from proctor.outcome import EXIT_CODES, QUIET, RunOutcome
from proctor.phases import is_collector
from proctor.result import RunResult

Load = Callable[[str], str]
_TEXTS = ("longrepr", "stdout", "stderr", "log")  # that a phase may have in files


class _Stage(msgspec.Struct, gc=False):
    duration: float
    outcome: str = "passed"


class _Passed(msgspec.Struct, gc=False):
    """The fields that nearly all tests have in common."""

    nodeid: str
    lineno: int | None
    outcome: str
    keywords: tuple[str, ...] | msgspec.UnsetType
    setup: _Stage
    call: _Stage
    teardown: _Stage


def _passed(test: e.TestFinished, times: tuple[float, float, float]) -> _Passed:
    setup, call, teardown = map(_Stage, times)
    return _Passed(test.test, _line(test), "passed", test.keywords or msgspec.UNSET, setup, call, teardown)


def _line(test: e.TestFinished) -> int | None:
    """Counted from 0."""
    return test.place.line - 1 if test.place and test.place.line else None


def head(result: RunResult) -> dict[str, Any]:
    """Everything but the long lists, in the order in which the plugin has it."""
    finished, described, deselected = _only_end(result), result.described, result.deselected
    summary: Counter[str] = Counter([_outcome(test) for test in _own(result)])
    summary["total"] = sum(summary.values())
    summary["collected"] = finished.collected if finished else len(result.selected) + len(deselected)
    if deselected:
        summary["deselected"] = len(deselected)
    return {
        "created": result.finished.created if result.finished else 0.0,
        "duration": finished.duration if finished else result.seconds,
        "exitcode": _exit_code(result),
        "root": described.root if described else result.run.cwd,
        "environment": described.environment if described else {},
        "summary": dict(summary),
    }


def _only_end(result: RunResult) -> e.SessionFinished | None:
    """Of a run of one session: the last of several knows only its own tests."""
    return None if result.restarts else result.finished


def _exit_code(result: RunResult) -> int:
    """The exit status that the session reported. Without one, never 0 for a run that did not pass."""
    finished = _only_end(result)
    if finished is not None and finished.exit_status is not None:
        return finished.exit_status
    code = result.exited.exit_code if result.exited is not None else None
    if result.outcome is RunOutcome.RUNNING or (code == 0 and result.outcome in QUIET):
        return code or 0
    return code or EXIT_CODES[result.outcome]


def collectors(result: RunResult) -> Iterator[dict[str, Any]]:
    deselected = set(result.deselected)
    for collector in result.collectors:
        found = [_child(child, deselected) for child in collector.children]
        facts = {"nodeid": collector.id, "outcome": collector.outcome, "result": found}
        if collector.longrepr is not None:
            facts["longrepr"] = collector.longrepr
        yield facts


def _child(child: e.Child, deselected: set[str]) -> dict[str, Any]:
    facts: dict[str, Any] = {"nodeid": child.id, "type": child.type}
    if child.tested:
        facts["lineno"] = child.line
        if child.id in deselected:
            facts["deselected"] = True
    return facts


def tests(result: RunResult, load: Load) -> Iterator[Any]:
    for test in _own(result):
        yield reported(test, load)


def _own(result: RunResult) -> list[e.TestFinished]:
    """Those that the plugin knows: not the parts of tests, nor modules that were skipped as a whole."""
    return [
        test
        for test in result.tests.values()
        if not test.part_of and (test.passed_in is not None or not is_collector(test))
    ]


def warnings(result: RunResult) -> list[dict[str, Any]]:
    keys = ("message", "category", "when", "filename", "lineno")
    found = [(w.message, w.category, w.when, w.file, w.line) for w in result.warnings]
    return [dict(zip(keys, values, strict=True)) for values in found]


def _outcome(test: e.TestFinished) -> str:
    """The plugin's rule: the last of pytest's own statuses that is not `passed`."""
    if test.passed_in is not None:
        return "passed"
    statuses = [status for phase in test.phases if (status := _status(phase)) not in ("passed", "")]
    return ["passed", *statuses][-1] if test.phases else str(test.outcome)


def _status(phase: e.Phase) -> str:
    if phase.status is not None:
        return phase.status
    if phase.wasxfail is not None:
        if phase.outcome == "skipped":
            return "xfailed"
        if phase.outcome == "passed":
            return "xpassed"
    if phase.outcome == "failed":
        return "failed" if phase.when in ("call", "???") else "error"
    if phase.outcome == "passed" and phase.when != "call":
        return ""
    return phase.outcome


def reported(test: e.TestFinished, load: Load) -> Any:
    """What is written of one test: an object with keys of its own, or the struct that serves nearly all."""
    if test.passed_in is not None:
        return _passed(test, test.passed_in)
    facts: dict[str, Any] = {
        "nodeid": test.test,
        "lineno": _line(test),
        "outcome": _outcome(test),
    }
    if test.keywords:
        facts["keywords"] = test.keywords
    paths = {file.name: file.path for file in test.files}
    for phase in test.phases:
        if phase.user_properties:
            facts["user_properties"] = phase.user_properties
        facts[phase.when] = _stage(phase, paths, load)
    return facts


def _stage(phase: e.Phase, paths: dict[str, str], load: Load) -> dict[str, Any]:
    stage: dict[str, Any] = {"duration": phase.duration, "outcome": phase.outcome}
    if not (phase.longrepr or phase.stdout or phase.stderr or phase.log or phase.files or phase.crash):
        return stage
    if phase.crash is not None:
        stage["crash"] = phase.crash
        if phase.traceback is not None:
            stage["traceback"] = phase.traceback
    kept = {field: name for field, name in (phase.files or {}).items() if field in _TEXTS and name in paths}
    texts = {field: load(paths[name]) for field, name in kept.items()}
    log: Any = [_record(line) for line in texts.pop("log").splitlines()] if "log" in texts else phase.log
    late = {"stdout": phase.stdout, "stderr": phase.stderr, "log": log, "longrepr": phase.longrepr} | texts
    return stage | {field: value for field, value in late.items() if value}


def _record(line: str) -> Any:
    """A log record from a line of a file; a line that is none marks the middle that was left out."""
    try:
        return msgspec.json.decode(line)
    except msgspec.MsgspecError:
        return {"msg": line}

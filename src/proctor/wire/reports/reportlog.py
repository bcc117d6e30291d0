"""The JSON lines of pytest-reportlog as events: every phase of every test as pytest reported it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from proctor import decoding
from proctor import events as e
from proctor.outcome import BAD
from proctor.wire.control.session import concluded
from proctor.wire.reports.pytest_session import (
    concluded_session,
    disagreement,
    not_collected,
    skip_facts,
    skipped_collector,
)
from proctor.wire.reports.report import JsonLines, place_of, took

_AMID = frozenset({"CollectReport", "TestReport", "SubTestReport"})
_OUTCOMES = frozenset({"passed", "failed", "skipped"})
_EXPECTED = "passed, failed or skipped"


class _Line(msgspec.Struct, rename={"kind": "$report_type", "context": "_subtest.context"}):
    kind: str
    pytest_version: str = ""
    exitstatus: int | None = None
    nodeid: str = ""
    outcome: str = ""
    when: str | None = None
    duration: float = 0.0
    longrepr: Any = None
    sections: list[tuple[str, str]] = []
    location: Any = None
    keywords: dict[str, Any] = {}
    wasxfail: str | None = None
    user_properties: list[tuple[str, Any]] = []
    context: dict[str, Any] | None = None
    category: str = ""
    message: str = ""
    filename: str = ""
    lineno: int = 0


class ReportlogReader(JsonLines):
    format = "reportlog"
    decoder = decoding.decoder(_Line)
    strict = True

    def __init__(self) -> None:
        super().__init__()
        self._under_way: dict[str, tuple[str, list[e.Phase]]] = {}  # node id -> our id, phases
        self._errors: set[str] = set()
        self._status: int | None = None
        self._ended = False
        self._failed = False

    def _object(self, line: _Line) -> Iterator[e.Event]:
        if self._ended and line.kind in _AMID:
            self._note("there are more lines after the end of the session")
        match line.kind:
            case "SessionStart":
                yield e.SuiteDescribed("", {"pytest": line.pytest_version})
            case "SessionFinish":
                self._finish(line.exitstatus)
            case "CollectReport" if line.outcome == "failed" and line.nodeid not in self._errors:
                self._errors.add(line.nodeid)  # each xdist worker reports it
                yield not_collected(line.nodeid, _text(line.longrepr))
            case "CollectReport" if line.outcome == "skipped":
                yield skipped_collector(self._names.unique(line.nodeid or "."), line.longrepr)
            case "TestReport" | "SubTestReport":
                yield from self._phase(line)
            case "WarningMessage":
                yield e.WarningRecorded(line.category, line.message, line.filename, line.lineno)

    def _note(self, gap: str) -> None:
        if gap not in self._gaps:
            self._gaps.append(gap)

    def _finish(self, status: int | None) -> None:
        if status is None:
            self._note("the session ends without its exit status")
        elif self._status not in (None, status):
            self._note(f"the session ends with {self._status}, and again with {status}")
        self._ended, self._status = True, status

    def _phase(self, line: _Line) -> Iterator[e.Event]:
        if line.nodeid not in self._under_way:
            label = self._names.unique(line.nodeid)
            self._under_way[line.nodeid] = (label, [])
            yield e.TestStarted(label, _place(line))
        label, phases = self._under_way[line.nodeid]
        if line.when == "setup":
            phases.clear()  # what came before was an attempt that is repeated
        phases.append(_phase(line))
        if line.when == "teardown" and line.context is None:
            del self._under_way[line.nodeid]
            words = tuple(word for word in line.keywords if word)
            if odd := {phase.outcome for phase in phases} - _OUTCOMES:
                self._note(f"{line.nodeid} has the outcome {min(odd)[:20]!r}: expected {_EXPECTED}")
            finished = concluded(label, tuple(phases), _place(line), words)
            self._failed = self._failed or finished.outcome in BAD
            yield finished

    def _last(self) -> Iterator[e.Event]:
        count = len(self._names)
        yield e.SuiteStarted("pytest", "", count + len(self._errors))
        if not self._ended:
            self._gaps.append("the session has no end")
        elif self._status is not None:
            self._gaps += disagreement(self._status, self._failed or bool(self._errors), bool(count))
        if self._gaps or self._status is None:
            yield self._ending()
        else:
            yield from concluded_session(e.SessionFinished(self._status, count), bool(self._errors))


def _phase(line: _Line) -> e.Phase:
    when = line.when or "call"
    longrepr = line.longrepr
    crash = _crash(longrepr)
    return e.Phase(
        when,
        line.outcome,
        took(line.duration),
        subtest=_subtest(line.context) if line.context is not None else None,
        wasxfail=line.wasxfail,
        longrepr=_text(longrepr),
        crash=crash,
        stdout=_captured(line, "stdout", when),
        stderr=_captured(line, "stderr", when),
        failure=_failure(longrepr, crash) if line.outcome == "failed" else None,
        reason=skip_facts(longrepr)[0] if line.outcome == "skipped" else "",
        user_properties=tuple({name: value} for name, value in line.user_properties) or None,
    )


def _captured(line: _Line, stream: str, when: str) -> str:
    """Later phases repeat the sections of earlier ones."""
    return "".join(text for title, text in line.sections if title == f"Captured {stream} {when}")


def _subtest(context: dict[str, Any]) -> str:
    facts = context.get("kwargs")
    values = [f"{key}={value}" for key, value in facts.items()] if isinstance(facts, dict) else []
    return " ".join([*([f"[{context['msg']}]"] if context.get("msg") else []), *values]) or "(subtest)"


def _place(line: _Line) -> e.Place | None:
    match line.location:
        case [str(file), int(number), *_]:
            return place_of(file, number + 1)
        case [str(file), *_]:
            return e.Place(file)
    return None


def _crash(longrepr: Any) -> e.CrashSite | None:
    match longrepr:
        case {"reprcrash": {"path": str(path), "lineno": int(line), "message": str(message)}}:
            return e.CrashSite(path, line, message)
    return None


def _failure(longrepr: Any, crash: e.CrashSite | None) -> e.Failure | None:
    if crash is None:
        return None
    entries = _entries(longrepr)
    where = entries[-1].get("reprfileloc") if entries else None
    kind = where.get("message") if isinstance(where, dict) else ""
    return e.Failure(kind if isinstance(kind, str) else "", crash.message, place_of(crash.path, crash.lineno))


def _entries(longrepr: Any) -> list[dict[str, Any]]:
    """The frames of the last exception in the chain."""
    match longrepr:
        case {"reprtraceback": {"reprentries": [*entries]}}:
            found = [entry.get("data") for entry in entries if isinstance(entry, dict)]
            return [data for data in found if isinstance(data, dict)]
    return []


def _text(longrepr: Any) -> str:
    """A traceback as pytest would print it, near enough."""
    if longrepr is None:
        return ""
    if isinstance(longrepr, str):
        return longrepr
    if isinstance(longrepr, list):
        return ": ".join(str(part) for part in longrepr)
    texts = []
    for entry in _entries(longrepr):
        lines = entry.get("lines")
        body = [str(line) for line in lines] if isinstance(lines, list) else []
        match entry.get("reprfileloc"):
            case {"path": path, "lineno": number, "message": message}:
                body += ["", f"{path}:{number}: {message}"]
        texts.append("\n".join(body))
    return "\n\n".join(texts)

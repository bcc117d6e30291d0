"""The result document, read back. Tolerant: words and fields that this version does not know do no harm."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor import events as e
from proctor.errors import StreamError
from proctor.wire.document import json_report
from proctor.wire.document import writer as document
from proctor.wire.document.json_report import Load
from proctor.wire.reports.report import decode

RUNNING = "running"


class Captured(msgspec.Struct, frozen=True):
    """What a phase of a test wrote."""

    when: str
    kind: str  # stdout, stderr, log
    text: str


class KeptTest(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One test as it is on record. `outcome` is that of the document, or `running`."""

    node_id: str
    outcome: str
    duration: float
    message: str | None
    traceback: str | None
    place: e.Place | None = None
    failure: e.Failure | None = None
    files: tuple[e.File, ...] = ()
    testout: e.OutputLink | None = None
    properties: dict[str, Any] | None = None
    subtests: tuple[dict[str, Any], ...] = ()
    part_of: str = ""
    captured: tuple[Captured, ...] = ()


class _ReportedPhase(msgspec.Struct):
    stdout: str = ""
    stderr: str = ""
    log: list[dict[str, Any]] = []


class _ReportedTest(msgspec.Struct):
    nodeid: str
    setup: _ReportedPhase | None = None
    call: _ReportedPhase | None = None
    teardown: _ReportedPhase | None = None


class _JsonReport(msgspec.Struct):
    tests: list[_ReportedTest] = []


class KeptDocument(msgspec.Struct):
    run_id: str
    outcome: str
    tests: list[KeptTest] = []
    json_report: _JsonReport = msgspec.field(default_factory=_JsonReport)
    not_run: list[str] = []


_decoder = msgspec.json.Decoder(KeptDocument)


def read(raw: bytes) -> KeptDocument:
    try:
        document = decode(raw, _decoder)
    except ValueError as error:
        raise StreamError(f"not a result document: {error}") from None
    reported = {test.nodeid: test for test in document.json_report.tests}
    for test in document.tests:
        if test.node_id in reported:
            test.captured = _captured(reported[test.node_id])
    return document


def _captured(test: _ReportedTest) -> tuple[Captured, ...]:
    found = []
    for when in ("setup", "call", "teardown"):
        phase: _ReportedPhase | None = getattr(test, when)
        if phase is not None:
            found += [Captured(when, "stdout", phase.stdout), Captured(when, "stderr", phase.stderr)]
            found.append(Captured(when, "log", "\n".join(map(_log_line, phase.log))))
    return tuple(part for part in found if part.text)


def _log_line(record: dict[str, Any]) -> str:
    return f"{record.get('levelname')} {record.get('name')}: {record.get('msg')}"


def kept_test(event: e.TestFinished, load: Load) -> KeptTest:
    """A test of the event log, as the document would have it."""
    kept = msgspec.convert(document.test(event, load), KeptTest, from_attributes=True)
    reported = msgspec.convert(json_report.reported(event, load), _ReportedTest, from_attributes=True)
    kept.captured = _captured(reported)
    return kept


def without_result(test: str, outcome: str, files: tuple[e.File, ...] = ()) -> KeptTest:
    """A test that has not ended, or has never begun."""
    return KeptTest(node_id=test, outcome=outcome, duration=0.0, message=None, traceback=None, files=files)

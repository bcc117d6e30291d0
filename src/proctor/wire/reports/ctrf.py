"""CTRF, the Common Test Report Format: a JSON document, read whole and written in pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from proctor import events as e
from proctor.outcome import Outcome
from proctor.result import RunResult
from proctor.text import literal
from proctor.wire.literal import literal_in
from proctor.wire.reports import contents
from proctor.wire.reports.report import COLLECTION_ERROR, JsonDocument, finished, place_of, refined
from proctor.wire.stream.objects import captured
from proctor.wire.stream.words import KIND

# 0.0: the version of CTRF's schema that we write.
SPEC_VERSION = "0.0.0"

_CONTENT = "application/octet-stream"  # of attached files
_STATUSES = {"passed": Outcome.PASSED, "failed": Outcome.FAILED, "skipped": Outcome.SKIPPED}
_NOT_RUN = {"todo", "pending", "disabled", "ignored"}  # raw words of tools whose reporters write `other`


class _Test(msgspec.Struct, rename="camel"):
    name: str
    status: str
    duration: float = 0.0
    suite: str | list[str] | None = None
    message: str | None = None
    trace: str | None = None
    line: int | None = None
    file_path: str | None = None
    raw_status: str | None = None
    retries: int | None = None
    flaky: bool | None = None
    stdout: list[str] | None = None
    stderr: list[str] | None = None
    extra: dict[str, Any] | None = None


class _Tool(msgspec.Struct, frozen=True):
    name: str = ""
    version: str | None = None


class _Summary(msgspec.Struct):
    tests: int
    failed: int = 0
    start: float = 0.0
    stop: float = 0.0


class _Results(msgspec.Struct):
    tests: list[_Test]
    summary: _Summary
    tool: _Tool = _Tool()


class _Report(msgspec.Struct):
    results: _Results


_encoder = msgspec.json.Encoder(enc_hook=str)


class CtrfReader(JsonDocument):
    format = "ctrf"
    decoder = msgspec.json.Decoder(_Report)

    def _events(self, report: _Report) -> Iterator[e.Event]:
        results = report.results
        tool, summary = results.tool, results.summary
        if tool.name:
            yield e.SuiteDescribed("", {tool.name: tool.version or ""})
        for test in results.tests:
            yield self._test(test)
        failed = sum(test.status == "failed" for test in results.tests)
        if summary.tests != len(results.tests):
            self._gaps.append(f"its summary has {summary.tests} tests, its list {len(results.tests)}")
        if summary.failed > failed:
            self._gaps.append(f"its summary has {summary.failed} failed, its list {failed}")
        yield e.SuiteStarted(tool.name, "", max(summary.tests, len(results.tests)))
        duration = (summary.stop - summary.start) / 1000
        yield self._ending(None, len(results.tests), duration=duration, created=summary.stop / 1000)

    def _test(self, test: _Test) -> e.Event:
        suite = [test.suite] if isinstance(test.suite, str) else test.suite or []
        name = self._names.unique(" > ".join([*suite, test.name]))
        if test.raw_status == COLLECTION_ERROR and test.status == "failed":
            return e.CollectionFailed(name, e.Failure("", test.message or ""), test.trace or "")
        outcome = _outcome(test)
        unclear = f"its status is {test.status!r}" if outcome is Outcome.ERROR else ""
        kept = (test.extra or {}).get("properties")
        properties = dict(kept) if isinstance(kept, dict) else {}
        if test.flaky or test.retries:
            properties |= {"flaky": bool(test.flaky), "retries": test.retries or 0}
        return finished(
            name,
            refined(outcome, test.raw_status),
            test.duration / 1000,
            message=test.message or unclear or ("todo" if test.raw_status == "todo" else ""),
            traceback=test.trace or "",
            place=place_of(test.file_path, test.line or 0) if test.file_path else None,
            stdout=_joined(test.stdout),
            stderr=_joined(test.stderr),
            properties=properties,
        )


def _outcome(test: _Test) -> Outcome:
    """`other` may be anything, so it is an error, unless the tool's own word is a known one."""
    if test.status == "pending" or (test.status == "other" and test.raw_status in _NOT_RUN):
        return Outcome.SKIPPED
    return _STATUSES.get(test.status, Outcome.ERROR)


def _joined(lines: list[str] | None) -> str:
    return "".join(f"{line}\n" for line in lines or ())


def write(result: RunResult) -> Iterator[bytes]:
    missing = contents.unexplained(result)
    words = Counter(str(KIND[test.outcome]) for test in contents.tests(result))
    words["failed"] += len(result.collection_errors) + bool(missing)
    start, stop = _times(result)
    summary: dict[str, Any] = {
        "tests": sum(words.values()),
        **{word: words[word] for word in ("passed", "failed", "skipped", "pending", "other")},
        "start": start,
        "stop": stop,
    }
    head = {"reportFormat": "CTRF", "specVersion": SPEC_VERSION, "generatedBy": "proctor"}
    tool = {"name": literal(result.run.runner) or "proctor"}
    yield _encoder.encode(head)[:-1] + b',"results":{"tool":' + _encoder.encode(tool)
    yield b',"summary":' + _encoder.encode(summary) + b',"tests":['
    for number, entry in enumerate(_entries(result, missing)):
        yield (b"," if number else b"") + _encoder.encode(entry)
    yield b"]}}\n"


def _entries(result: RunResult, missing: str) -> Iterator[dict[str, Any]]:
    for test in contents.tests(result):
        yield _entry(test)
    for error in result.collection_errors:
        yield _failed(error.file, COLLECTION_ERROR, error.failure.message, error.traceback)
    if missing:
        yield _failed("proctor: run", str(result.outcome), missing, "")


def _failed(name: str, raw: str, message: str, trace: str) -> dict[str, Any]:
    facts = {"name": literal(name) or "?", "status": "failed", "duration": 0, "rawStatus": raw}
    return facts | {key: literal(text) for key, text in (("message", message), ("trace", trace)) if text}


def _entry(test: e.TestFinished) -> dict[str, Any]:
    place = test.place
    optional: dict[str, Any] = {
        "message": literal(test.message or ""),
        "trace": literal(test.traceback or ""),
        "filePath": literal(place.file) if place else "",
        "line": place.line if place else 0,
        "tags": [literal(word) for word in test.keywords if word],
        "stdout": literal(captured(test, "stdout")).splitlines(),
        "stderr": literal(captured(test, "stderr")).splitlines(),
        "attachments": [
            {"name": literal(file.name), "contentType": _CONTENT, "path": literal(file.path)}
            for file in test.files
        ],
        "extra": {"properties": literal_in(test.properties)} if test.properties else {},
    }
    facts = {
        "name": literal(test.test) or "?",
        "status": KIND[test.outcome],
        "duration": round(test.seconds * 1000),
        "rawStatus": str(test.outcome),
    }
    return facts | {key: value for key, value in optional.items() if value}


def _times(result: RunResult) -> tuple[int, int]:
    """When it began and ended, in milliseconds; zero where that is unknown."""
    finished = result.finished
    ended = finished.created if finished else 0.0
    try:
        began = datetime.fromisoformat(result.run.started).timestamp()
    except ValueError:
        began = max(0.0, ended - result.seconds)
    return round(began * 1000), round((began + result.seconds) * 1000)

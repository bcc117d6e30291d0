"""CTRF, the Common Test Report Format: a JSON document, read whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from proctor import events as e
from proctor.outcome import Outcome
from proctor.wire.report import COLLECTION_ERROR, Document, decode, finished, refined

_STATUSES = {"passed": Outcome.PASSED, "failed": Outcome.FAILED, "skipped": Outcome.SKIPPED}


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


_decoder = msgspec.json.Decoder(_Report)


class CtrfReader(Document):
    format = "ctrf"

    def _tell(self, data: bytes) -> Iterator[e.Event]:
        try:
            results = decode(data, _decoder).results
        except ValueError as error:
            raise self._fault(str(error)) from None
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
        duration = max(0.0, (summary.stop - summary.start) / 1000)
        yield from self._ending(
            e.SessionFinished(None, len(results.tests), duration=duration, created=summary.stop / 1000)
        )

    def _test(self, test: _Test) -> e.Event:
        suite = [test.suite] if isinstance(test.suite, str) else test.suite or []
        name = self._names.unique(" > ".join([*suite, test.name]))
        if test.raw_status == COLLECTION_ERROR and test.status == "failed":
            return e.CollectionFailed(name, e.Failure("", test.message or ""), test.trace or "")
        outcome = _outcome(test)
        unclear = f"its status is {test.status!r}" if outcome is Outcome.ERROR else ""
        properties = dict((test.extra or {}).get("properties") or {}) if test.extra else {}
        if test.flaky or test.retries:
            properties |= {"flaky": bool(test.flaky), "retries": test.retries or 0}
        return finished(
            name,
            refined(outcome, test.raw_status),
            max(0.0, test.duration / 1000),
            message=test.message or unclear,
            traceback=test.trace or "",
            place=e.Place(test.file_path, max(0, test.line or 0)) if test.file_path else None,
            stdout=_joined(test.stdout),
            stderr=_joined(test.stderr),
            properties=properties,
        )


def _outcome(test: _Test) -> Outcome:
    """`other` may be anything, so it is no pass."""
    if test.status == "pending":
        return Outcome.SKIPPED
    return _STATUSES.get(test.status, Outcome.ERROR)


def _joined(lines: list[str] | None) -> str:
    return "".join(f"{line}\n" for line in lines or ())

"""CTRF, the Common Test Report Format: a JSON document, read whole and written in pieces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from proctor import decoding
from proctor import events as e
from proctor.outcome import BAD, QUARANTINED, Outcome
from proctor.result import RunResult, SuiteResult
from proctor.text import literal
from proctor.wire.document.history import Heard, Words, of_run
from proctor.wire.literal import literal_in
from proctor.wire.reports import contents
from proctor.wire.reports.id_parts import id_parts
from proctor.wire.reports.markers import markers_of
from proctor.wire.reports.report import (
    COLLECTION_ERROR,
    SUMMARY,
    JsonDocument,
    finished,
    place_of,
    refined,
    took,
)
from proctor.wire.stream.words import KIND

# 0.0: the version of CTRF's schema that we write.
SPEC_VERSION = "0.0.0"
GENERATOR = "proctor"

_CONTENT = "application/octet-stream"  # of attached files
_WORDS = ("passed", "failed", "skipped", "pending", "other")
_Status: TypeAlias = Literal["passed", "failed", "skipped", "pending", "other"]
_Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
_VERSION = re.compile("[0-9]+[.][0-9]+[.][0-9]+")
_STATUSES = {"passed": Outcome.PASSED, "failed": Outcome.FAILED, "skipped": Outcome.SKIPPED}
_PHASES = {"passed": "passed", "failed": "failed", "skipped": "skipped"}
_REASON = "quarantine_reason"  # in `extra`
#: In `extra`, too: names of the result document that have another spelling here.
_CAMEL = {"run_id": "runId", "compared_with": "comparedWith", "baseline_reason": "baselineReason"}
_SNAKE = {camel: name for name, camel in _CAMEL.items()}
_MOST_RETRIES = 100  # that are listed one by one
_NOT_RUN = {"todo", "pending", "disabled", "ignored"}  # raw words of tools whose reporters write `other`


class _Step(msgspec.Struct):
    status: _Status


class _Attempt(msgspec.Struct):
    """An attempt before the last one."""

    status: _Status
    duration: float | None = None
    message: str | None = None
    extra: dict[str, Any] | None = None


class _File(msgspec.Struct, rename="camel"):
    name: str
    path: str
    content_type: str


class _Test(msgspec.Struct, rename="camel"):
    name: _Name
    status: str
    duration: float | msgspec.UnsetType = msgspec.UNSET
    suite: str | list[str] | None = None
    message: str | None = None
    trace: str | None = None
    line: int | None = None
    file_path: str | None = None
    raw_status: str | None = None
    retries: Annotated[int, msgspec.Meta(ge=0)] | None = None
    retry_attempts: list[_Attempt] | None = None
    flaky: bool | None = None
    stdout: list[str] | None = None
    stderr: list[str] | None = None
    tags: list[str] | None = None
    steps: list[_Step] | None = None
    attachments: list[_File] | None = None
    extra: dict[str, Any] | None = None


class _Tool(msgspec.Struct, frozen=True):
    name: str | msgspec.UnsetType = msgspec.UNSET
    version: str | None = None


class _Summary(msgspec.Struct):
    tests: int
    passed: int | msgspec.UnsetType = msgspec.UNSET
    failed: int | msgspec.UnsetType = msgspec.UNSET
    skipped: int | msgspec.UnsetType = msgspec.UNSET
    pending: int | msgspec.UnsetType = msgspec.UNSET
    other: int | msgspec.UnsetType = msgspec.UNSET
    flaky: int | msgspec.UnsetType = msgspec.UNSET
    start: float | msgspec.UnsetType = msgspec.UNSET
    stop: float | msgspec.UnsetType = msgspec.UNSET


class _Results(msgspec.Struct):
    tests: list[_Test]
    summary: _Summary
    tool: _Tool = _Tool()


class _Report(msgspec.Struct, rename="camel"):
    results: _Results
    report_format: str | msgspec.UnsetType = msgspec.UNSET
    spec_version: str | msgspec.UnsetType = msgspec.UNSET
    generated_by: str = ""
    extra: Any = None


_encoder = msgspec.json.Encoder(enc_hook=str)


class CtrfReader(JsonDocument):
    format = "ctrf"
    decoder = decoding.decoder(_Report)

    def __init__(self) -> None:
        super().__init__()
        self._heard = Heard()

    def _events(self, report: _Report) -> Iterator[e.Event]:
        results = report.results
        tool, summary = results.tool, results.summary
        name = tool.name if isinstance(tool.name, str) else ""
        if name:
            yield e.SuiteDescribed("", {name: tool.version or ""})
        for test in results.tests:
            yield from self._test(test, report.generated_by == GENERATOR)
        statuses = Counter(test.status for test in results.tests)
        self._compare("tests", summary.tests, len(results.tests), SUMMARY)
        for word in _WORDS:
            self._compare(word, getattr(summary, word), statuses[word], SUMMARY)
        self._compare("flaky", summary.flaky, sum(bool(test.flaky) for test in results.tests), SUMMARY)
        self._check_format(report)
        if report.generated_by == GENERATOR:
            of_run = report.extra if isinstance(report.extra, dict) else {}
            yield from self._heard.events_of(_renamed(of_run, _SNAKE))
        yield e.SuiteStarted(name, "", max(summary.tests, len(results.tests)))
        start, stop = (_number(time) for time in (summary.start, summary.stop))
        duration = (stop - start) / 1000
        yield self._ending(None, len(results.tests), duration=duration, created=stop / 1000)

    def _check_format(self, report: _Report) -> None:
        """What every report must say by CTRF's own schema."""
        if report.report_format != "CTRF":
            self._gaps.append(f"reportFormat is {_shown(report.report_format)}: expected 'CTRF'")
        version = report.spec_version
        if not isinstance(version, str) or not _VERSION.fullmatch(version):
            self._gaps.append(f"specVersion is {_shown(version)}: expected three numbers")
        if not report.results.tool.name:
            self._gaps.append("the tool has no name")
        required = ("passed", "failed", "skipped", "pending", "other", "start", "stop")
        missing = [name for name in required if getattr(report.results.summary, name) is msgspec.UNSET]
        if missing:
            self._gaps.append(f"the summary lacks {', '.join(missing)}")
        if timeless := sum(test.duration is msgspec.UNSET for test in report.results.tests):
            self._gaps.append(f"{timeless} of its tests have no duration")

    def _test(self, test: _Test, ours: bool) -> Iterator[e.Event]:
        suite = [test.suite] if isinstance(test.suite, str) else test.suite or []
        kept = (test.extra or {}).get("id") if ours else None
        name = self._names.unique(kept if isinstance(kept, str) else " > ".join([*suite, test.name]))
        if ours and test.extra:
            self._heard.take(name, _renamed(test.extra, _SNAKE))
        if test.raw_status == COLLECTION_ERROR and test.status == "failed":
            yield e.CollectionFailed(name, e.Failure("", test.message or ""), test.trace or "")
            return
        outcome = _outcome(test)
        unclear = f"its status is {test.status!r}" if outcome is Outcome.ERROR else ""
        message = test.message or unclear or ("todo" if test.raw_status == "todo" else "")
        outcome = refined(outcome, test.raw_status)
        if ours and (excuse := _excuse(test.extra or {})) is not None:
            yield e.TestsQuarantined({name: excuse})
            if outcome is Outcome.SKIPPED and test.raw_status in BAD:
                outcome = Outcome(test.raw_status)
                message = message.removeprefix(contents.excused(excuse, " ")[:-1])
        custom = (test.extra or {}).get("properties")
        properties = dict(custom) if isinstance(custom, dict) else {}
        attempts = _attempts(test, outcome)
        if (test.flaky or test.retries) and not attempts:
            properties |= {"flaky": bool(test.flaky), "retries": test.retries or 0}
        yield finished(
            name,
            outcome,
            _number(test.duration) / 1000,
            message=message,
            traceback=test.trace or "",
            place=place_of(test.file_path, test.line or 0) if test.file_path else None,
            stdout=_joined(test.stdout),
            stderr=_joined(test.stderr),
            properties=properties,
            attempts=attempts,
        )


def _excuse(extra: dict[str, Any]) -> str | None:
    """The reason why the test is in quarantine, which may be empty; None if it is not."""
    reason = extra.get(_REASON, "")
    return reason if extra.get(QUARANTINED) is True and isinstance(reason, str) else None


def _attempts(test: _Test, outcome: Outcome) -> tuple[e.Attempt, ...]:
    """Those before the last. A report that only counts them says of one that is flaky, or failed, that they
    failed too."""
    if test.retry_attempts:
        return tuple(map(_attempt, test.retry_attempts))
    retries = test.retries or 0
    known = test.flaky if outcome is Outcome.PASSED else outcome in BAD and retries
    return (e.Attempt(Outcome.FAILED),) * max(1, retries) if known and retries <= _MOST_RETRIES else ()


def _attempt(found: _Attempt) -> e.Attempt:
    outcome = Outcome.SKIPPED if found.status == "pending" else _STATUSES.get(found.status, Outcome.ERROR)
    extra = found.extra or {}
    kind = extra.get("type", "")
    failure = e.Failure(kind if isinstance(kind, str) else "", found.message or "")
    return e.Attempt(
        refined(outcome, str(extra.get("outcome"))),
        took((found.duration or 0.0) / 1000),
        found.message,
        failure if found.message else None,
    )


def _outcome(test: _Test) -> Outcome:
    """`other` may be anything, so it is an error, unless the tool's own word is a known one."""
    if test.status == "pending" or (test.status == "other" and test.raw_status in _NOT_RUN):
        return Outcome.SKIPPED
    return _STATUSES.get(test.status, Outcome.ERROR)


def _joined(lines: list[str] | None) -> str:
    return "".join(f"{line}\n" for line in lines or ())


def _number(value: float | msgspec.UnsetType) -> float:
    return 0.0 if isinstance(value, msgspec.UnsetType) else value


def _shown(value: str | msgspec.UnsetType) -> str:
    return repr(value[:20]) if isinstance(value, str) else "missing"


def write(result: RunResult) -> Iterator[bytes]:
    missing = contents.unexplained(result)
    quarantined = result.quarantined
    words = Counter(_status(test, quarantined) for test in contents.tests(result))
    words["failed"] += len(result.collection_errors) + bool(missing)
    start, stop = _times(result)
    summary: dict[str, Any] = {
        "tests": sum(words.values()),
        **{word: words[word] for word in ("passed", "failed", "skipped", "pending", "other")},
        "suites": len(contents.suites(result)) + len(result.missing),
        "start": start,
        "stop": stop,
    }
    if flaky := sum(_again(test).get("flaky", False) for test in contents.tests(result)):
        summary["flaky"] = flaky
    head: dict[str, Any] = {"reportFormat": "CTRF", "specVersion": SPEC_VERSION, "generatedBy": GENERATOR}
    if compared := _extra(of_run(result)):
        head["extra"] = compared
    yield _encoder.encode(head)[:-1] + b',"results":{"tool":' + _encoder.encode(_tool(result))
    yield b',"summary":' + _encoder.encode(summary) + b',"tests":['
    for number, entry in enumerate(_entries(result, missing)):
        yield (b"," if number else b"") + _encoder.encode(entry)
    yield b"]}}\n"


def _tool(result: RunResult) -> dict[str, str]:
    """The one that ran the tests, with its version; of several, none is named."""
    name = "" if result.several else literal(result.run.runner)
    if not name:
        return {"name": GENERATOR}
    version = literal(result.described.toolchain.get(name, "")) if result.described else ""
    return {"name": name, "version": version} if version else {"name": name}


def _extra(facts: dict[str, Any]) -> dict[str, Any]:
    """What earlier runs and another commit say, with the names that CTRF would give it."""
    found: dict[str, Any] = literal_in(_renamed(msgspec.to_builtins(facts), _CAMEL))
    return found


def _renamed(value: Any, names: Mapping[str, str], depth: int = 3) -> Any:
    """No deeper than it has to be: a report may be nested without end."""
    if not isinstance(value, dict) or depth == 0:
        return value
    return {names.get(name, name): _renamed(part, names, depth - 1) for name, part in value.items()}


def _entries(result: RunResult, missing: str) -> Iterator[dict[str, Any]]:
    words = Words(result)
    for suite in result.suites:
        above = [suite.name] if result.several else []
        for test in contents.tests_of(suite):
            yield _entry(test, suite, above, _extra(words.of(test.test)) if test.outcome in BAD else {})
        for error in suite.errors:
            texts = error.failure.message, error.traceback
            yield _failed(error.file, above, COLLECTION_ERROR, *texts, _extra(words.of(error.file)))
    for absent in result.missing:
        test = contents.missing_test(absent)
        yield {**_facts(test, test.test, [absent.runner], {}), "message": literal(test.message or "")}
    if missing:
        yield _failed("proctor: run", [], str(result.outcome), missing, "")


def _failed(
    name: str, above: list[str], raw: str, message: str, trace: str, extra: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What is no test."""
    facts: dict[str, Any] = {
        "name": literal(name) or "?",
        "status": "failed",
        "duration": 0,
        "rawStatus": raw,
    }
    if above:
        facts["suite"] = list(map(literal, above))
        extra = {"id": facts["name"], **(extra or {})}
    if extra:
        facts["extra"] = extra
    return facts | {key: literal(text) for key, text in (("message", message), ("trace", trace)) if text}


def _entry(
    test: e.TestFinished, suite: SuiteResult, above: list[str], told: dict[str, Any]
) -> dict[str, Any]:
    """`told`: what earlier runs and another commit say."""
    place = test.place
    path, names = id_parts(test.test)
    scope = [*above, *([] if above == [path] else [path]), *names[:-1]] if names else above or [suite.name]
    quarantined = suite.quarantined
    facts = _facts(test, names[-1] if names else test.test, scope, quarantined)
    properties = {key: value for key, value in (test.properties or {}).items() if key not in _again(test)}
    extra: dict[str, Any] = {}
    if _joined_name(facts) != literal(test.test):
        extra["id"] = literal(test.test)
    if test.test in quarantined:
        extra |= {QUARANTINED: True, _REASON: literal(quarantined[test.test])}
    optional: dict[str, Any] = {
        "message": literal(contents.excuse(test, quarantined) or test.message or ""),
        "trace": literal(contents.trace(test)),
        "filePath": literal(place.file) if place else "",
        "line": place.line if place else 0,
        "tags": [literal(word) for word in markers_of(test, suite)],
        **_again(test),
        "stdout": literal(contents.output(test)).splitlines(),
        "stderr": literal(contents.printed(test, "stderr")).splitlines(),
        "steps": [
            {"name": literal(phase.subtest), "status": _PHASES.get(phase.outcome, "other")}
            for phase in test.phases
            if phase.subtest is not None
        ],
        "attachments": [
            {"name": literal(file.name), "contentType": _CONTENT, "path": literal(file.path)}
            for file in test.files
        ],
        "extra": extra | told | ({"properties": literal_in(properties)} if properties else {}),
    }
    return facts | {key: value for key, value in optional.items() if value}


def _status(test: e.TestFinished, quarantined: Mapping[str, str]) -> str:
    return "skipped" if contents.excuse(test, quarantined) else KIND[test.outcome]


def _facts(
    test: e.TestFinished, name: str, scope: list[str], quarantined: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "name": literal(name) or "?",
        "status": _status(test, quarantined),
        "duration": round(took(test.seconds) * 1000),
        "rawStatus": str(test.outcome),
        "suite": list(map(literal, scope)),
    }


def _joined_name(facts: dict[str, Any]) -> str:
    """The id that a reader makes of name and suite."""
    return " > ".join([*facts["suite"], facts["name"]])


def _again(test: e.TestFinished) -> dict[str, Any]:
    """`flaky` and `retries`, of a test that ran again or comes from a report that has them."""
    if test.attempts:
        tries = [_retried(number, one) for number, one in enumerate(test.attempts, 1)]
        return {"flaky": test.flaky, "retries": len(tries), "retryAttempts": tries}
    found = test.properties or {}
    flaky, retries = found.get("flaky"), found.get("retries")
    if (
        not isinstance(flaky, bool)
        or not isinstance(retries, int)
        or isinstance(retries, bool)
        or retries < 0
    ):
        return {}
    return {"flaky": flaky, "retries": retries}


def _retried(number: int, one: e.Attempt) -> dict[str, Any]:
    facts = {"attempt": number, "status": KIND[one.outcome], "duration": round(took(one.seconds) * 1000)}
    place = one.failure.place if one.failure else None
    extra = {"outcome": one.outcome, "type": literal(one.failure.type if one.failure else "")}
    message = literal(one.message or (one.failure.message if one.failure else ""))
    more = {"message": message, "line": place.line if place else 0}
    return facts | {name: value for name, value in more.items() if value} | {"extra": extra}


def _times(result: RunResult) -> tuple[int, int]:
    """When it began and ended, in milliseconds; zero where that is unknown."""
    began = contents.moment_of(result, 0.0)
    try:
        start = began.timestamp() if began else 0.0
    except (ValueError, OverflowError):  # of a year that no clock knows
        start = 0.0
    return round(start * 1000), round((start + took(result.seconds)) * 1000)

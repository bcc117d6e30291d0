"""A result as JUnit XML: one level of suites, a test's id as `classname` and `name`.

What JUnit has no element for (a crash, an expected failure, a test that never ran) is in the property
`proctor.outcome`, so that nothing is lost to whoever knows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from proctor import events as e
from proctor.outcome import BAD, Outcome
from proctor.result import RunResult, SuiteResult
from proctor.wire.reports import contents
from proctor.wire.reports.junit import OUTCOME
from proctor.wire.reports.report import COLLECTION_ERROR
from proctor.wire.stream.objects import captured
from proctor.wire.stream.words import KIND

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE = _ESCAPES | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})
_PLAIN = {Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.SKIPPED}
_SKIPPED = {outcome for outcome, kind in KIND.items() if kind is Outcome.SKIPPED}


def write(result: RunResult) -> Iterator[bytes]:
    suites = contents.suites(result)
    missing = contents.unexplained(result)
    if missing:
        inner = _element("error", {"type": str(result.outcome), "message": missing}, missing)
        explanation = _testcase({"classname": "proctor", "name": "run"}, [inner])
    whole = [_numbers(suite) for suite in suites]
    sums: dict[str, Any] = {name: sum(numbers[name] for numbers in whole) for name in whole[0]}
    sums["tests"] += bool(missing)
    sums["errors"] += bool(missing)
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_attributes({**sums, 'time': _seconds(result.seconds)})}>\n".encode()
    for suite, numbers in zip(suites, whole, strict=True):
        last = bool(missing) and suite is suites[-1]
        numbers["tests"] += last
        numbers["errors"] += last
        attributes = {"name": suite.name, **numbers, "time": _seconds(suite.seconds)}
        if result.run.started:
            attributes["timestamp"] = result.run.started
        yield f"<testsuite{_attributes(attributes)}>\n".encode()
        for test in contents.tests_of(suite):
            yield _case(test).encode()
        for error in suite.errors:
            yield _collection_error(error).encode()
        if last:
            yield explanation.encode()
        yield b"</testsuite>\n"
    yield b"</testsuites>\n"


def _numbers(suite: SuiteResult) -> dict[str, int]:
    counts, not_run = suite.counts, len(suite.not_run)
    return {
        "tests": sum(counts.values()) + not_run + len(suite.errors),
        "failures": counts[Outcome.FAILED],
        "errors": sum(counts[outcome] for outcome in BAD - {Outcome.FAILED}) + len(suite.errors),
        "skipped": sum(counts[outcome] for outcome in _SKIPPED) + not_run,
    }


def _case(test: e.TestFinished) -> str:
    owner, name = _split(test.test)
    named = {"classname": owner, "name": contents.printable(name) or "?"}
    attributes: dict[str, Any] = {**named, "time": _seconds(test.seconds)}
    if test.place is not None:
        attributes["file"] = test.place.file
        if test.place.line:
            attributes["line"] = test.place.line
    properties = {key: _value(value) for key, value in (test.properties or {}).items()}
    if test.outcome not in _PLAIN:
        properties[OUTCOME] = str(test.outcome)
    inner = [_properties(properties)] if properties else []
    if test.outcome in BAD or test.outcome in _SKIPPED:
        inner.append(_complaint(test))
    for tag, stream in (("system-out", "stdout"), ("system-err", "stderr")):
        if text := captured(test, stream):
            inner.append(_element(tag, {}, text))
    return _testcase(attributes, inner)


def _complaint(test: e.TestFinished) -> str:
    message = test.message or ""
    if test.outcome in _SKIPPED:
        return _element("skipped", {"message": message}, "")
    tag = "failure" if test.outcome is Outcome.FAILED else "error"
    kind = test.failure.type if test.failure else ""
    return _element(tag, {"type": kind, "message": message or str(test.outcome)}, test.traceback or "")


def _collection_error(error: e.CollectionFailed) -> str:
    attributes = {"type": error.failure.type, "message": error.failure.message or "could not be collected"}
    inner = [_properties({OUTCOME: COLLECTION_ERROR}), _element("error", attributes, error.traceback)]
    return _testcase({"classname": "", "name": error.file}, inner)


def _split(test: str) -> tuple[str, str]:
    """At the last `::` that is not part of a parameter."""
    bracket = test.find("[")
    at = test.rfind("::", 0, bracket if bracket >= 0 else None)
    return (test[:at], test[at + 2 :]) if at > 0 else ("", test)


def _seconds(value: float) -> str:
    return f"{value:.6f}"


def _value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()


def _properties(properties: dict[str, str]) -> str:
    inner = [_element("property", {"name": name, "value": value}) for name, value in properties.items()]
    return f"<properties>{''.join(inner)}</properties>"


def _testcase(attributes: dict[str, Any], inner: list[str]) -> str:
    opening = f"<testcase{_attributes(attributes)}"
    return f"{opening}>{''.join(inner)}</testcase>\n" if inner else f"{opening}/>\n"


def _element(tag: str, attributes: dict[str, str], text: str = "") -> str:
    opening = f"<{tag}{_attributes(attributes)}"
    body = contents.printable(text).translate(_ESCAPES)
    return f"{opening}>{body}</{tag}>" if body else f"{opening}/>"


def _attributes(attributes: dict[str, Any]) -> str:
    return "".join(
        f' {name}="{contents.printable(str(value)).translate(_IN_ATTRIBUTE)}"'
        for name, value in attributes.items()
    )

"""Checks a public stream rule by rule (docs/reference/stream.md), stricter than `stream.reader`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from proctor.wire.stream.words import REASON, SUBTYPES, Object, has_zone

TYPES = ("suite", "test", "bench", "final")
STATUSES = ("ok", "fail", "ignore")

_Broken: TypeAlias = Iterator[tuple[str, str]]  # rules, and how each is broken


class Violation(msgspec.Struct, frozen=True):
    line: int  # from 1
    rule: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message} ({self.rule})"


class StreamRules:
    """Takes lines as they are, each with its LF; `close` is for the end of the input."""

    def __init__(self) -> None:
        self._number = 0
        self._labels: dict[str, int] = {}
        self._suite: Object | None = None
        self._suites = 0
        self._tally = dict.fromkeys(STATUSES, 0)

    def check(self, line: bytes) -> list[Violation]:
        self._number += 1
        return [Violation(self._number, rule, message) for rule, message in self._line(line)]

    def close(self) -> list[Violation]:
        """The rules that the end of the input breaks."""
        if self._suites == 0:
            return [Violation(self._number + 1, "R5", "no suite: a stream begins with one")]
        if self._suite is not None:
            return [Violation(self._number + 1, "R25", "the stream ends without a final line")]
        return []

    def _line(self, line: bytes) -> _Broken:
        if not line.endswith(b"\n"):
            yield "R1", "the line does not end with LF"
        elif line.endswith(b"\r\n"):
            yield "R1", "the line ends with CR LF: expected LF"
        try:
            found = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            yield "R2", f"not JSON: {error}: {line[:80]!r}"
            return
        if not isinstance(found, dict):
            yield "R1", f"expected an object, not {line[:80]!r}"
            return
        if not isinstance(found.get("extra", {}), dict):
            yield "R4", f"extra is {_shown(found['extra'])}: expected an object"
        kind = found.get("type")
        if kind not in TYPES:
            yield "R3", f"type is {_shown(kind)}: expected one of {', '.join(TYPES)}"
        elif kind == "suite":
            yield from self._begin(found)
        elif self._suite is None:
            yield ("R25" if self._suites else "R5"), f"a {kind} outside a suite"
        elif kind == "final":
            yield from self._end(found)
        else:
            yield from self._test(found)

    def _begin(self, suite: Object) -> _Broken:
        if self._suite is not None:
            yield "R25", "a suite before the final line of the one before"
        self._suite = suite
        self._suites += 1
        self._tally = dict.fromkeys(STATUSES, 0)
        yield from _field(suite, "build", "R7", _is_time, "an ISO 8601 time with its zone", required=True)
        yield from _field(suite, "name", "R8", _is_text, "text")
        yield from _field(suite, "count", "R9", _is_count, "a whole number", required=True)
        yield from _field(suite, "rustc", "R10", _is_text, "text", required=True)

    def _test(self, test: Object) -> _Broken:
        label = test.get("label")
        if not isinstance(label, str) or not label:
            yield "R17", f"label is {_shown(label)}: expected text"
        elif label in self._labels:
            yield "R12 R17", f"label {label!r} is that of line {self._labels[label]}"
        else:
            self._labels[label] = self._number
        yield from _field(test, "subtype", "R13", SUBTYPES.__contains__, f"one of {', '.join(SUBTYPES)}")
        status = test.get("status")
        if status in STATUSES:
            self._tally[status] += 1
        else:
            yield "R14", f"status is {_shown(status)}: expected one of {', '.join(STATUSES)}"
        yield from _reason(test)
        yield from _field(test, "file", "R18", _is_text, "text")
        yield from _field(test, "line", "R19", lambda line: _is_count(line) and line > 0, "a line from 1")
        yield from _field(test, "stdout", "R20", _is_text, "text")
        yield from _field(test, "stderr", "R21", _is_text, "text")
        yield from _field(test, "duration", "R22", _is_count, "a whole number of nanoseconds")
        if "bench" in (test["type"], test.get("subtype")) and status == "ok" and "duration" not in test:
            yield "R23", "a benchmark without duration"
        yield from _field(test, "throughput", "R24", _is_number, "a number")

    def _end(self, final: Object) -> _Broken:
        results = final.get("results")
        count = self._suite.get("count") if self._suite else None
        seen = sum(self._tally.values())
        if _is_count(count) and count != seen:
            yield "R9", f"the suite announced {count} tests and has {seen}"
        if not isinstance(results, dict) or set(results) != set(STATUSES):
            yield "R26", f"results is {_shown(results)}: expected exactly ok, fail and ignore"
        elif results != self._tally or not all(map(_is_count, results.values())):
            yield "R26", f"results is {_shown(results)}; the tests above add up to {_shown(self._tally)}"
        self._suite = None


def _reason(test: Object) -> _Broken:
    reason = test.get("reason")
    if test.get("status") != "fail":
        if "reason" in test:
            yield "R16", f"a reason where status is {_shown(test.get('status'))}"
    elif not isinstance(reason, str) or not reason.strip():
        yield "R15", f"reason is {_shown(reason)}; a failure has one"
    elif len(reason) > REASON or len(reason.splitlines()) > 1:
        yield "R15", f"reason has {len(reason)} characters: expected one line of at most {REASON}"


def _field(
    found: Object, name: str, rule: str, good: Callable[[Any], bool], expected: str, required: bool = False
) -> _Broken:
    if name in found and not good(found[name]):
        yield rule, f"{name} is {_shown(found[name])}: expected {expected}"
    elif name not in found and required:
        yield rule, f"no {name}: expected {expected}"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_time(value: object) -> bool:
    return isinstance(value, str) and has_zone(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else text[:57] + "..."

"""The result document within a budget: keeps verdict and failing ids longest, and names what is omitted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec

from proctor.mcp_server.size import cut, weight
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.render.masking import plain
from proctor.wire.document.schema import Document

Values: TypeAlias = dict[str, Any]

_OUTPUTS = ("text_output", "stderr")
_IDS = ("node_id", "nodeid")
_ESSENTIAL = ("node_id", "outcome", "duration", "message", "traceback")


class Room(msgspec.Struct, frozen=True):
    """The size of each part: characters of texts, and items of the less important lists."""

    text: int
    output: int
    items: int
    extras: bool = True  # the fields of a test that are not essential
    harmless: bool = True  # tests that neither passed nor failed


_ROOMS = (
    Room(6000, 3000, 50),
    Room(3000, 1500, 50),
    Room(1500, 800, 20),
    Room(800, 400, 20),
    Room(400, 200, 10),
    Room(400, 200, 10, extras=False),
    Room(200, 100, 5, extras=False),
    Room(200, 100, 5, extras=False, harmless=False),
    Room(100, 0, 3, extras=False, harmless=False),
    Room(60, 0, 1, extras=False, harmless=False),
    Room(0, 0, 0, extras=False, harmless=False),
)


def uri(run_id: str, part: str = "result.json") -> str:
    return f"proctor://runs/{run_id}/{part}"


def call(run_id: str, select: str, offset: int = 0) -> str:
    """The call that returns this part, as a model writes it."""
    more = f", offset={offset}" if offset else ""
    return f'get_run(run_id="{run_id}", select="{select}"{more})'


def failures(document: Document, budget: int, mask: bool = False) -> Values:
    """All fields of the document if they fit; of its tests those that did not pass."""
    ids = failing_ids(document)
    if len(fill(ids, budget)) < len(ids):
        return summary(document, budget, mask)
    parts = _parts(document, mask)

    def fits(room: Room) -> bool:
        return weight(_shortened(document, parts, room), budget) <= budget

    at = bisect_left(_ROOMS, True, key=fits)  # each of the rooms is smaller than the one before
    return _shortened(document, parts, _ROOMS[at]) if at < len(_ROOMS) else summary(document, budget, mask)


def summary(document: Document, budget: int, mask: bool = False) -> Values:
    """The outcome, the counts, and as many failing ids as fit."""
    ids = failing_ids(document)
    short: Values = {
        "run_id": document.run_id,
        "outcome": document.outcome,
        "reason": cut(plain(document.reason, mask), 200),
        "exit_code": document.exit_code,
        "summary": document.summary,
        "failing": [],
        "omitted": {"failing": len(ids), "call": call(document.run_id, "failures")},
    }
    if weight(short) > budget:
        short["reason"] = ""
    short["failing"] = fill(ids, budget - weight(short))
    left = len(ids) - len(short["failing"])
    short["omitted"] = {"failing": left, "call": call(document.run_id, "failures")} if left else {}
    return short


def failing_ids(document: Document) -> list[str]:
    """Files that could not be collected first, then crashes and timeouts, then other failures."""
    bad = [test for test in document.tests if test.outcome in BAD]
    bad.sort(key=lambda test: test.outcome not in (Outcome.CRASH, Outcome.TIMEOUT))
    return [*(error.file for error in document.collection_errors), *(test.node_id for test in bad)]


def fill(items: Iterable[Any], budget: int) -> list[Any]:
    """As many as fit, in their order."""
    taken = []
    for item in items:
        budget -= weight(item, max(0, budget)) + 1
        if budget < 0:
            break
        taken.append(item)
    return taken


def head(document: Document, mask: bool) -> Values:
    """The document without its long parts: what every page of it begins with."""
    names, command = ("runner", "interpreter", "source", "started", "current_test"), document.command
    return {
        "schema": document.schema,
        "run_id": document.run_id,
        "outcome": document.outcome,
        "reason": cut(plain(document.reason, mask), 300),
        "exit_code": document.exit_code,
        "signal": document.signal,
        "summary": document.summary,
        **{name: getattr(document, name) for name in names},
        "command": [*command[:12], *([f"… {len(command) - 12} more"] if len(command) > 12 else [])],
        "notices": [cut(plain(notice, mask), 200) for notice in document.notices[:5]],
        "tests": [],
        "json_report": {},
        "collection_errors": [],
        "warnings": [],
        "not_run": [],
        "text_output": "",
        "stderr": "",
        "omitted": {},
    }


def entry(test: dict[str, Any], size: int, extras: bool = True) -> dict[str, Any]:
    """A test of the document, its texts cut to `size` characters."""
    known = test if extras else {name: test[name] for name in _ESSENTIAL}
    short = {
        name: value for name, value in known.items() if extras or value is not None or name in _ESSENTIAL
    }
    for name in ("message", "traceback"):
        short[name] = _cut(test[name], size)
    if short.get("failure"):
        short["failure"] = {**short["failure"], "message": cut(short["failure"].get("message", ""), size)}
    return short


def _cut(text: str | None, size: int) -> str | None:
    return cut(text, size) or None if text else text


class _Parts(msgspec.Struct, frozen=True):
    """The parts of a document that are shortened, as plain values."""

    head: Values
    tests: list[Values]  # all that did not pass
    collection_errors: list[Values]
    warnings: list[Values]
    notices: list[str]
    text_output: str
    stderr: str


def _parts(document: Document, mask: bool) -> _Parts:
    passed = document.outcome == RunOutcome.PASSED  # then the output is of no interest
    return _Parts(
        head(document, mask),
        plain([test for test in document.tests if test.outcome != Outcome.PASSED], mask),
        plain(document.collection_errors, mask),
        plain(document.warnings[: _ROOMS[0].items], mask),
        plain(document.notices[: _ROOMS[0].items], mask),
        "" if passed else plain(document.text_output, mask),
        "" if passed else plain(document.stderr, mask),
    )


def _shortened(document: Document, parts: _Parts, room: Room) -> Values:
    listed = [test for test in parts.tests if room.harmless or test["outcome"] in BAD]
    warnings = [{**item, "message": cut(item["message"], room.text)} for item in parts.warnings[: room.items]]
    short = {
        **parts.head,
        "tests": [entry(test, room.text, room.extras) for test in listed],
        "json_report": {"summary": document.report.summary, "whole": uri(document.run_id)},
        "collection_errors": [_collection_error(error, room) for error in parts.collection_errors],
        "warnings": warnings,
        "not_run": list(document.not_run[: room.items]),
        "notices": [cut(notice, max(room.text, 100)) for notice in parts.notices[: room.items]],
        "text_output": cut(parts.text_output, room.output),
        "stderr": cut(parts.stderr, room.output // 2),
    }
    lists = {"tests": listed, "collection_errors": parts.collection_errors}
    lists |= {name: getattr(parts, name)[: room.items] for name in ("warnings", "notices")}
    short["omitted"] = _omitted(document, short, characters(lists, short))
    return short


def _omitted(document: Document, short: Values, lost: int) -> Values:
    """What is missing of each part, and the calls that return it: one for the lists, one for the output."""
    lists = ("tests", "warnings", "not_run", "notices")
    counted = {name: len(getattr(document, name)) - len(short[name]) for name in (*lists, *_OUTPUTS)}
    omitted: Values = {name: count for name, count in counted.items() if count > 0}
    calls = []
    if any(name in omitted for name in lists):  # they are behind the tests
        offset = 0 if "tests" in omitted else len(document.tests)
        calls.append(call(document.run_id, "tests", offset))
    if any(name in omitted for name in _OUTPUTS):
        calls.append(call(document.run_id, "output"))
    if calls:
        omitted["call"] = "; ".join(calls)
    return {**omitted, **cut_short(document.run_id, lost)}


def characters(whole: Any, short: Any) -> int:
    """How many characters of values as JSON a shorter form of the same items lacks."""
    if isinstance(whole, dict):
        return sum(
            characters(value, short[name]) if name in short else _length({name: value})
            for name, value in whole.items()
            if value not in (None, "", [], {})
        )
    if isinstance(whole, list) and isinstance(short, list):
        pairs = zip(whole, short, strict=False)
        return sum(characters(*pair) for pair in pairs) + sum(map(_length, whole[len(short) :]))
    return max(0, _length(whole) - _length(short)) if whole != short else 0


def _length(value: Any) -> int:
    return len(msgspec.json.encode(value))


def cut_short(run_id: str, lost: int, part: str = "result.json") -> Values:
    """What `omitted` says of texts that were cut: how much, and where the whole is."""
    return {"characters": lost, "whole": uri(run_id, part)} if lost > 0 else {}


def smaller(value: Any, size: int) -> Any:
    """The value with texts of at most `size` characters, and fewer items; ids stay whole."""
    if isinstance(value, str):
        return cut(value, max(size, 60))
    if isinstance(value, dict):
        return {name: smaller(item, size) if name not in _IDS else item for name, item in value.items()}
    if isinstance(value, list):
        return [smaller(item, size) for item in value[: max(1, size // 20)]]
    return value


def _collection_error(error: dict[str, Any], room: Room) -> dict[str, Any]:
    size = max(room.text, 60)
    short = {"file": error["file"], "message": cut(error["message"], size)}
    return {**short, "traceback": cut(error["traceback"], room.text)}

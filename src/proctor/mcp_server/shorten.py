"""The result document within a budget: long texts and lists are cut; `omitted` lists what is missing."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import msgspec

from proctor.events import OWN_FILES
from proctor.mcp_server.brief import Values, short_history
from proctor.mcp_server.calls import full_call, page_call, uri
from proctor.mcp_server.size import cut, weight
from proctor.outcome import BAD, FLAKY, QUARANTINED, Outcome
from proctor.render.masking import plain
from proctor.wire.document.schema import Document, Test

_OUTPUTS = ("text_output", "stderr", "printed")
_IDS = ("node_id", "nodeid")
_LEAST_NAME = 60  # characters of what is left of an item
_ESSENTIAL = ("node_id", "outcome", "duration", "message", "traceback")
_FLAGS = (FLAKY, QUARANTINED, "baseline")  # likewise, of few tests


class Room(msgspec.Struct, frozen=True):
    """The size of each part: characters of texts, and items of the less important lists."""

    text: int
    output: int
    items: int
    extras: bool = True  # the fields of a test that are not essential
    harmless: bool = True  # tests that neither passed nor failed
    passed: bool = False


_ROOMS = (
    Room(6000, 3000, 50, passed=True),
    Room(3000, 1500, 50, passed=True),
    Room(1500, 800, 20, passed=True),
    Room(800, 400, 20, passed=True),
    Room(800, 400, 20),
    Room(400, 200, 10),
    Room(400, 200, 10, extras=False),
    Room(200, 100, 5, extras=False),
    Room(200, 100, 5, extras=False, harmless=False),
    Room(100, 0, 3, extras=False, harmless=False),
    Room(60, 0, 1, extras=False, harmless=False),
    Room(0, 0, 0, extras=False, harmless=False),
)


#: Fields that few documents have.
_RARE = (
    "restarted",
    "missing",
    "invocation",
    "printed",
    "title",
    "collect_only",
    "build",
    "toolchain",
    "foreign",
    "foreign_end",
    "compared_with",
    "checkout",
    "baseline",
)


def within(document: Document, text: str, budget: int, mask: bool) -> Values | None:
    """All fields of the document, each of its long parts cut to the same measure; None: there is no room."""
    parts = _parts(document, mask)
    room = budget - weight({"text": text})

    def fits(measure: Room) -> bool:
        return weight(_shortened(document, parts, measure), room) <= room

    at = bisect_left(_ROOMS, True, key=fits)  # each of the rooms is smaller than the one before
    return {"text": text, **_shortened(document, parts, _ROOMS[at])} if at < len(_ROOMS) else None


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
        "restarts": document.restarts,
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
        **{name: value for name in _RARE if (value := plain(getattr(document, name), mask))},
    }


def test_values(test: Test, mask: bool) -> Values:
    """A test of the document as plain values, without files that are no test's own."""
    values: Values = plain(test, mask)
    if files := values.pop("files", None):
        own = [file for file in files if not file["name"].endswith(OWN_FILES)]
        values |= {"files": own} if own else {}
    return values


def entry(test: dict[str, Any], size: int, extras: bool = True) -> dict[str, Any]:
    """A test of the document, its texts cut to `size` characters."""
    known = test if extras else {name: test[name] for name in (*_ESSENTIAL, *_FLAGS) if name in test}
    short = {
        name: value for name, value in known.items() if extras or value is not None or name in _ESSENTIAL
    }
    if not extras and (history := short_history(test.get("history"))):
        short["history"] = history
    for name in ("message", "traceback"):
        short[name] = _cut(test[name], size)
    if short.get("failure"):
        short["failure"] = {**short["failure"], "message": cut(short["failure"].get("message", ""), size)}
    if short.get("attempts"):
        short["attempts"] = [smaller(one, size) for one in short["attempts"]]
    return short


def _cut(text: str | None, size: int) -> str | None:
    return cut(text, size) or None if text else text


class _Parts(msgspec.Struct, frozen=True):
    """The parts of a document that are shortened, as plain values."""

    head: Values
    tests: list[Values]
    collection_errors: list[Values]
    warnings: list[Values]
    notices: list[str]
    text_output: str
    stderr: str
    printed: str
    quoted: Values | None


def _parts(document: Document, mask: bool) -> _Parts:
    return _Parts(
        head(document, mask),
        [test_values(test, mask) for test in document.tests],
        plain(document.collection_errors, mask),
        plain(document.warnings[: _ROOMS[0].items], mask),
        plain(document.notices[: _ROOMS[0].items], mask),
        plain(document.text_output, mask),
        plain(document.stderr, mask),
        plain(document.printed, mask),
        plain(document.quoted, mask),
    )


def _shortened(document: Document, parts: _Parts, room: Room) -> Values:
    listed = [test for test in parts.tests if _is_listed(test, room)]
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
    if document.fixed is not None:
        short["fixed"] = list(document.fixed[: room.items])
    if parts.printed:
        short["printed"] = cut(parts.printed, room.output)
    if parts.quoted:
        short["quoted"] = smaller(parts.quoted, room.output)
    lists = {"tests": listed, "collection_errors": parts.collection_errors}
    lists |= {name: getattr(parts, name)[: room.items] for name in ("warnings", "notices")}
    short["omitted"] = _omitted(document, short, characters(lists, short))
    return short


def _is_listed(test: Values, room: Room) -> bool:
    if test["outcome"] == Outcome.PASSED and FLAKY not in test:
        return room.passed
    return room.harmless or (test["outcome"] in BAD and QUARANTINED not in test)


def _omitted(document: Document, short: Values, lost: int) -> Values:
    """What is missing of each part, and the calls that return it: one for the lists, one for the output."""
    lists = ("tests", "warnings", "not_run", "notices")
    counted = {name: len(getattr(document, name)) - len(short.get(name, "")) for name in (*lists, *_OUTPUTS)}
    counted["fixed"] = len(document.fixed or ()) - len(short.get("fixed", ()))
    omitted: Values = {name: count for name, count in counted.items() if count > 0}
    calls = []
    if any(name in omitted for name in lists):  # they are behind the tests
        offset = 0 if "tests" in omitted else len(document.tests)
        calls.append(page_call(document.run_id, "tests", offset))
    if any(name in omitted for name in _OUTPUTS):
        calls.append(page_call(document.run_id, "output"))
    omitted["json_report"] = len(document.json_report) - _length(short["json_report"])
    calls.append(page_call(document.run_id, "json_report"))
    if document.suites:
        omitted["suites"] = len(document.suites)
    if document.plan is not None:
        omitted["plan"] = len(document.plan.tests)
    if document.suites or document.plan is not None or "fixed" in omitted:
        calls.append(full_call(document.run_id))
    return {**omitted, "call": "; ".join(calls), **cut_short(document.run_id, lost)}


def characters(whole: Any, short: Any) -> int:
    """How many characters of values as JSON a shorter form of the same items lacks."""
    if isinstance(whole, dict) and isinstance(short, dict):
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
    """The entries of `omitted` for texts that were cut: how much, and where the full text is."""
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


def remains(item: Any) -> Any:
    """Of an item that no page can hold: what it is called, and not all of that."""
    if isinstance(item, dict):
        texts = ((name, value) for name, value in item.items() if isinstance(value, str))
        name, value = next(texts, ("", ""))
        return {name: cut(value, _LEAST_NAME)} if name else {}
    return cut(str(item), _LEAST_NAME)


def _collection_error(error: dict[str, Any], room: Room) -> dict[str, Any]:
    size = max(room.text, 60)
    short = {"file": error["file"], "message": cut(error["message"], size)}
    history = short_history(error.get("history"))
    return {
        **short,
        "traceback": cut(error["traceback"], room.text),
        **({"history": history} if history else {}),
    }

"""The result document within a budget: verdict and failing ids survive longest; what is missing is said."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from proctor.mcp_server.budget import cut, weight
from proctor.outcome import BAD, Outcome, RunOutcome

Document = dict[str, Any]

_SEEDS = ("node_id", "outcome", "duration", "message", "traceback")


class Room(msgspec.Struct, frozen=True):
    """How much of everything there is room for: characters, and items of the lesser lists."""

    text: int
    output: int
    items: int
    extras: bool = True  # what an entry has beside the seed's fields
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
    """As a model would write it."""
    more = f", offset={offset}" if offset else ""
    return f'get_run(run_id="{run_id}", select="{select}"{more})'


def failures(document: Document, budget: int) -> Document:
    """All fields of the document, as long as there is room for them; of the tests those that did not pass."""
    ids = failing_ids(document)
    if len(fill(ids, budget)) < len(ids):
        return summary(document, budget)

    def fits(room: Room) -> bool:
        return weight(_brief(document, room), budget) <= budget

    at = bisect_left(_ROOMS, True, key=fits)  # each of the rooms is smaller than the one before
    return _brief(document, _ROOMS[at]) if at < len(_ROOMS) else summary(document, budget)


def summary(document: Document, budget: int) -> Document:
    """The outcome, the counts, and as many failing ids as there is room for."""
    ids = failing_ids(document)
    brief: Document = {
        "run_id": document["run_id"],
        "outcome": document["outcome"],
        "reason": cut(document["reason"], 200),
        "exit_code": document["exit_code"],
        "summary": document["summary"],
        "failing": [],
        "omitted": {"failing": len(ids), "call": call(document["run_id"], "failures")},
    }
    if weight(brief) > budget:
        brief["reason"] = ""
    brief["failing"] = fill(ids, budget - weight(brief))
    left = len(ids) - len(brief["failing"])
    brief["omitted"] = {"failing": left, "call": call(document["run_id"], "failures")} if left else {}
    return brief


def failing_ids(document: Document) -> list[str]:
    """What the harness did to the tests comes first."""
    bad = [test for test in document["tests"] if test["outcome"] in BAD]
    bad.sort(key=lambda test: test["outcome"] not in (Outcome.CRASH, Outcome.TIMEOUT))
    return [
        *(error["file"] for error in document["collection_errors"]),
        *(test["node_id"] for test in bad),
    ]


def fill(items: Iterable[Any], budget: int) -> list[Any]:
    """As many as fit, in their order."""
    taken = []
    for item in items:
        budget -= weight(item, max(0, budget)) + 1
        if budget < 0:
            break
        taken.append(item)
    return taken


def head(document: Document) -> Document:
    """The document without its long parts: what every page of it begins with."""
    return {
        **{name: value for name, value in document.items() if not isinstance(value, list | dict)},
        "command": _first(document["command"], 12),
        "reason": cut(document["reason"], 300),
        "summary": document["summary"],
        "tests": [],
        "json_report": {},
        "collection_errors": [],
        "warnings": [],
        "not_run": [],
        "notices": [cut(notice, 200) for notice in document["notices"][:5]],
        "text_output": "",
        "stderr": "",
        "omitted": {},
    }


def entry(test: dict[str, Any], size: int, extras: bool = True) -> dict[str, Any]:
    """A test of the document, its texts cut to `size` characters."""
    known = test if extras else {name: test[name] for name in _SEEDS}
    short = {name: value for name, value in known.items() if extras or value is not None or name in _SEEDS}
    for name in ("message", "traceback"):
        short[name] = _cut(test[name], size)
    if short.get("failure"):
        short["failure"] = {**short["failure"], "message": cut(short["failure"].get("message", ""), size)}
    return short


def _cut(text: str | None, size: int) -> str | None:
    return cut(text, size) or None if text else text


def _brief(document: Document, room: Room) -> Document:
    run_id = document["run_id"]
    output = 0 if document["outcome"] == RunOutcome.PASSED else room.output
    listed = [
        test
        for test in document["tests"]
        if test["outcome"] in BAD or (room.harmless and test["outcome"] != Outcome.PASSED)
    ]
    lesser: dict[str, Callable[[Any], Any]] = {
        "warnings": lambda warning: {**warning, "message": cut(warning["message"], room.text)},
        "not_run": lambda test: test,
        "notices": lambda notice: cut(notice, max(room.text, 100)),
    }
    brief = {
        **head(document),
        "tests": [entry(test, room.text, room.extras) for test in listed],
        "json_report": {"summary": document["json_report"]["summary"], "whole": uri(run_id)},
        "collection_errors": [_collection_error(error, room) for error in document["collection_errors"]],
        **{name: [short(item) for item in document[name][: room.items]] for name, short in lesser.items()},
        "text_output": cut(document["text_output"], output),
        "stderr": cut(document["stderr"], output // 2),
    }
    counted: dict[str, Any] = {
        name: len(document[name]) - len(brief[name])
        for name in ("tests", *lesser)
        if len(document[name]) > len(brief[name])
    }
    characters = len(document["text_output"]) - len(brief["text_output"])
    if characters > 0:
        counted["text_output"] = characters
    brief["omitted"] = {**counted, "call": call(run_id, "tests")}
    return brief


def _collection_error(error: dict[str, Any], room: Room) -> dict[str, Any]:
    size = max(room.text, 60)
    short = {"file": error["file"], "message": cut(error["message"], size)}
    return {**short, "traceback": cut(error["traceback"], room.text)}


def _first(items: list[str], count: int) -> list[str]:
    return items if len(items) <= count else [*items[:count], f"… {len(items) - count} more"]

"""One part of a run's document, page by page."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec

from proctor.archive.inside import open_inside
from proctor.archive.store import OUTPUT_FILE
from proctor.errors import UsageError
from proctor.mcp_server.reply import Reply
from proctor.mcp_server.run_data import RunData
from proctor.mcp_server.shorten import Values, call, entry, fill, head, uri
from proctor.mcp_server.size import weight
from proctor.outcome import Outcome
from proctor.render.masking import plain
from proctor.render.secrets import masked_part
from proctor.render.tokens import estimate
from proctor.text import text_of

_SMALL_HEAD = ("run_id", "outcome", "summary")
_OMITTED = 50  # tokens kept for `omitted`
_BYTES_READ = 4  # of the output for each token; about as many as a token of a log has
_AROUND = 4096  # bytes before and behind a page in which a secret may begin or end that is partly on it
_TEXT_SIZES = (4000, 1000, 300, 100, 0)  # characters of a message or a traceback


def page(data: RunData, select: str, offset: int, limit: int, budget: int) -> Reply:
    return _PARTS[select](data, select, offset, limit, budget)


def _tests(data: RunData, select: str, offset: int, limit: int, budget: int) -> Reply:
    tests = data.document.tests
    if select == "failures":
        tests = [test for test in tests if test.outcome != Outcome.PASSED]
    document = _head(data, budget)
    wanted = tests[offset : offset + limit]
    left = budget - weight(document) - _OMITTED
    for size in _TEXT_SIZES:
        extras = size > min(_TEXT_SIZES)
        taken = fill((entry(plain(test, data.mask), size, extras) for test in wanted), left)
        if len(taken) == len(wanted):
            break
    _must_advance(wanted, taken, weight(document) + _OMITTED)
    document["tests"] = taken
    document["omitted"] = _rest(data, select, "tests", len(tests) - offset - len(taken), offset + len(taken))
    if not document["omitted"]:
        ids = data.document.not_run
        document["not_run"] = fill(ids, left - weight(taken))
        if missing := len(ids) - len(document["not_run"]):
            document["omitted"] = {"not_run": missing, "whole": uri(data.run_id)}
    lines = [_line(test) for test in taken]
    lines += [f"not_run {test}" for test in document.get("not_run", ())]
    return _reply(data, lines, document, budget)


def _line(test: Values) -> str:
    message = " ".join((test["message"] or "").split())
    return f"{test['outcome']} {test['node_id']} {message[:200]}".rstrip()


def _json_report(data: RunData, select: str, offset: int, limit: int, budget: int) -> Reply:
    report = plain(msgspec.json.decode(data.document.json_report), data.mask)
    document = _head(data, budget)
    short = {name: value for name, value in report.items() if not isinstance(value, list)}
    fits = weight({**document, "json_report": short}) + _OMITTED < budget
    document["json_report"] = short if fits else {}
    taken = _fill(data, document, select, "tests", report.get("tests", []), offset, limit, budget)
    document["json_report"] = {**document["json_report"], "tests": taken}
    return _reply(data, [msgspec.json.encode(test).decode() for test in taken], document, budget)


def _files(data: RunData, select: str, offset: int, limit: int, budget: int) -> Reply:
    files = [
        {"node_id": test.node_id, **plain(file, data.mask)}
        for test in data.document.tests
        for file in (*test.files, *([test.testout] if test.testout else []))
    ]
    document = {**_head(data, budget), "directory": str(data.directory), "files": []}
    taken = document["files"] = _fill(data, document, select, "files", files, offset, limit, budget)
    lines = [f"{file['path']} {file.get('size', '')} {file['node_id']}" for file in taken]
    return _reply(data, lines, document, budget)


def _fill(
    data: RunData,
    document: Values,
    select: str,
    name: str,
    items: list[Any],
    offset: int,
    limit: int,
    budget: int,
) -> list[Any]:
    """The items of this page that fit beside the document, whose `omitted` names the call for the rest."""
    wanted = items[offset : offset + limit]
    size = weight(document) + _OMITTED
    taken = fill(wanted, budget - size)
    _must_advance(wanted, taken, size + (weight(wanted[0]) if wanted else 0))
    document["omitted"] = _rest(data, select, name, len(items) - offset - len(taken), offset + len(taken))
    return taken


def _output(data: RunData, select: str, offset: int, limit: int, budget: int) -> Reply:
    """`offset` and `limit` are bytes of the output as it was written."""
    document = _head(data, budget)
    begin = max(0, offset - _AROUND) if data.mask else offset
    size = min(limit, budget * _BYTES_READ)
    around, total = _whole_output(data, begin, offset - begin + size + (_AROUND if data.mask else 0))
    before, whole = text_of(around[: offset - begin]), around[offset - begin :][:size]
    behind = text_of(around[offset - begin + size :])
    room = budget - weight(document) - _OMITTED
    raw = _ending_well(whole, offset + len(whole) >= total)
    while True:
        text = text_of(raw)
        if data.mask:
            rest = text_of(whole[len(raw) :]) + behind
            text = masked_part(before + text + rest, len(before), len(before) + len(text))
        if weight(text) <= room or not raw:
            break
        raw = _ending_well(raw[: len(raw) * room // (weight(text) + 1)], False)
    _must_advance(list(whole[:1]), list(raw[:1]), weight(document) + 70)
    document["text_output"] = text
    shown = offset + len(raw)
    document["omitted"] = _rest(data, select, "text_output", total - shown, shown)
    return _reply(data, [text], document, budget)


def _whole_output(data: RunData, offset: int, limit: int) -> tuple[bytes, int]:
    """At most `limit` bytes from `offset` on, and the size of the whole output."""
    try:
        with os.fdopen(open_inside(data.directory, OUTPUT_FILE), "rb") as file:
            total = os.fstat(file.fileno()).st_size
            file.seek(min(offset, total))
            return file.read(limit), total
    except OSError:
        output = data.document.text_output.encode()
        return output[offset : offset + limit], len(output)


def _ending_well(raw: bytes, at_end: bool) -> bytes:
    """Without a character at the end of which only the first bytes are there."""
    if at_end:
        return raw
    for back in range(1, min(4, len(raw)) + 1):
        byte = raw[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return (raw[:-back] or raw) if back < needed else raw
    return raw


_PARTS: dict[str, Callable[[RunData, str, int, int, int], Reply]] = {
    "tests": _tests,
    "failures": _tests,
    "output": _output,
    "json_report": _json_report,
    "files": _files,
}


def _head(data: RunData, budget: int) -> Values:
    """All fields of the document if they take less than half of the budget."""
    whole = head(data.document, data.mask)
    if weight(whole) <= budget // 2:
        return whole
    return {name: whole[name] for name in _SMALL_HEAD}


def _must_advance(wanted: list[Any], taken: list[Any], needed: int) -> None:
    if wanted and not taken:
        raise UsageError(f"budget: too small for the next item; give at least {needed * 2 + 200}")


def _rest(data: RunData, select: str, name: str, left: int, shown: int) -> Values:
    return {name: left, "call": call(data.run_id, select, shown)} if left > 0 else {}


def _reply(data: RunData, lines: list[str], document: Values, budget: int) -> Reply:
    """The text is for clients that show nothing else."""
    more = document["omitted"].get("call")
    note = [f"more: {more}"] if more else []
    text = "\n".join([*lines, *note]) + "\n"
    if estimate(text, budget) > budget:  # possible only for a page with next to no items
        text = "\n".join([data.document.outcome, *note]) + "\n"
    return Reply(text, document)

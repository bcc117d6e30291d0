"""One part of a run's document, page by page."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec

from proctor.archive.inside import open_inside
from proctor.archive.store import OUTPUT_FILE
from proctor.errors import UsageError
from proctor.mcp_server.records import Record
from proctor.mcp_server.shorten import Values, call, entry, fill, head, uri
from proctor.mcp_server.size import weight
from proctor.outcome import Outcome
from proctor.render.masking import plain
from proctor.render.secrets import masked
from proctor.render.tokens import estimate
from proctor.text import text_of
from proctor.wire.document.schema import Test

_SMALL_HEAD = ("run_id", "outcome", "summary")
_BYTES_READ = 4  # of the output for each token; about as many as a token of a log has
_TEXT_SIZES = (4000, 1000, 300, 100, 0)  # characters of a message or a traceback


class Page(msgspec.Struct, frozen=True):
    document: Values
    text: str


def page(record: Record, select: str, offset: int, limit: int, budget: int) -> Page:
    return _PARTS[select](record, offset, limit, budget)


def _tests(record: Record, offset: int, limit: int, budget: int) -> Page:
    return _list_of_tests(record, "tests", record.document.tests, offset, limit, budget)


def _failures(record: Record, offset: int, limit: int, budget: int) -> Page:
    tests = [test for test in record.document.tests if test.outcome != Outcome.PASSED]
    return _list_of_tests(record, "failures", tests, offset, limit, budget)


def _list_of_tests(
    record: Record, select: str, tests: list[Test], offset: int, limit: int, budget: int
) -> Page:
    document = _head(record, budget)
    wanted = tests[offset : offset + limit]
    left = budget - weight(document) - 50  # for `omitted`
    for size in _TEXT_SIZES:
        extras = size > min(_TEXT_SIZES)
        taken = fill((entry(plain(test, record.mask), size, extras) for test in wanted), left)
        if len(taken) == len(wanted):
            break
    _must_advance(wanted, taken, weight(document) + 50)
    document["tests"] = taken
    _say_more(document, record.run_id, select, "tests", len(tests), offset + len(taken))
    if not document["omitted"]:
        _add_not_run(document, record, left - weight(taken))
    lines = [_line(test) for test in taken]
    lines += [f"not_run {test}" for test in document.get("not_run", ())]
    return Page(document, _text(record, lines, document, budget))


def _add_not_run(document: Values, record: Record, budget: int) -> None:
    """Behind the last of the tests, as many as fit."""
    ids = record.document.not_run
    document["not_run"] = fill(ids, budget)
    left = len(ids) - len(document["not_run"])
    if left:
        document["omitted"] = {"not_run": left, "whole": uri(record.run_id)}


def _line(test: dict[str, Any]) -> str:
    message = " ".join((test["message"] or "").split())
    return f"{test['outcome']} {test['node_id']} {message[:200]}".rstrip()


def _json_report(record: Record, offset: int, limit: int, budget: int) -> Page:
    report = plain(msgspec.json.decode(record.document.json_report), record.mask)
    tests = report.get("tests", [])
    wanted = tests[offset : offset + limit]
    document = _head(record, budget)
    short = {name: value for name, value in report.items() if not isinstance(value, list)}
    document["json_report"] = short if weight({**document, "json_report": short}) + 50 < budget else {}
    taken = fill(wanted, budget - weight(document) - 50)
    _must_advance(wanted, taken, weight(document) + 50 + (weight(wanted[0]) if wanted else 0))
    document["json_report"] = {**document["json_report"], "tests": taken}
    _say_more(document, record.run_id, "json_report", "tests", len(tests), offset + len(taken))
    lines = [msgspec.json.encode(test).decode() for test in taken]
    return Page(document, _text(record, lines, document, budget))


def _files(record: Record, offset: int, limit: int, budget: int) -> Page:
    files = [
        {"node_id": test.node_id, **plain(file, record.mask)}
        for test in record.document.tests
        for file in (*test.files, *([test.testout] if test.testout else []))
    ]
    wanted = files[offset : offset + limit]
    document = {**_head(record, budget), "directory": str(record.directory), "files": []}
    taken = fill(wanted, budget - weight(document) - 50)
    _must_advance(wanted, taken, weight(document) + 50 + (weight(wanted[0]) if wanted else 0))
    document["files"] = taken
    _say_more(document, record.run_id, "files", "files", len(files), offset + len(taken))
    lines = [f"{file['path']} {file.get('size', '')} {file['node_id']}" for file in taken]
    return Page(document, _text(record, lines, document, budget))


def _output(record: Record, offset: int, limit: int, budget: int) -> Page:
    """`offset` and `limit` are bytes of the output as it was written."""
    document = _head(record, budget)
    whole, total = _whole_output(record, offset, min(limit, budget * _BYTES_READ))
    room = budget - weight(document) - 50
    raw = _ending_well(whole, offset + len(whole) >= total)
    while True:
        text = text_of(raw)
        text = masked(text) if record.mask else text
        if weight(text) <= room or not raw:
            break
        raw = _ending_well(raw[: len(raw) * room // (weight(text) + 1)], False)
    _must_advance(list(whole[:1]), list(raw[:1]), weight(document) + 70)
    document["text_output"] = text
    _say_more(document, record.run_id, "output", "text_output", total, offset + len(raw))
    return Page(document, _text(record, [text], document, budget))


def _whole_output(record: Record, offset: int, limit: int) -> tuple[bytes, int]:
    """So many bytes from there on, and how many there are."""
    try:
        with os.fdopen(open_inside(record.directory, OUTPUT_FILE), "rb") as file:
            total = os.fstat(file.fileno()).st_size
            file.seek(min(offset, total))
            return file.read(limit), total
    except OSError:
        output = record.document.text_output.encode()
        return output[offset : offset + limit], len(output)


def _ending_well(raw: bytes, at_end: bool) -> bytes:
    """Without a character of which only the beginning is there."""
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


_PARTS: dict[str, Callable[[Record, int, int, int], Page]] = {
    "tests": _tests,
    "failures": _failures,
    "output": _output,
    "json_report": _json_report,
    "files": _files,
}


def _head(record: Record, budget: int) -> Values:
    """All fields of the document where they take less than half of the room."""
    whole = head(record.document, record.mask)
    if weight(whole) <= budget // 2:
        return whole
    return {name: whole[name] for name in _SMALL_HEAD}


def _must_advance(wanted: list[Any], taken: list[Any], needed: int) -> None:
    if wanted and not taken:
        raise UsageError(f"budget: too small for the next item; give at least {needed * 2 + 200}")


def _say_more(document: Values, run_id: str, select: str, name: str, total: int, shown: int) -> None:
    left = max(0, total - shown)
    document["omitted"] = {name: left, "call": call(run_id, select, shown)} if left else {}


def _text(record: Record, lines: list[str], document: Values, budget: int) -> str:
    """The same for clients that read nothing but text."""
    more = document["omitted"].get("call")
    note = [f"more: {more}"] if more else []
    text = "\n".join([*lines, *note]) + "\n"
    if estimate(text, budget) > budget:  # JSON says it in fewer words only where there are next to none
        text = "\n".join([record.document.outcome, *note]) + "\n"
    return text

"""One part of a run's document, page by page."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from proctor.archive.inside import open_inside
from proctor.archive.store import OUTPUT_FILE
from proctor.errors import UsageError
from proctor.mcp_server.reply import Reply
from proctor.mcp_server.run_data import RunData
from proctor.mcp_server.shorten import (
    Values,
    call,
    characters,
    cut_short,
    entry,
    fill,
    head,
    smaller,
    uri,
)
from proctor.mcp_server.size import weight
from proctor.outcome import Outcome
from proctor.render.masking import plain
from proctor.render.secrets import masked_part
from proctor.render.tokens import estimate
from proctor.text import text_of
from proctor.wire.document.schema import Test

_SMALL_HEAD = ("run_id", "outcome", "summary")
_BEHIND = ("not_run", "collection_errors", "warnings", "notices")  # lists that follow the tests
_OMITTED = 50  # tokens kept for `omitted` beside an output
_BYTES_READ = 4  # of the output for each token; about as many as a token of a log has
_AROUND = 4096  # bytes before and behind a page in which a secret may begin or end that is partly on it
_TEXT_SIZES = (4000, 1000, 300, 100, 0)  # characters of a message or a traceback


def page(data: RunData, select: str, offset: int, limit: int, budget: int) -> Reply:
    return _PARTS[select](data, select, offset, limit, budget)


def _tests(data: RunData, select: str, offset: int, limit: int, budget: int) -> Reply:
    """The tests, and behind them what else the document lists."""
    whole = data.document
    tests = whole.tests
    if select == "failures":
        tests = [test for test in tests if test.outcome != Outcome.PASSED]
    items = [
        *(("tests", test) for test in tests),
        *(("not_run", test) for test in whole.not_run),
        *(("collection_errors", error) for error in whole.collection_errors),
        *(("warnings", warning) for warning in whole.warnings),
        *(("notices", notice) for notice in whole.notices),
    ]
    head = {**_head(data, budget), **{name: [] for name in ("tests", *_BEHIND)}}
    document = _filled(data, _Page(select, items, offset, limit, budget), head, head)
    lines = [_line(test) for test in document["tests"]]
    lines += [f"not_run {test}" for test in document["not_run"]]
    lines += [f"{error['file']} {_words(error['message'])}" for error in document["collection_errors"]]
    lines += [f"warning {_words(warning['message'])}" for warning in document["warnings"]]
    lines += [f"notice {_words(notice)}" for notice in document["notices"]]
    return _reply(data, lines, document, budget)


def _line(test: Values) -> str:
    return f"{test['outcome']} {test['node_id']} {_words(test['message'] or '')}".rstrip()


def _words(text: str) -> str:
    return " ".join(text.split())[:200]


def _json_report(data: RunData, select: str, offset: int, limit: int, budget: int) -> Reply:
    """Its tests, and behind them its other lists; beside them all that is no list, if there is room."""
    report: Values = plain(msgspec.json.decode(data.document.json_report), data.mask)
    lists = {name: value for name, value in report.items() if isinstance(value, list)}
    names = sorted(lists, key=lambda name: name != "tests")
    short = {name: value for name, value in report.items() if name not in lists}
    head = _head(data, budget)
    missing: Values = {}
    if weight({**head, "json_report": short}) > budget * 2 // 3:
        missing = {"json_report": len(short), "whole": uri(data.run_id)}
        short = {}
    part = head["json_report"] = {**short, **{name: [] for name in names}}
    items = [(name, item) for name in names for item in lists[name]]
    document = _filled(data, _Page(select, items, offset, limit, budget, missing), head, part)
    lines = [msgspec.json.encode(item).decode() for name in names for item in part[name]]
    return _reply(data, lines, document, budget)


def _files(data: RunData, select: str, offset: int, limit: int, budget: int) -> Reply:
    files = [
        {"node_id": test.node_id, **plain(file, data.mask)}
        for test in data.document.tests
        for file in (*test.files, *([test.testout] if test.testout else []))
    ]
    head = {**_head(data, budget), "directory": str(data.directory), "files": []}
    items = [("files", file) for file in files]
    document = _filled(data, _Page(select, items, offset, limit, budget), head, head)
    lines = [f"{file['path']} {file.get('size', '')} {file['node_id']}" for file in document["files"]]
    return _reply(data, lines, document, budget)


class _Page(msgspec.Struct, frozen=True):
    """What a page is taken from: items with the names of their lists, one list behind the other."""

    select: str
    items: Sequence[tuple[str, Any]]
    offset: int
    limit: int
    budget: int
    missing: Values = {}  # what is left out beside the items


def _filled(data: RunData, page: _Page, document: Values, part: Values) -> Values:
    """The document with the items of the page that fit, in the lists of `part`; `omitted` names the rest."""
    wanted = page.items[page.offset : page.offset + page.limit]
    lists = [name for name, value in part.items() if isinstance(value, list)]
    for taken in _attempts(wanted, page.budget - weight(document), data.mask):
        part.update({name: [] for name in lists})
        for (name, _), item in zip(wanted, taken, strict=False):
            part[name].append(item)
        wholes = [_whole(name, item, data.mask) for name, item in wanted[: len(taken)]]
        rest = _rest(data, page, len(taken))
        document["omitted"] = {**page.missing, **rest, **cut_short(data.run_id, characters(wholes, taken))}
        if weight(document) <= page.budget:
            return document
    raise UsageError(f"budget: too small for the next item; give at least {weight(document) * 2 + 200}")


def _attempts(wanted: Sequence[tuple[str, Any]], room: int, mask: bool) -> Iterator[list[Any]]:
    """What a page may have, the most first: all its items, fewer, at last only the first with short texts.

    Texts of tests are cut to make room for more tests: for each there is `get_test`.
    """
    for size in _TEXT_SIZES:
        taken = fill((_item(name, item, size, mask) for name, item in wanted), room)
        if len(taken) == len(wanted):
            break
    yield from (taken[:count] for count in range(len(taken), 0, -1))
    if wanted:
        name, first = wanted[0]
        yield from ([smaller(_item(name, first, size, mask), size)] for size in _TEXT_SIZES)
    else:
        yield []


def _item(name: str, item: Any, size: int, mask: bool) -> Any:
    values = _whole(name, item, mask)
    return entry(values, size, extras=size > min(_TEXT_SIZES)) if isinstance(item, Test) else values


def _whole(name: str, item: Any, mask: bool) -> Any:
    return plain(item, mask) if name != "not_run" else item  # ids stay as they are


def _rest(data: RunData, page: _Page, taken: int) -> Values:
    left = Counter(name for name, _ in page.items[page.offset + taken :])
    return {**left, "call": call(data.run_id, page.select, page.offset + taken)} if left else {}


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
    if whole and not raw:
        raise UsageError(f"budget: too small for the output; give at least {weight(document) * 2 + 340}")
    document["text_output"] = text
    shown = offset + len(raw)
    left = total - shown
    document["omitted"] = {"text_output": left, "call": call(data.run_id, select, shown)} if left > 0 else {}
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
    """All fields of the document if they take less than half of the budget; its lists are empty."""
    whole = {**head(data.document, data.mask), "notices": []}
    if weight(whole) <= budget // 2:
        return whole
    return {name: whole[name] for name in _SMALL_HEAD}


def _reply(data: RunData, lines: list[str], document: Values, budget: int) -> Reply:
    """The text is for clients that show nothing else."""
    more = document["omitted"].get("call")
    note = [f"more: {more}"] if more else []
    text = "\n".join([*lines, *note]) + "\n"
    if estimate(text, budget) > budget:  # possible only for a page with next to no items
        text = "\n".join([data.document.outcome, *note]) + "\n"
    return Reply(text, document)

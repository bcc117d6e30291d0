"""One part of a run's document, page by page."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from proctor.archive.inside import open_inside
from proctor.archive.store import OUTPUT_FILE
from proctor.mcp_server.brief import Values, behind, counts, raised_at, row, rows, short_history
from proctor.mcp_server.calls import page_call, uri
from proctor.mcp_server.reply import Reply
from proctor.mcp_server.run_data import RunData
from proctor.mcp_server.shorten import characters, cut_short, entry, remains, smaller, test_values
from proctor.mcp_server.size import fill, weight
from proctor.outcome import FLAKY, QUARANTINED
from proctor.render.history_words import baseline_word
from proctor.render.masking import plain
from proctor.render.neutral import neutral
from proctor.render.secrets import masked_part
from proctor.render.tokens import estimate
from proctor.text import text_of
from proctor.wire.document.schema import CollectionError, Test

_LISTS = ("tests", "not_run", "collection_errors", "warnings", "notices")
_OMITTED = 50  # tokens kept for `omitted`
_BYTES_READ = 4  # of the output for each token; about as many as a token of a log has
_AROUND = 4096  # bytes before and behind a page in which a secret may begin or end that is partly on it
_TEXT_SIZES = (4000, 1000, 300, 0)  # characters of a message or a traceback; at last a row in short
_SIZES_OF_ONE = (1000, 300, 100, 0)  # characters of a text of an item that is larger than a page


def page(data: RunData, select: str, offset: int, limit: int, budget: int) -> Reply:
    return _PARTS[select](data, select, offset, limit, budget)


def _tests(data: RunData, select: str, offset: int, limit: int, budget: int) -> Reply:
    """The tests, and behind them what else the document lists."""
    whole = data.document
    items = rows(whole)
    if select == "tests":
        items = [("tests", test) for test in whole.tests]
        items += behind(whole, "not_run", "collection_errors", "warnings", "notices")
    head = _head(data, budget)
    document = _filled(data, _Page(select, items, offset, limit, budget), head, head)
    for name in _LISTS:  # empty ones are there as long as there is room
        if name not in document and weight(document) + weight({name: []}) <= budget:
            document[name] = []
    lines = [_line(test) for test in document.get("tests", ())]
    lines += [f"not_run {test}" for test in document.get("not_run", ())]
    lines += [_line(error) for error in document.get("collection_errors", ())]
    lines += [f"warning {_words(warning['message'])}" for warning in document.get("warnings", ())]
    lines += [f"notice {_words(notice)}" for notice in document.get("notices", ())]
    return _reply(data, lines, document, budget)


def _line(item: Values) -> str:
    """A test, or a file that could not be collected."""
    place = item.get("place")
    name = neutral(item["node_id"] if "node_id" in item else item["file"])
    tries = (one["message"] for one in item.get("attempts", ()) if one.get("message"))
    message = _words(item.get("message") or next(tries, ""))
    word = FLAKY if item.get(FLAKY) else item.get("outcome")
    held = f"({QUARANTINED})" if item.get(QUARANTINED) else ""
    told = _told(item)
    return " ".join(filter(None, [word, held, name, place and f"> {neutral(place)}", told, message]))


def _told(item: Values) -> str:
    """`[new]`: what earlier runs and another commit say of it."""
    history = short_history(item.get("history"))
    since = f"since {neutral(history['since'])}" if "since" in history else ""
    evidence = f"{history['failed']} of {history['results']}" if "results" in history else ""
    word = " ".join(filter(None, (history.get("word"), since, evidence)))
    baseline = baseline_word(item["baseline"], "") if item.get("baseline") else ""
    words = ", ".join(filter(None, (word, baseline)))
    return f"[{words}]" if words else ""


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
    lines = [msgspec.json.encode(item).decode() for name in names for item in part.get(name, ())]
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
    lines = [
        " ".join(str(file[name]) for name in ("path", "size", "node_id") if name in file)
        for file in document.get("files", ())
    ]
    return _reply(data, lines, document, budget)


def _ids(data: RunData, select: str, offset: int, limit: int, budget: int) -> Reply:
    """All that failed, by id."""
    head = {**_head(data, budget), "ids": []}
    items = [("ids", test) for test in data.result.failing]
    document = _filled(data, _Page(select, items, offset, limit, budget), head, head)
    return _reply(data, [neutral(test) for test in document.get("ids", ())], document, budget)


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
    names = {name for name, _ in wanted}
    for taken in _attempts(wanted, page.budget - weight(document) - _OMITTED, data.mask):
        for name in names:
            part.pop(name, None)
        for (name, _), item in zip(wanted, taken, strict=False):
            part.setdefault(name, []).append(item)
        wholes = [_whole(name, item, data.mask) for name, item in wanted[: len(taken)]]
        rest = _rest(data, page, len(taken))
        document["omitted"] = {**page.missing, **rest, **cut_short(data.run_id, characters(wholes, taken))}
        if weight(document) <= page.budget:
            break
    return document


def _attempts(wanted: Sequence[tuple[str, Any]], room: int, mask: bool) -> Iterator[list[Any]]:
    """What a page may have, the most first: all its items, fewer, at last only the first, cut.

    Texts of tests are cut to make room for more tests: for each there is `get_test`.
    """
    for size in _TEXT_SIZES:
        taken = fill((_item(name, item, size, mask) for name, item in wanted), room)
        if len(taken) == len(wanted):
            break
    yield from (taken[:count] for count in range(len(taken), 0, -1))
    if wanted:
        name, first = wanted[0]
        yield from ([smaller(_item(name, first, size, mask), size)] for size in _SIZES_OF_ONE)
        yield [remains(_item(name, first, 0, mask))]
    else:
        yield []


def _item(name: str, item: Any, size: int, mask: bool) -> Any:
    if size == 0 and isinstance(item, Test | CollectionError):
        return row(item, mask)
    values = _whole(name, item, mask)
    return entry(values, size) if isinstance(item, Test) else values


def _whole(name: str, item: Any, mask: bool) -> Any:
    if name in ("not_run", "ids"):
        return item  # ids stay as they are
    values = test_values(item, mask) if isinstance(item, Test) else plain(item, mask)
    if isinstance(item, Test | CollectionError) and (place := raised_at(item)):
        return {**values, "place": place}  # as a short row has it
    return values


def _rest(data: RunData, page: _Page, taken: int) -> Values:
    left = Counter(name for name, _ in page.items[page.offset + taken :])
    return {**left, "call": page_call(data.run_id, page.select, page.offset + taken)} if left else {}


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
    document["text_output"] = text
    shown = offset + len(raw)
    left = total - shown
    document["omitted"] = (
        {"text_output": left, "call": page_call(data.run_id, select, shown)} if left > 0 else {}
    )
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
    "ids": _ids,
}


def _head(data: RunData, budget: int) -> Values:
    """The verdict and the counts: all of them, or those that are not 0."""
    document = data.document
    head: Values = {"run_id": document.run_id, "outcome": document.outcome, "exit_code": document.exit_code}
    whole = {**head, "summary": counts(document)}
    if weight(whole) <= budget // 3:
        return whole
    return {**head, "summary": counts(document, all_counts=False)}


def _reply(data: RunData, lines: list[str], document: Values, budget: int) -> Reply:
    """The text is for clients that show nothing else."""
    more = document["omitted"].get("call")
    note = [f"more: {more}"] if more else []
    text = "\n".join([*lines, *note]) + "\n"
    if estimate(text, budget) > budget:  # possible only for a page with next to no items
        text = "\n".join([data.document.outcome, *note]) + "\n"
    return Reply(text, document)

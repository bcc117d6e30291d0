"""The answer about two runs: what is different in the second."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from proctor.comparison import Comparison, Side, compare
from proctor.mcp_server.calls import comparison_call
from proctor.mcp_server.listing import listed
from proctor.mcp_server.reply import Reply
from proctor.mcp_server.schemas import CompareRuns
from proctor.mcp_server.size import weight
from proctor.render.neutral import neutral
from proctor.render.secrets import masked
from proctor.render.tokens import estimate
from proctor.text import first_line

_ORDER = ("new", "still", "fixed", "slower", "faster", "removed", "added")  # what matters most first
_MESSAGE = 200  # characters
_ROOM = 60  # tokens for what is beside the tests


def comparison_answer(asked: CompareRuns, before: Side, after: Side, budget: int, mask: bool) -> Reply:
    found = compare(before, after)
    items = [(name, item) for name in _ORDER for item in getattr(found, name)]
    wanted = items[asked.offset :]
    verdict = _verdict(found, mask)
    head = {name: value for name, value in found.document().items() if name not in _ORDER}
    empty: dict[str, Any] = {name: [] for name in _ORDER}
    room = budget - max(weight({**head, **empty}), estimate("\n".join(verdict))) - _ROOM

    def line(item: tuple[str, Any]) -> str:
        return _line(*item, found, mask)

    rows, lines = listed(wanted, lambda item: msgspec.to_builtins(item[1]), line, room)
    document: dict[str, Any] = {**head, **empty}
    for (name, _), row in zip(wanted, rows, strict=False):
        document[name].append(row)
    document["omitted"] = _omitted(asked, items, asked.offset + len(lines))
    if call := document["omitted"].get("call"):
        lines.append(f"more: {call}")
    return Reply("\n".join([*verdict, *lines]) + "\n", document)


def _verdict(found: Comparison, mask: bool) -> list[str]:
    counts = [f"{len(getattr(found, name))} {name}" for name in _ORDER if getattr(found, name)]
    lines = [f"{', '.join(counts) or 'no difference'} ({found.before.name} to {found.after.name})"]
    for word, side in (("a", found.before), ("b", found.after)):
        if side.not_run:
            lines.append(f"{len(side.not_run)} tests of {word} did not run")
        if not side.ended:
            reason = f": {neutral(masked(side.reason) if mask else side.reason)[:300]}" if side.reason else ""
            lines.append(f"{word} did not run to its end ({side.outcome}){reason}")
        elif not side.whole:
            lines.append(f"{word} ran only a part of the tests")
    return lines


def _line(name: str, item: Any, found: Comparison, mask: bool) -> str:
    if name in ("slower", "faster"):
        return f"{name} {neutral(item.node_id)} {item.before:.3f}s to {item.after:.3f}s"
    message = found.after.ends[item].message if name in ("new", "still") else ""
    said = first_line(masked(message) if mask else message, _MESSAGE)
    return f"{name} {neutral(item)} {neutral(said)}".rstrip()


def _omitted(asked: CompareRuns, items: list[tuple[str, Any]], shown: int) -> dict[str, Any]:
    left = Counter(name for name, _ in items[shown:])
    return {**left, "call": comparison_call(asked.a, asked.b, shown)} if left else {}

"""The rows of a list that fit into an answer, as values and as lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from proctor.mcp_server.shorten import remains, smaller
from proctor.mcp_server.size import cut, fill, weight
from proctor.render.tokens import estimate

_SIZES = (100, 60)  # characters of a text of a row that is larger than an answer
_LINE = 60  # characters of its line


def listed(
    items: Sequence[Any], row: Callable[[Any], Any], line: Callable[[Any], str], room: int
) -> tuple[list[Any], list[str]]:
    """As many as fit into so many tokens. The first is cut if it does not fit alone: each answer goes on."""
    rows = fill(map(row, items), room)
    lines: list[str] = []
    left = room
    for item in items[: len(rows)]:
        lines.append(line(item))
        left -= estimate(lines[-1]) + 1
        if left < 0:
            lines.pop()
            break
    if lines or not items:
        return rows[: len(lines)], lines
    first = row(items[0])
    for size in _SIZES:
        if weight(short := smaller(first, size)) <= room:
            break
    else:
        short = remains(first)
    return [short], [cut(line(items[0]), _LINE)]

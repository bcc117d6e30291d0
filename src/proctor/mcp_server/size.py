"""What fits into so many tokens. Values and texts only."""

from __future__ import annotations

import json
from typing import Any

BYTES_PER_TOKEN = 3  # on the safe side for code, paths and tracebacks


def tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "backslashreplace")) // BYTES_PER_TOKEN)


def weight(value: Any) -> int:
    """Tokens of a value as JSON, with the spaces that some clients put in before a model reads it."""
    return tokens(json.dumps(value, ensure_ascii=False))


def cut(text: str, size: int) -> str:
    """Head and tail of a text that is longer than `size` characters, and how much went from between."""
    if len(text) <= size:
        return text
    mark = f"[… {len(text) - size} characters …]"
    room = max(0, size - len(mark))
    return text[: (room + 1) // 2] + mark + text[len(text) - room // 2 :] if room else ""


def lines_within(text: str, budget: int, rest: str) -> str:
    """The first line, and of the others as much as fits: they are shortened before any is left out.

    `rest` is the call that gives the whole.
    """
    if tokens(text) <= budget:
        return text
    verdict, *lines = text.splitlines()
    note = f"more: {rest}"
    for size in (300, 200, 120, 80, 0):
        short = [verdict, *(_shortened(line, size) for line in lines)]
        if tokens("\n".join([*short, note])) <= budget:
            return "\n".join([*short, note]) + "\n"
    kept: list[str] = []
    left = budget - tokens(note) - tokens("… and 1000000 more lines\n") - 2
    for line in short:
        left -= tokens(line + "\n")
        if left < 0:
            break
        kept.append(line)
    return "\n".join([*kept, f"… and {len(short) - len(kept)} more lines", note]) + "\n"


def _shortened(line: str, size: int) -> str:
    """Its first word stays whole: most lines begin with the id of a test."""
    first = len(line.split(" ", 1)[0])
    return line if len(line) <= max(size, first) else line[: max(size, first)] + "…"

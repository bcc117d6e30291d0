"""How many tokens a value takes, and texts cut to a size."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from proctor.render.tokens import estimate


def weight(value: Any, enough: float = math.inf) -> int:
    """Tokens of a value as JSON, with the spaces that some clients put in; counted up to `enough`."""
    return estimate(json.dumps(value, ensure_ascii=False), enough)


def fill(items: Iterable[Any], budget: int) -> list[Any]:
    """As many as fit, in their order."""
    taken = []
    for item in items:
        budget -= weight(item, max(0, budget)) + 1
        if budget < 0:
            break
        taken.append(item)
    return taken


def cut(text: str, size: int) -> str:
    """Head and tail of a text that is longer than `size` characters, with a note between them."""
    if len(text) <= size:
        return text
    mark = f"[… {len(text) - size} characters …]"
    room = max(0, size - len(mark))
    return text[: (room + 1) // 2] + mark + text[len(text) - room // 2 :] if room else ""


def lines_within(text: str, budget: int, rest: str) -> str:
    """The first line, and what fits of the others, which are shortened first. `rest` is the call for all."""
    if estimate(text, budget) <= budget:
        return text
    verdict, *lines = text.splitlines()
    note = f"more: {rest}"
    for size in (300, 200, 120, 80, 0):
        short = [verdict, *(_shortened(line, size) for line in lines)]
        whole = "\n".join([*short, note]) + "\n"
        if estimate(whole, budget) <= budget:
            return whole
    kept: list[str] = []
    left = budget - estimate(f"… and 1000000 more lines\n{note}\n")
    for line in short:
        left -= estimate(f"{line}\n", left)
        if left < 0:
            break
        kept.append(line)
    if not kept:
        return verdict + "\n"
    return "\n".join([*kept, f"… and {len(short) - len(kept)} more lines", note]) + "\n"


def _shortened(line: str, size: int) -> str:
    """Its first word stays whole: most lines begin with the id of a test."""
    first = len(line.split(" ", 1)[0])
    return line if len(line) <= max(size, first) else line[: max(size, first)] + "…"

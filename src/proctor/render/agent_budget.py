"""The text for agents within a number of tokens: the least important parts are left out first.

In this order: what did not fail, captured output, call paths, the lines under a failure, the ends of
messages, messages. The verdict with its counts always stays; of the failing tests, as many are named as there
is room for.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from proctor.causes import causes
from proctor.render.agent import Composer, Detail, shown
from proctor.render.tokens import estimate
from proctor.result import RunResult

LEAST = 100  # tokens: a verdict with all its counts, and what was cut

_STEPS: tuple[tuple[str, dict[str, object]], ...] = (
    ("skips and warnings", {"passing": False}),
    ("output", {"output": False}),
    ("call paths", {"calls": False}),
    ("details", {"more": False}),
    ("ends of messages", {"width": 160}),
    ("ends of messages", {"width": 80}),
)


def agent_text_within(result: RunResult, budget: int, detail: Detail) -> str:
    """Never more than `budget` tokens, as far as they can be estimated."""
    result = shown(result, detail)
    found = causes(result)
    detail = msgspec.structs.replace(detail, rows=min(detail.rows or budget, budget // 2))
    text = _text(Composer(result, found, detail).lines())
    cut: dict[str, None] = {}
    for name, change in _STEPS:
        if estimate(text, budget) <= budget:
            return text
        cut[name] = None
        detail = msgspec.structs.replace(detail, cut=_cut_note(budget, cut), **change)
        text = _text(Composer(result, found, detail).lines())
    if estimate(text, budget) <= budget:
        return text
    detail = msgspec.structs.replace(detail, cut=_cut_note(budget, [*cut, "some messages"]))
    return _with_names(Composer(result, found, detail), budget, len(found))


def _with_names(composer: Composer, budget: int, most: int) -> str:
    """As many causes as there is room for when every other failing test is at least named."""
    few, many = 0, most - 1
    best = ""
    while few <= many:
        middle = (few + many) // 2
        text = _text(composer.partly(middle))
        if estimate(text, budget) <= budget:
            best, few = text, middle + 1
        else:
            many = middle - 1
    room = budget
    while not best:
        text = _text(composer.partly(0, room))
        over = estimate(text) - budget  # joined lines can cost a little more than their sum
        best = text if over <= 0 or room <= 0 else ""
        room -= over
    return best


def _cut_note(budget: int, cut: Iterable[str]) -> str:
    return f"cut to {budget} tokens, without {', '.join(cut)}"


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"

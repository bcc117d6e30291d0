"""The last results of one test as a strip of marks: a form for each outcome, not only a colour."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from markupsafe import Markup

from proctor.durations import brief
from proctor.outcome import BAD, Outcome
from proctor.remembered import RememberedResult
from proctor.render.history_words import COMMIT
from proctor.render.page.markup import html

MOST = 30  # results
_WIDTH, _HEIGHT = 10, 20


class Strip(msgspec.Struct):
    told: str  # the same in words
    svg: Markup


def strip(results: Sequence[RememberedResult]) -> Strip:
    """`results`: the newest first. Bars of passes are low, those of failures high."""
    ends = [result for result in results if result.final][:MOST][::-1]
    failed = sum(end.outcome in BAD for end in ends)
    told = f"{failed} of the last {len(ends)} runs failed"
    width = max(1, len(ends)) * _WIDTH
    parts = [f'<svg class="strip" width="{width}" height="{_HEIGHT}" role="img"><title>{told}</title>']
    for number, end in enumerate(ends):
        height = _HEIGHT if end.outcome in BAD else 8 if end.outcome == Outcome.PASSED else 3
        name = "bad" if end.outcome in BAD else "busy" if end.outcome == Outcome.PASSED else "idle"
        commit = end.commit[:COMMIT] or "no commit"
        about = f"{end.outcome} in {brief(end.duration)}, {end.started[:10]}, {commit}"
        parts.append(
            f'<rect class="{name}" x="{number * _WIDTH + 1}" y="{_HEIGHT - height}" width="{_WIDTH - 2}"'
            f' height="{height}"><title>{html(about)}</title></rect>'
        )
    return Strip(told, Markup("".join([*parts, "</svg>"])))

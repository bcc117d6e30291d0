"""Bars side by side, one for each run, as SVG: stacked, with a text for who points at one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from markupsafe import Markup

from proctor.render.page.markup import html

_HEIGHT = 120
_STEP, _WIDTH = 10, 8  # from one bar to the next, and of a bar
_FEWEST = 30  # bars for which there is room: a few do not fill the whole width
_FOOT = 10  # height of a part that must be seen
_LEAST = 2  # height of a part that is not nothing


class Bar(msgspec.Struct):
    """`parts` are values with their classes, from the bottom up; `foot`: the lowest is seen in any case."""

    title: str
    parts: Sequence[tuple[float, str]]
    foot: bool = False


def chart(name: str, told: str, bars: Sequence[Bar]) -> Markup:
    """`told`: what it shows, in words."""
    return Markup("".join(_chart(name, told, bars))) if bars else Markup()


def _chart(name: str, told: str, bars: Sequence[Bar]) -> Iterator[str]:
    most = max(sum(value for value, _ in bar.parts) for bar in bars) or 1.0
    width = max(_FEWEST, len(bars)) * _STEP
    yield f'<svg id="{name}" class="chart" width="100%" height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}"'
    yield f' preserveAspectRatio="none" role="img" aria-labelledby="{name}-title">'
    yield f'<title id="{name}-title">{html(told)}</title>'
    for number, bar in enumerate(bars):
        yield f"<g><title>{html(bar.title)}</title>"
        x, y = number * _STEP + 1, float(_HEIGHT)
        yield f'<rect class="ground" x="{x}" y="0" width="{_WIDTH}" height="{_HEIGHT}"/>'
        least, owed = _FOOT if bar.foot else 0, 0.0
        for value, tone in bar.parts:
            true = value / most * (_HEIGHT - _FOOT - 2 * _LEAST)
            height = max(least, true - owed, _LEAST if value > 0 else 0)
            least, owed = 0, max(0.0, owed + height - true)  # others make room, so that the whole stays true
            if height:
                y -= height
                yield f'<rect class="{tone}" x="{x}" y="{y:.1f}" width="{_WIDTH}" height="{height:.1f}"/>'
        yield "</g>"
    yield "</svg>"

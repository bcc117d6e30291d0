"""Points to a picture: panels side by side, each with straight axes and a curve for each name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 300, 230  # of a panel, in pixels
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 14, 34, 44
_COLOURS = ("#888888", "#2060c0", "#c05020")
_TICKS = 4


@dataclass(frozen=True)
class Panel:
    title: str
    across: str  # what the sizes are
    up: str
    curves: Mapping[str, Sequence[tuple[float, float]]]


def svg(panels: Sequence[Panel]) -> str:
    box, font = f"0 0 {WIDTH * len(panels)} {HEIGHT}", 'font-family="sans-serif" font-size="11"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {font}>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for number, panel in enumerate(panels):
        lines += [f'<g transform="translate({number * WIDTH} 0)">', *_panel(panel), "</g>"]
    return "\n".join([*lines, "</svg>", ""])


def _panel(panel: Panel) -> list[str]:
    points = [point for curve in panel.curves.values() for point in curve]
    most_across, most_up = max(x for x, _ in points), max(y for _, y in points) * 1.05

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + x / most_across * (WIDTH - _LEFT - _RIGHT),
            HEIGHT - _BOTTOM - y / most_up * (HEIGHT - _TOP - _BOTTOM),
        )

    lines = [_text(WIDTH / 2, 16, panel.title, "middle", ' font-weight="bold"')]
    for tick in range(_TICKS + 1):
        x, y = most_across * tick / _TICKS, most_up * tick / _TICKS
        (left, level), (right, _) = at(0, y), at(most_across, y)
        lines.append(f'<path d="M{left:.1f} {level:.1f}H{right:.1f}" stroke="#dddddd"/>')
        lines.append(_text(left - 5, level + 4, _short(y), "end"))
        lines.append(_text(at(x, 0)[0], HEIGHT - _BOTTOM + 15, _short(x), "middle"))
    lines.append(_text(WIDTH / 2, HEIGHT - 10, panel.across, "middle"))
    lines.append(_text(6, 28, panel.up, "start"))
    for number, (name, curve) in enumerate(panel.curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [at(x, y) for x, y in curve]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        lines.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places]
        lines.append(_text(_LEFT + 8, _TOP + 14 + 14 * number, name, "start", f' fill="{colour}"'))
    return lines


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'


def _short(number: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.2g}"

"""Points to a picture: panels side by side, each with two axes and a curve for each name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 300, 230  # of a panel, in pixels
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 20, 34, 44
_TICKS = 4
_LINE = 14  # pixels from one name of a curve to the next


@dataclass(frozen=True)
class Theme:
    page: str
    text: str
    grid: str
    curves: tuple[str, ...]


LIGHT = Theme("#ffffff", "#000000", "#dddddd", ("#888888", "#2060c0", "#c05020", "#20803a"))
DARK = Theme("#0d1117", "#c9d1d9", "#30363d", ("#8b949e", "#58a6ff", "#f0883e", "#3fb950"))


def short(number: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.2g}"


@dataclass(frozen=True)
class Axis:
    """Straight from 0 on; by powers, if it has ticks of its own."""

    name: str
    ticks: tuple[float, ...] = ()
    label: Callable[[float], str] = short

    def share(self, value: float, most: float) -> float:
        """Where a value is between the ends, from 0 to 1."""
        if not self.ticks:
            return value / most
        low, high = math.log(self.ticks[0]), math.log(self.ticks[-1])
        return (math.log(value) - low) / (high - low)


@dataclass(frozen=True)
class Panel:
    title: str
    across: Axis
    up: Axis
    curves: Mapping[str, Sequence[tuple[float, float]]]
    names_at: tuple[float, float] = (_LEFT + 8, _TOP + 14)  # where the first name of a curve is


def svg(panels: Sequence[Panel], theme: Theme = LIGHT, columns: int = 0) -> str:
    columns = columns or len(panels)
    rows = -(-len(panels) // columns)
    box, font = f"0 0 {WIDTH * columns} {HEIGHT * rows}", 'font-family="sans-serif" font-size="11"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {font} fill="{theme.text}">',
        f'<rect width="100%" height="100%" fill="{theme.page}"/>',
    ]
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        lines += [
            f'<g transform="translate({column * WIDTH} {row * HEIGHT})">',
            *_Drawing(panel, theme).lines(),
            "</g>",
        ]
    return "\n".join([*lines, "</svg>", ""])


class _Drawing:
    def __init__(self, panel: Panel, theme: Theme) -> None:
        points = [point for curve in panel.curves.values() for point in curve]
        self._panel, self._theme = panel, theme
        self._most = max(x for x, _ in points), max(y for _, y in points) * 1.05

    def lines(self) -> list[str]:
        title = _text(WIDTH / 2, 16, self._panel.title, "middle", ' font-weight="bold"')
        curves = enumerate(self._panel.curves.items())
        return [
            title,
            *self._axes(),
            *(line for number, (name, curve) in curves for line in self._curve(number, name, curve)),
        ]

    def _x(self, value: float) -> float:
        return _LEFT + self._panel.across.share(value, self._most[0]) * (WIDTH - _LEFT - _RIGHT)

    def _y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - self._panel.up.share(value, self._most[1]) * (HEIGHT - _TOP - _BOTTOM)

    def _axes(self) -> list[str]:
        across, up = self._panel.across, self._panel.up
        lines = []
        for y in up.ticks or _even(self._most[1]):
            lines.append(
                f'<path d="M{_LEFT} {self._y(y):.1f}H{WIDTH - _RIGHT}" stroke="{self._theme.grid}"/>'
            )
            lines.append(_text(_LEFT - 5, self._y(y) + 4, up.label(y), "end"))
        lines += [
            _text(self._x(x), HEIGHT - _BOTTOM + 15, across.label(x), "middle")
            for x in across.ticks or _even(self._most[0])
        ]
        lines.append(_text(WIDTH / 2, HEIGHT - 10, across.name, "middle"))
        lines.append(_text(6, 28, up.name, "start"))
        return lines

    def _curve(self, number: int, name: str, curve: Sequence[tuple[float, float]]) -> list[str]:
        colour = self._theme.curves[number % len(self._theme.curves)]
        places = [(self._x(x), self._y(y)) for x, y in curve]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        x, y = self._panel.names_at
        # What lies behind a name does not cross its letters.
        behind = f'stroke="{self._theme.page}" stroke-width="3" paint-order="stroke"'
        return [
            f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>',
            *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places),
            _text(x, y + _LINE * number, name, "start", f' fill="{colour}" {behind}'),
        ]


def _even(most: float) -> list[float]:
    return [most * tick / _TICKS for tick in range(_TICKS + 1)]


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'

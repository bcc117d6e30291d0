"""Colours that a program writes for a terminal (ANSI), as spans with classes. Other escapes are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from proctor.render.page.markup import visible
from proctor.text import ESCAPES

_COLOUR = re.compile(r"\x1b\[([0-9;:]*)m")
_ATTRIBUTES = {1: "bold", 2: "dim", 3: "italic", 4: "under", 7: "swap", 9: "gone"}
_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("under",), 27: ("swap",), 29: ("gone",)}
_LEVELS = (0, 95, 135, 175, 215, 255)  # of the 6 x 6 x 6 colours
_MOST = 10_000  # spans in one text: what comes after them is plain


class _Style:
    """What the next characters look like."""

    def __init__(self) -> None:
        self.attributes: dict[str, None] = {}
        self.front = self.back = ""

    @property
    def classes(self) -> str:
        return " ".join(filter(None, (*self.attributes, self.front, self.back)))

    def take(self, numbers: list[int]) -> None:
        rest = iter(numbers or [0])
        for number in rest:
            if number == 0:
                self.attributes.clear()
                self.front = self.back = ""
            elif number in _ATTRIBUTES:
                self.attributes[_ATTRIBUTES[number]] = None
            elif number in _ENDS:
                for name in _ENDS[number]:
                    self.attributes.pop(name, None)
            elif number in (38, 48):
                self._set(number == 38, _chosen(rest))
            elif 30 <= number <= 39 or 90 <= number <= 97:
                self._set(True, _basic(number))
            elif 40 <= number <= 49 or 100 <= number <= 107:
                self._set(False, _basic(number - 10))

    def _set(self, front: bool, colour: int | None) -> None:
        name = "" if colour is None else f"{'f' if front else 'b'}{colour}"
        if front:
            self.front = name
        else:
            self.back = name


def coloured(text: str) -> Markup:
    """The text as HTML, in the colours that it asks for."""
    text = text.replace("\r\n", "\n")
    if "\x1b[" not in text:
        return escape(visible(text))
    return Markup("".join(_spans(text)))


def _spans(text: str) -> Iterator[str]:
    style, at, spans = _Style(), 0, 0
    for found in re.finditer(ESCAPES, text):
        yield _span(text[at : found.start()], style.classes if spans < _MOST else "")
        at, spans = found.end(), spans + 1
        if colour := _COLOUR.fullmatch(found[0]):
            style.take([int(number[:4] or 0) for number in re.split("[;:]", colour[1])])
    yield _span(text[at:], style.classes if spans < _MOST else "")


def _span(text: str, classes: str) -> str:
    shown = escape(visible(text))
    return f'<span class="{classes}">{shown}</span>' if classes and text.strip() else str(shown)


def _basic(number: int) -> int | None:
    return None if number == 39 else number - 30 if number < 40 else number - 90 + 8


def _chosen(rest: Iterator[int]) -> int | None:
    """One of 256 colours (`5;N`), or any (`2;R;G;B`), as the nearest of the sixteen."""
    kind = next(rest, 0)
    if kind == 5:
        number = next(rest, 0)
        if number < 16:
            return number
        if number > 231:
            return _nearest(*[(number - 232) * 10 + 8] * 3)
        number -= 16
        return _nearest(_LEVELS[number // 36], _LEVELS[number // 6 % 6], _LEVELS[number % 6])
    if kind == 2:
        return _nearest(next(rest, 0), next(rest, 0), next(rest, 0))
    return None


def _nearest(red: int, green: int, blue: int) -> int:
    """Bits of the parts that are strong; bright where one is very strong."""
    most = max(red, green, blue)
    if most < 48:
        return 0
    bits = sum(bit for bit, part in ((1, red), (2, green), (4, blue)) if part * 2 > most)
    return bits + 8 * (most > 191 and bits != 7) if most > 127 or bits != 7 else 8

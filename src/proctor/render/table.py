"""A table for people: columns that are as wide as what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from proctor.render.writer import Tone, Writer

#: Pieces of text, each with its tone, with a blank between them.
Cell: TypeAlias = Sequence[tuple[str, Tone]]


def cell(text: str, tone: Tone = "") -> Cell:
    return ((text, tone),)


def write_table(
    header: Sequence[str], rows: Iterable[Sequence[Cell]], write: Writer, cuts: bool = False
) -> None:
    """`cuts`: what does not fit into a line of a terminal is left out; otherwise it goes on in the next."""
    lines = [[cell(name, "strong") for name in header], *rows]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        filled = max((at for at, found in enumerate(line) if _width(found)), default=0)
        for at, (found, width) in enumerate(zip(line[: filled + 1], widths, strict=False)):
            for number, (text, tone) in enumerate(found):
                write(" " * bool(number))
                write(text, tone)
            write(" " * (width - _width(found) + 2) if at < filled else "")
        write("\n", "rest" if cuts else "")


def _width(found: Cell) -> int:
    return sum(len(text) for text, _ in found) + max(0, len(found) - 1)

"""Writes a report to a terminal: styles, links, Python source in colours, lines wrapped at words.

Imports rich: load it late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from rich.console import Console
from rich.style import Style
from rich.text import Text

from proctor.render.writer import Tone

STYLES: dict[Tone, str] = {
    "good": "green",
    "bad": "red",
    "loud": "bold red",
    "odd": "yellow",
    "quiet": "dim",
    "strong": "bold",
    "id": "bold",
    "place": "cyan",
    "removed": "red",
    "added": "green",
    "less": "bold reverse red",
    "more": "bold reverse green",
}
Fit: TypeAlias = Literal["wrap", "cut", "keep"]
_FITS: dict[Tone, Fit] = {"command": "keep", "rest": "cut"}
_NARROWEST = 60  # columns; in fewer the terminal itself breaks the lines
_HANG = 2  # columns by which the rest of a line is indented further than its beginning
_MARGIN = 4  # columns before source code, in which pytest marks lines


class TerminalWriter:
    """A `Writer`. It collects the pieces of a line and prints the line when that is complete."""

    def __init__(
        self, console: Console, before: Callable[[], None] = lambda: None, links: bool = False
    ) -> None:
        self._console, self._before, self._links = console, before, links
        self._line = Text()
        self._fit: Fit = "wrap"

    def __call__(self, text: str, tone: Tone = "", link: str = "") -> None:
        if tone == "carets":
            return  # the words themselves are marked
        if tone in ("source", "javascript"):
            for line in _source(text.removesuffix("\n"), "python" if tone == "source" else tone):
                self._print(line, "wrap")
            return
        style = Style.parse(STYLES.get(tone, ""))
        if link and self._links:
            style += Style(link=link)
        self._fit = _FITS.get(tone, self._fit)
        first, *others = text.split("\n")
        self._line.append(first, style)
        for other in others:
            self._print(self._line, self._fit)
            self._line, self._fit = Text().append(other, style), "wrap"

    def _print(self, line: Text, fit: Fit) -> None:
        self._before()
        width = self._console.width
        if fit == "cut":
            line.truncate(width, overflow="ellipsis")
        if fit == "keep" or width < _NARROWEST or line.cell_len <= width:
            self._console.print(line, soft_wrap=True)
            return
        for part in wrapped(line, width, self._console):
            self._console.print(part, soft_wrap=True)


def wrapped(line: Text, width: int, console: Console) -> Iterator[Text]:
    """The line in pieces that fit, broken at words; all but the first are indented."""
    first = line.wrap(console, width)[0]
    yield first
    rest = line[len(first) :]
    while rest.plain[:1] == " ":
        rest = rest[1:]
    indent = len(line.plain) - len(line.plain.lstrip()) + _HANG
    indent = min(indent, width // 2)
    for part in rest.wrap(console, width - indent):
        yield Text(" " * indent).append(part)


def _source(text: str, language: str) -> Iterator[Text]:
    """Code behind pytest's margin, coloured as a whole: a string may have several lines."""
    lines = text.split("\n")
    code = highlighted("\n".join(line[_MARGIN:] for line in lines), language)
    for line, coloured in zip(lines, code, strict=True):
        margin = line[:_MARGIN]
        yield Text().append(margin, STYLES["loud"] if margin[:1] == ">" else "").append(coloured)


def highlighted(code: str, language: str = "python") -> list[Text]:
    """The lines of code in colours that can be read on dark and on light."""
    from pygments.token import Comment, Keyword, Name, Number, Operator, String
    from rich.syntax import ANSISyntaxTheme, Syntax

    theme = ANSISyntaxTheme(
        {
            Comment: Style(dim=True),
            Keyword: Style(color="magenta"),
            Operator.Word: Style(color="magenta"),
            Name.Decorator: Style(color="magenta"),
            Name.Function: Style(bold=True),
            Name.Class: Style(bold=True),
            Number: Style(color="cyan"),
            String: Style(color="cyan"),
        }
    )
    found = Syntax("", language, theme=theme).highlight(code)
    lines = list(found.split("\n", allow_blank=True))[: code.count("\n") + 1]
    lines += [Text()] * (code.count("\n") + 1 - len(lines))
    for line in lines:
        line.no_wrap = False
    return lines

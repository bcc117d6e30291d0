"""Text from outside as HTML: every character of it is seen, and none of it is markup.

Control characters, marks that change the direction of text, and what UTF-8 cannot carry become visible.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from markupsafe import Markup, escape

from proctor.render.neutral import neutral_block
from proctor.render.writer import Tone
from proctor.text import literal

# Marks of direction that `neutral_block` keeps, and code points that are no characters.
_NO_CHARACTERS = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
_ODD = re.compile(f"[\u061c\u200e\u200f\ufdd0-\ufdef{_NO_CHARACTERS}]")
_SIMPLE = re.compile(r"[ !#-%(-;=?-~\n\t]*")  # nothing to escape, nothing to make visible


def visible(text: str) -> str:
    """The text, harmless in a page once it is escaped; its line breaks and tabs stay."""
    if _SIMPLE.fullmatch(text):
        return text
    text = neutral_block(literal(text))
    return text if text.isascii() else _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def line(text: str) -> str:
    """The same on one line: for ids, names and attributes."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def html(text: str) -> str:
    """One line of text as HTML; it may stand between the quotes of an attribute, too."""
    if _SIMPLE.fullmatch(text) and "\n" not in text and "\t" not in text:
        return text
    return str(escape(line(text)))


def fragment(test: str) -> str:
    """The id of a test as a link carries it, as JavaScript's `encodeURIComponent` writes it."""
    return quote(literal(test), safe="!'()*-._~")


class HtmlWriter:
    """A `Writer`: a tone becomes a class. Links to files of this machine are of no use in a page."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.text = ""  # what was written, without markup

    def __call__(self, text: str, tone: Tone = "", link: str = "") -> None:
        if tone == "carets":
            return  # the words themselves are marked
        if tone in ("source", "javascript"):
            for one in text.removesuffix("\n").split("\n"):
                self._add(f"{one}\n", "at" if one.startswith(">") else "source")
        else:
            self._add(text, tone)

    def _add(self, text: str, name: str) -> None:
        shown = escape(visible(text))
        self.text += text
        self._parts.append(f'<span class="{name}">{shown}</span>' if name and text.strip() else str(shown))

    @property
    def markup(self) -> Markup:
        return Markup("".join(self._parts).rstrip())


def shortened(text: str, most: int) -> tuple[str, int, str]:
    """Its head, how many characters are left out, and its tail; both are cut at the ends of lines."""
    if len(text) <= most:
        return text, 0, ""
    half = most // 2
    head, tail = text[:half], text[-half:]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    return head, len(text) - len(head) - len(tail), tail

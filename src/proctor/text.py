"""Helpers for text: escape sequences, bytes, the first line, the first names of a list."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: What moves a cursor or sets a colour. A title or link (`ESC ]`) that has no end is over when its line is.
ESCAPES = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
_LINE = r"\S[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*"  # as `splitlines` splits


def without_escapes(text: str) -> str:
    return re.sub(ESCAPES, "", text) if "\x1b" in text else text


def literal(text: str) -> str:
    """The text as UTF-8 can carry it: a lone surrogate becomes six plain characters (`\\udc80`)."""
    return text if text.isascii() else utf8(text).decode()


def utf8(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def text_of(data: bytes) -> str:
    """What is not UTF-8 becomes literal text (`\\xff`)."""
    return data.decode("utf-8", "backslashreplace")


def first_line(text: str, length: int | None = None) -> str:
    """The first line that is not blank, stripped; a longer one is cut and ends in `...`."""
    found = re.search(_LINE, text)
    line = found[0].rstrip() if found else ""
    return line if length is None or len(line) <= length else line[: length - 3] + "..."


def named(names: Sequence[str], most: int = 3) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")

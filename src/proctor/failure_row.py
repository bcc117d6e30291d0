"""A row of the failure index: three texts, and the one line that holds them.

Also loaded, by its path, into the interpreters of tests: Python 3.7 or newer, and its standard library.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

OPEN = "##[failures]"
CLOSE = "##[/failures]"
ROWS = 5000  # in one block
LENGTH = 200  # characters of an error
LEAST_LENGTH = 20
PHASES = ("setup", "teardown", "collect")  # those that are named in front of an error

_TRUNCATED = "## ...truncated, %d more failures..."
_TRUNCATION = r"## \.\.\.truncated, ([0-9]+) more failures\.\.\."

_ANSI = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
_ONLY_A_TYPE = r"[A-Za-z_][\w.]*:"

_BETWEEN = " | "  # an encoded field cannot hold it: each bar in it has a backslash in front
_SPECIAL = "[\\\\|\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
_ESCAPES = {"\\": r"\\", "|": r"\|", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
_ESCAPED = {escape[1]: character for character, escape in _ESCAPES.items()}
_ESCAPED["#"] = "#"
_ESCAPE = r"(?s)\\(u[0-9a-f]{4}|U[0-9a-f]{8}|.|\Z)"


class Row(NamedTuple):
    test: str
    error: str
    place: str = ""  # file:line; empty: unknown


def escaped(text: str) -> str:
    """The text of one field; `unescaped` gives it back."""
    return re.sub(_SPECIAL, _escape, text)


def encode(row: Row) -> str:
    line = _BETWEEN.join(map(escaped, row))
    return "\\" + line if line.startswith("#") else line


def decode(line: str) -> Row:
    """Raises ValueError with what is wrong with the line."""
    if line.endswith(" |"):
        line += " "  # it was stripped
    fields = line.split(_BETWEEN)
    if len(fields) != len(Row._fields):
        raise ValueError("it has %d fields, not %d" % (len(fields), len(Row._fields)))
    return Row(*[re.sub(_ESCAPE, _unescape, field) for field in fields])


def unescaped(text: str) -> str:
    """A field of a row as plain text, e.g. a copied test ID; any other text is returned as it is."""
    try:
        return re.sub(_ESCAPE, _unescape, text)
    except ValueError:
        return text


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return _ESCAPES.get(character) or "\\u%04x" % ord(character)


def _unescape(found: re.Match[str]) -> str:
    escape = found[1]
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    if escape not in _ESCAPED:
        raise ValueError("no such escape: \\%s" % escape)
    return _ESCAPED[escape]


def error(message: str, phase: str = "", length: int = LENGTH) -> str:
    """What went wrong in one line of at most that length, with the phase in front where it matters."""
    lines = (re.sub(_ANSI, "", line).strip() for line in message.split("\n"))
    said = (line for line in lines if line)
    first = next(said, "no message")
    if re.fullmatch(_ONLY_A_TYPE, first):
        more = next(said, "")
        first = "%s %s" % (first, more) if more else first[:-1]
    if phase in PHASES:
        first = "[%s] %s" % (phase, first)
    return first if len(first) <= length else first[: length - 3] + "..."


def block(lines: Iterable[str], more: int = 0) -> str:
    """Encoded rows between the sentinels; empty where there are none. `more` failures have no row."""
    rows = [line + "\n" for line in lines]
    if more:
        rows.append(_TRUNCATED % more + "\n")
    return "".join([OPEN + "\n", *rows, CLOSE + "\n"]) if rows else ""


def truncation(line: str) -> int | None:
    """The number of failures without a row, if this line states it."""
    found = re.fullmatch(_TRUNCATION, line)
    return int(found[1]) if found else None


def printable(text: str, encoding: str) -> str:
    """The same rows for a stream that does not take every character."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join([_representable(character, encoding) for character in text])
    return text


def _representable(character: str, encoding: str) -> str:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return ("\\U%08x" if ord(character) > 0xFFFF else "\\u%04x") % ord(character)
    return character

"""The YAML of a TAP diagnostic: as much of it as test tools write, and no more.

Read: the keys of one mapping, each with its text (plain, quoted, or a block); what is nested stays as it is
written. Written: strings in double quotes, or blocks where there are several lines, in the forms that perl's
harness can read.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator

_KEY = re.compile(r"""(["']?)([^\s"'#:][^"':]*)\1:(?:[ \t]+(.*))?""")
_BLOCK = re.compile(r"[|>][0-9+-]{0,2}")


_LOOKED_AT = 4096  # characters of a quoted text
_BROKEN_QUOTE = re.compile(r"""(?:"[^"\\]*(?:\\.[^"\\]*)*"|'[^']*(?:''[^']*)*')\s*[^\s#']""")
_TOP = re.compile(r"\s.*|[#}\]].*|-(?:\s.*)?|", re.S)  # what may stand beside the keys


class _Nested(str):
    """What is nested below a key, as it is written."""

    __slots__ = ()


def mapping(value: str) -> dict[str, str]:
    """The values of a nested mapping; none if the value is anything else."""
    if isinstance(value, _Nested):
        return read(value)
    try:
        found = json.loads(value) if value.startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return {key: text for key, text in found.items() if isinstance(text, str)}


class Check:
    """Looks for lines that can be no part of a mapping, as a garbled report has them."""

    def __init__(self, opening: str) -> None:
        self._inline = opening.removeprefix("---").strip()
        self._depth: int | None = None  # of the first line
        self._found = False
        self._nested = False  # what follows may be the lines of a text, empty ones too

    def line(self, row: str) -> str:
        """What is wrong with the line; only the first fault is returned."""
        if self._found or self._may_stand(row):
            return ""
        self._found = True
        return "the diagnostics are not YAML"

    def _may_stand(self, row: str) -> bool:
        if not row.strip():
            return self._nested
        self._depth = _depth(row) if self._depth is None else self._depth
        if self._inline or _depth(row) < self._depth:
            return False
        if (key := _KEY.fullmatch(row[self._depth :].rstrip())) is None:
            return bool(_TOP.fullmatch(row[self._depth :]))
        self._nested = not key[3] or bool(_BLOCK.fullmatch(key[3]))
        return not _BROKEN_QUOTE.match((key[3] or "")[:_LOOKED_AT])

    def close(self) -> str:
        empty = self._depth is None and not self._inline
        return "the diagnostics are empty" if empty else ""


def read(text: str) -> dict[str, str]:
    """The values by key. Lines that make no sense are left out."""
    found: dict[str, str] = {}
    rows = text.split("\n")
    base = next((_depth(row) for row in rows if row.strip()), 0)  # tape's keys stand deeper than its `---`
    lines = deque(row[min(base, _depth(row)) :] for row in rows)
    while lines:
        key = _KEY.fullmatch(lines.popleft().rstrip())
        if key is None:
            continue
        nested = []
        while lines and (not lines[0].strip() or lines[0].startswith(" ")):
            nested.append(lines.popleft())
        value = (key[3] or "").strip()
        if not value:
            found[key[2]] = _Nested(_dedented(nested, ""))
        else:
            found[key[2]] = _dedented(nested, value) if _BLOCK.fullmatch(value) else _scalar(value)
    return found


def _dedented(lines: list[str], style: str) -> str:
    explicit = re.search("[0-9]", style)
    depths = [_depth(line) for line in lines if line.strip()]
    depth = int(explicit[0]) if explicit else min(depths[:1] if style else depths, default=0)
    return "\n".join(line[min(depth, _depth(line)) :] for line in lines).rstrip("\n")


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _scalar(value: str) -> str:
    if value.startswith("'") and value.endswith("'") and len(value) > 1:
        return value[1:-1].replace("''", "'")
    if value.startswith('"'):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return found if isinstance(found, str) else value
    return "" if value == "~" else value


def write(values: dict[str, str | float]) -> Iterator[str]:
    """Lines for these values; empty ones are left out."""
    for key, value in values.items():
        if isinstance(value, float):
            yield f"{key}: {value:.6g}"
        elif "\n" in value and value.strip("\n") == value and "\r" not in value and value[0] != " ":
            yield f"{key}: |"
            yield from (f"  {line}" for line in value.split("\n"))
        elif value:
            yield f"{key}: {json.dumps(value, ensure_ascii=False)}"

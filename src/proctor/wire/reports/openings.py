"""The lines by which reports are known: those that begin one, and those that can only be a part of one.

A test may print any of them, so what decides is where they stand: `detect` takes the format of the first line
that begins a report, and readers refuse a second beginning outside of what tests print.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_MOST = 1 << 16  # bytes of a line by which it is known
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.S)
_GO_BEGINS = ("start", "run", "output", "skip", "build-output", "build-fail")
_TAP_J = ("case", "test", "note", "final", "tally")
_TEXT_BEGINS = (
    (
        "tap",
        re.compile(rb"(?i:TAP\s+version\s+[0-9]+)\s*|1\.\.[0-9]+\s*(?:#.*|todo .*)?|(?:not )?ok 1(?:\s.*)?"),
    ),
    ("libtest", re.compile(rb"running [0-9]+ tests?|error: could not compile `.*")),
    ("go-json", re.compile(rb"FAIL[ \t]+\S+ \[(?:setup|build) failed\]")),
)
_TEXT_GOES_ON = (
    ("libtest", re.compile(rb" +(?:Running .+ \(.+\)|Doc-tests \S+|Compiling .+|Finished .+)")),
    ("tap", re.compile(rb"(?:not )?ok(?: .*)?")),
)


def opening(line: bytes) -> str | None:
    """The format of the report that begins with this line."""
    form, begins = _known(line)
    return form if begins else None


def part(line: bytes) -> str | None:
    """The format of which this line can be a part."""
    return _known(line)[0]


def top_level(text: bytes) -> tuple[dict[str, str], int]:
    """The keys of the JSON object that the text begins with, in their order, each with its value if that is
    no list or object; and where the object ends, -1 if the text ends before it does."""
    found: dict[str, str] = {}
    depth, key = 0, ""
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word in (b"{", b"["):
            depth += 1
        elif word in (b"}", b"]"):
            depth -= 1
            if depth <= 0:
                return found, token.end()
        elif depth == 1 and word == b",":
            key = ""
        elif depth == 1 and word != b":":
            plain = word.strip(b'"').decode("utf-8", "replace")
            if key:
                found[key] = plain
            else:
                key = plain
                found[key] = ""
    return found, -1


def _known(line: bytes) -> tuple[str | None, bool]:
    """The format, and whether the line begins a report of it."""
    line = line[:_MOST]
    if line.startswith(b"{"):
        return _known_json(top_level(line)[0])
    line = line.rstrip()
    for begins, table in ((True, _TEXT_BEGINS), (False, _TEXT_GOES_ON)):
        for form, pattern in table:
            if pattern.fullmatch(line):
                return form, begins
    return None, False


def _known_json(keys: Mapping[str, str]) -> tuple[str | None, bool]:
    kind, action = keys.get("type", ""), keys.get("Action", "")
    if next(iter(keys), "") == "test":
        return "results", False
    if {"type", "seq", "at"} <= keys.keys():
        return "events", True
    if kind == "suite" and "event" not in keys:
        return ("stream" if keys.keys() & {"rustc", "build"} else "tap-j"), True
    if "$report_type" in keys:
        return "reportlog", keys["$report_type"] == "SessionStart"
    if "Action" in keys:
        return "go-json", action in _GO_BEGINS
    if kind in ("suite", "test") and "event" in keys:
        return "libtest-json", (kind, keys["event"]) == ("suite", "started")
    return ("tap-j" if kind in _TAP_J and "label" in keys else None), False

"""Reads the comments of perl's Test::More after a failed point."""

from __future__ import annotations

import re

from proctor import events as e

_FAILED = re.compile(r"\s*Failed (?:\(TODO\) )?test(?: '.*')?\n?\s*at (.+?) line ([0-9]{1,9})\.\n?", re.S)
_COMPARED = re.compile(r"\s*got: (.*)\n\s*expected: (.*)")
_ONE_LINE = 300  # characters that need no lines
_ABOUT_ALL = re.compile(r"^Looks like (?:you|your test) .*\n?", re.M)


def read(comments: str) -> e.Failure | None:
    """None where the comments are not those of Test::More."""
    found = _FAILED.match(comments)
    if found is None:
        return None
    place = e.Place(found[1], int(found[2]))
    rest = _ABOUT_ALL.sub("", comments[found.end() :]).rstrip()
    if compared := _COMPARED.fullmatch(rest):
        actual, expected = compared[1], compared[2]
        return e.Failure("", f"got {actual}, expected {expected}", place, expected, actual)
    lines = [line.strip() for line in rest.splitlines()]
    return e.Failure("", (" " if len(rest) < _ONE_LINE else "\n").join(lines) or "failed", place)

"""Patterns that every Python we run on reads alike."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import proctor

parser = importlib.import_module("re._parser")


def patterns(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from patterns(part)
    elif isinstance(value, dict):
        yield from patterns(list(value.values()))


def operations(parsed: object) -> Iterator[str]:
    """The names of everything that a pattern is made of."""
    for part in parsed if isinstance(parsed, parser.SubPattern | list | tuple) else ():
        if hasattr(part, "name"):
            yield part.name
        yield from operations(part)


def all_patterns() -> dict[str, re.Pattern[str]]:
    modules = [
        found.name
        for found in pkgutil.walk_packages(proctor.__path__, "proctor.")
        if not found.name.endswith("__main__") and ".inject" not in found.name
    ]
    return {
        f"{name}.{word}: {pattern.pattern!r}": pattern
        for name in modules
        for word, value in vars(importlib.import_module(name)).items()
        for pattern in patterns(value)
    }


def test_no_pattern_is_possessive_or_atomic() -> None:
    """Python 3.11 up to 3.11.4, which Debian 12 has, gives other matches for these."""
    known = all_patterns()
    assert len(known) > 100
    assert "POSSESSIVE_REPEAT" in {*operations(parser.parse("(?:a|b)*+"))}
    assert "ATOMIC_GROUP" in {*operations(parser.parse("(x(?>a|b))"))}

    found = {
        name: {*operations(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))}
        for name, pattern in known.items()
    }

    assert [name for name, parts in found.items() if parts & {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}] == []

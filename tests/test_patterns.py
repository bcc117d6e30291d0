"""Patterns that every Python we run on reads alike."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType

import proctor

parser = importlib.import_module("re._parser")


def texts(module: ModuleType) -> Iterator[re.Pattern[str]]:
    """Patterns that `re` compiles when they are first used."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("re")), args=[ast.Name(name), *_]):
                value = vars(module).get(name)
                if isinstance(value, str | bytes):
                    yield re.compile(value)  # type: ignore[arg-type]


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
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(proctor.__path__, "proctor.")
        if not found.name.endswith("__main__") and ".inject" not in found.name
    ]
    found = (
        (module, pattern)
        for module in modules
        for pattern in [*patterns([*vars(module).values()]), *texts(module)]
    )
    return {f"{module.__name__}: {pattern.pattern!r}": pattern for module, pattern in found}


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

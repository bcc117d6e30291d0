"""What a Python file imports, by its source. Looks for statements instead of parsing whole files, which would
take ten times as long; one that a string quotes counts as well."""

from __future__ import annotations

import ast
import re
import warnings
from functools import lru_cache

import msgspec

_REST = r"(?:\\\n|[^\n#;])*"  # of a line, and of those that it goes on in
_FROM = r"from(?:[ \t]|\\\n)*[.\w][^\n#;(]*?(?:\\\n[^\n#;(]*?)*\bimport\b"
_IN_BRACKETS = r"[ \t]*\((?:[^)#]|#[^\n]*)*\)"
_STATEMENT = re.compile(
    rf"(?:^|[;:])[ \t]*({_FROM}(?:{_IN_BRACKETS}|{_REST})|import[ \t\\]{_REST})", re.MULTILINE
)
_CALL = re.compile(r"""\b(?:import_module|__import__|importorskip)\(\s*["']([\w.]+)["']""")
_NAME = re.compile(r"""["']([A-Za-z_][\w.]*)["']""")
_COMMENT = re.compile(r"#[^\n]*")


class Import(msgspec.Struct, frozen=True):
    """The name of something that is imported: a module, or something in one."""

    name: str
    level: int = 0  # how many dots were before it


def imports_in(source: bytes, strings: bool = False) -> frozenset[Import]:
    """`strings`: each one that could be the name of a module counts: `pytest_plugins` of a conftest.py."""
    text = source.decode("utf-8", "replace").replace("\r\n", "\n")
    found = {one for statement in _STATEMENT.findall(text) for one in _read(statement)}
    found |= {Import(name.lstrip("."), len(name) - len(name.lstrip("."))) for name in _CALL.findall(text)}
    if strings:
        found |= {Import(name) for name in _NAME.findall(text)}
    return frozenset(found)


def is_whole(source: bytes) -> bool:
    """Whether it has no mistake in its syntax, which it may have while somebody writes it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


@lru_cache(maxsize=10_000)
def _read(statement: str) -> tuple[Import, ...]:
    try:
        node = ast.parse(_COMMENT.sub("", statement).strip()).body[0]
    except (SyntaxError, ValueError, IndexError):
        return ()
    if isinstance(node, ast.Import):
        return tuple(Import(alias.name) for alias in node.names)
    if not isinstance(node, ast.ImportFrom):
        return ()
    base = f"{node.module}." if node.module else ""
    names = [node.module or ""] + [f"{base}{alias.name}" for alias in node.names if alias.name != "*"]
    return tuple(Import(name, node.level) for name in names)

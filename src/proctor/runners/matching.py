"""Expressions such as `db and not (slow or net)`, as -k and -m take them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from proctor.errors import UsageError

_TOKEN = re.compile(r"[()]|[^\s()]+")

Test = Callable[[str], bool]


class Word(msgspec.Struct, frozen=True):
    text: str


class Not(msgspec.Struct, frozen=True):
    part: Expression


class All(msgspec.Struct, frozen=True):
    parts: tuple[Expression, ...]


class Some(msgspec.Struct, frozen=True):
    parts: tuple[Expression, ...]


Expression: TypeAlias = Word | Not | All | Some


def parse(expression: str) -> Callable[[Test], bool]:
    """A function that asks about each word and says whether the whole holds."""
    tree = read(expression)
    return lambda test: _holds(tree, test)


def read(expression: str) -> Expression:
    parser = _Parser(expression, _TOKEN.findall(expression))
    found = parser.alternatives()
    if parser.tokens:
        raise parser.wrong(f"{parser.tokens[0]!r} is one too many")
    return found


def _holds(tree: Expression, test: Test) -> bool:
    match tree:
        case Word(text):
            return test(text)
        case Not(part):
            return not _holds(part, test)
        case All(parts):
            return all(_holds(part, test) for part in parts)
        case Some(parts):
            return any(_holds(part, test) for part in parts)


class _Parser:
    def __init__(self, expression: str, tokens: list[str]) -> None:
        self.expression, self.tokens = expression, tokens

    def wrong(self, what: str) -> UsageError:
        hint = "words joined by and, or, not and brackets would do"
        return UsageError(f"the expression {self.expression!r} is not understood: {what}; {hint}")

    def alternatives(self) -> Expression:
        parts = [self._conjunction()]
        while self.tokens[:1] == ["or"]:
            del self.tokens[0]
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _conjunction(self) -> Expression:
        parts = [self._negation()]
        while self.tokens[:1] == ["and"]:
            del self.tokens[0]
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _negation(self) -> Expression:
        if not self.tokens:
            raise self.wrong("it ends where a word should be")
        token = self.tokens.pop(0)
        if token == "not":
            return Not(self._negation())
        if token == "(":
            inner = self.alternatives()
            if self.tokens[:1] != [")"]:
                raise self.wrong("a bracket is not closed")
            del self.tokens[0]
            return inner
        if token in ("and", "or", ")"):
            raise self.wrong(f"{token!r} stands where a word should be")
        return Word(token)

"""Expressions such as `db and not (slow or net)`, as -k and -m take them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from proctor.errors import UsageError

_TOKEN = re.compile(r"[()]|[^\s()]+")

DEEPEST = 100  # brackets and nots inside one another: those who evaluate an expression have limits, too

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
    """A function that returns whether the expression holds, given a test for its words."""
    tree = read(expression)
    return lambda test: _holds(tree, test)


def in_name(expression: str) -> Callable[[str], bool]:
    """Whether a `-k` expression holds for a name, upper or lower case; an empty one holds for all."""
    holds = parse(expression) if expression else None
    return lambda name: holds is None or holds(lambda word: word.lower() in name.lower())


def read(expression: str) -> Expression:
    check_depth(expression)
    parser = _Parser(expression, _TOKEN.findall(expression))
    found = parser.alternatives()
    if parser.tokens:
        raise parser.wrong(f"{parser.tokens[0]!r} is one too many")
    return found


def check_depth(expression: str) -> None:
    """Of an expression that somebody else will read."""
    depth = deepest = nots = 0
    for token in _TOKEN.findall(expression):
        depth += (token == "(") - (token == ")")
        nots = nots + 1 if token == "not" else nots if token == "(" else 0
        deepest = max(deepest, depth + nots)
    if deepest > DEEPEST:
        shown = f"{expression[:40]}..." if len(expression) > 40 else expression
        raise UsageError(
            f"invalid expression {shown!r}: it is nested {deepest} deep; expected {DEEPEST} levels at most"
        )


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
        expected = "expected words joined by and, or, not and brackets"
        return UsageError(f"invalid expression {self.expression!r}: {what}; {expected}")

    def alternatives(self) -> Expression:
        return self._joined("or", self._conjunction, Some)

    def _conjunction(self) -> Expression:
        return self._joined("and", self._negation, All)

    def _joined(self, word: str, part: Callable[[], Expression], kind: type[All | Some]) -> Expression:
        parts = [part()]
        while self.tokens[:1] == [word]:
            del self.tokens[0]
            parts.append(part())
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

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

"""Expressions such as `db and not (slow or net)`, as -k and -m take them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from proctor.errors import UsageError

_SHOWN = 100  # characters of an expression in an error
DEEPEST = 100  # brackets and nots inside one another: those who evaluate an expression have limits, too
_TOKEN = r"[()]|[^\s()]+"

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
    parser = _Parser(expression)
    found = parser.alternatives()
    if parser.next:
        raise parser.wrong(f"unexpected {parser.next!r}")
    return found


def check_depth(expression: str) -> None:
    """Raises a UsageError if the expression is nested too deeply."""
    depth = deepest = nots = 0
    for token in re.findall(_TOKEN, expression):
        depth += (token == "(") - (token == ")")
        nots = nots + 1 if token == "not" else nots if token == "(" else 0
        deepest = max(deepest, depth + nots)
    if deepest > DEEPEST:
        nested = f"it is nested {deepest} deep; expected {DEEPEST} levels at most"
        raise UsageError(f"invalid expression {_shown(expression)!r}: {nested}")


def _shown(expression: str) -> str:
    return expression if len(expression) <= _SHOWN else expression[: _SHOWN - 3] + "..."


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
    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens = iter(re.findall(_TOKEN, expression))
        self.next = next(self._tokens, "")

    def wrong(self, what: str) -> UsageError:
        expected = "expected words joined by and, or, not and brackets"
        return UsageError(f"invalid expression {_shown(self._expression)!r}: {what}; {expected}")

    def alternatives(self) -> Expression:
        return self._joined("or", self._conjunction, Some)

    def _conjunction(self) -> Expression:
        return self._joined("and", self._negation, All)

    def _joined(self, word: str, part: Callable[[], Expression], kind: type[All | Some]) -> Expression:
        parts = [part()]
        while self.next == word:
            self._take()
            parts.append(part())
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

    def _negation(self) -> Expression:
        if not self.next:
            raise self.wrong("it ends where a word is expected")
        token = self._take()
        if token == "not":
            return Not(self._negation())
        if token == "(":
            inner = self.alternatives()
            if self.next != ")":
                raise self.wrong("a bracket is not closed")
            self._take()
            return inner
        if token in ("and", "or", ")"):
            raise self.wrong(f"unexpected {token!r} where a word is expected")
        return Word(token)

    def _take(self) -> str:
        token, self.next = self.next, next(self._tokens, "")
        return token

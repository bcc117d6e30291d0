"""Expressions such as `db and not (slow or net)`, as -k and -m take them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from proctor.errors import UsageError

_SHOWN = 200  # characters of an expression in an error
_DEEPEST = 100  # brackets and negations inside each other
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
    """A function that returns whether the expression holds, given a test for its words."""
    tree = read(expression)
    return lambda test: _holds(tree, test)


def in_name(expression: str) -> Callable[[str], bool]:
    """Whether a `-k` expression holds for a name, upper or lower case; an empty one holds for all."""
    holds = parse(expression) if expression else None
    return lambda name: holds is None or holds(lambda word: word.lower() in name.lower())


def read(expression: str) -> Expression:
    parser = _Parser(expression)
    found = parser.alternatives()
    if parser.next:
        raise parser.wrong(f"{parser.next!r} is one too many")
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
    def __init__(self, expression: str) -> None:
        self._expression, self._depth = expression, 0
        self._tokens = iter(_TOKEN.findall(expression))
        self.next = next(self._tokens, "")

    def wrong(self, what: str) -> UsageError:
        expected = "expected words joined by and, or, not and brackets"
        text = self._expression
        shown = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
        return UsageError(f"invalid expression {shown!r}: {what}; {expected}")

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
            raise self.wrong("it ends where a word should be")
        token = self._take()
        if token == "not":
            return Not(self._deeper(self._negation))
        if token == "(":
            inner = self._deeper(self.alternatives)
            if self.next != ")":
                raise self.wrong("a bracket is not closed")
            self._take()
            return inner
        if token in ("and", "or", ")"):
            raise self.wrong(f"{token!r} stands where a word should be")
        return Word(token)

    def _deeper(self, part: Callable[[], Expression]) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.wrong(f"more than {_DEEPEST} brackets or `not` inside each other")
        found = part()
        self._depth -= 1
        return found

    def _take(self) -> str:
        token, self.next = self.next, next(self._tokens, "")
        return token

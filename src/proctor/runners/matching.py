"""Expressions such as `db and not (slow or net)`, as -k and -m take them."""

from __future__ import annotations

import re
from collections.abc import Callable

from proctor.errors import UsageError

_TOKEN = re.compile(r"[()]|[^\s()]+")

Test = Callable[[str], bool]
Expression = Callable[[Test], bool]


def parse(expression: str) -> Expression:
    """A function that asks about each word and says whether the whole holds."""
    tokens = _TOKEN.findall(expression)
    parser = _Parser(expression, tokens)
    found = parser.alternatives()
    if parser.tokens:
        raise parser.wrong(f"{parser.tokens[0]!r} is one too many")
    return found


class _Parser:
    def __init__(self, expression: str, tokens: list[str]) -> None:
        self.expression, self.tokens = expression, tokens

    def wrong(self, what: str) -> UsageError:
        hint = "words joined by and, or, not and brackets would do"
        return UsageError(f"the expression {self.expression!r} is not understood: {what}; {hint}")

    def alternatives(self) -> Callable[[Test], bool]:
        parts = [self._conjunction()]
        while self.tokens[:1] == ["or"]:
            del self.tokens[0]
            parts.append(self._conjunction())
        return lambda test: any(part(test) for part in parts)

    def _conjunction(self) -> Callable[[Test], bool]:
        parts = [self._negation()]
        while self.tokens[:1] == ["and"]:
            del self.tokens[0]
            parts.append(self._negation())
        return lambda test: all(part(test) for part in parts)

    def _negation(self) -> Callable[[Test], bool]:
        if not self.tokens:
            raise self.wrong("it ends where a word should be")
        token = self.tokens.pop(0)
        if token == "not":
            denied = self._negation()
            return lambda test: not denied(test)
        if token == "(":
            inner = self.alternatives()
            if self.tokens[:1] != [")"]:
                raise self.wrong("a bracket is not closed")
            del self.tokens[0]
            return inner
        if token in ("and", "or", ")"):
            raise self.wrong(f"{token!r} stands where a word should be")
        return lambda test: test(token)

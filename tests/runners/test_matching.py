"""Expressions of -k and -m."""

from __future__ import annotations

import pytest

from proctor.errors import UsageError
from proctor.runners import matching


@pytest.mark.parametrize(
    ("expression", "name", "holds"),
    [
        ("net", "on the NET", True),
        ("net and not slow", "net, slow", False),
        ("a or b and c", "a", True),
        ("(a or b) and c", "a", False),
        ("not not a", "a", True),
        ("(" * 100 + "a" + ")" * 100, "a", True),
        (" or ".join(["x"] * 50_000 + ["a"]), "a", True),
    ],
)
def test_an_expression_holds_for_names(expression: str, name: str, holds: bool) -> None:
    assert matching.in_name(expression)(name) is holds


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("(" * 101 + "a" + ")" * 101, "more than 100 brackets"),
        ("(" * 900 + "a" + ")" * 900, "more than 100 brackets"),
        ("(" * 1_000_000, "more than 100 brackets"),
        ("not " * 3000 + "a", "more than 100 brackets or `not`"),
        ("(a", "a bracket is not closed"),
        ("a)", "')' is one too many"),
        ("a or", "it ends where a word should be"),
        ("and", "'and' stands where a word should be"),
    ],
)
def test_what_is_no_expression_is_a_short_usage_error(expression: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        matching.read(expression)

    assert said in str(raised.value)
    assert len(str(raised.value)) < 500

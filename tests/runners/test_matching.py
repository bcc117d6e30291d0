"""Expressions of -k and -m: what they select, and what is refused before anybody evaluates it."""

from __future__ import annotations

import pytest

from proctor.errors import UsageError
from proctor.runners import pytest_suite
from proctor.runners.matching import DEEPEST, check_depth, in_name, read
from proctor.spec import Python, RunSpec, Selection

DEEP = {
    "brackets": "(" * 900 + "a" + ")" * 900,
    "nots": "not " * 900 + "a",
    "both": "not (" * 450 + "a" + ")" * 450,
    "unclosed": "(" * 900,
    "far inside": "b and (" + "(" * 900 + "a" + ")" * 901,
}
each_deep = pytest.mark.parametrize("expression", DEEP.values(), ids=DEEP)


@each_deep
def test_what_is_nested_too_deep_is_refused(expression: str) -> None:
    with pytest.raises(UsageError, match=f"nested [0-9]+ deep; expected {DEEPEST} levels at most"):
        read(expression)


@each_deep
@pytest.mark.parametrize("where", ["keywords", "markers"])
def test_pytest_is_not_asked_to_evaluate_what_is_nested_too_deep(expression: str, where: str) -> None:
    chosen = Selection(keywords=expression) if where == "keywords" else Selection(markers=expression)
    spec = RunSpec("/project", "pytest", chosen)
    with pytest.raises(UsageError, match="nested") as refused:
        pytest_suite.plan(spec, {}, Python("/python", (3, 12, 1), {"pytest": "8.4.2"}))
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "expression",
    [
        "(" * DEEPEST + "a" + ")" * DEEPEST,
        "not " * DEEPEST + "a",
        " or ".join(["a"] * 5000),
        "(a) or " * 500 + "not a",
    ],
    ids=["brackets", "nots", "a long list", "many brackets in a row"],
)
def test_what_is_not_nested_deeper_is_read(expression: str) -> None:
    check_depth(expression)
    assert in_name(expression)("a test")


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
    assert in_name(expression)(name) is holds


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("(" * 101 + "a" + ")" * 101, "nested"),
        ("(" * 900 + "a" + ")" * 900, "nested"),
        ("(" * 1_000_000, "nested"),
        ("not " * 3000 + "a", "nested 3000 deep"),
        ("(a", "a bracket is not closed"),
        ("a)", "unexpected ')'"),
        ("a or", "it ends where a word is expected"),
        ("and", "unexpected 'and' where a word is expected"),
    ],
)
def test_what_is_no_expression_is_a_short_usage_error(expression: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(expression)

    assert said in str(raised.value)
    assert len(str(raised.value)) < 500

"""What pytest explains about the values of an assertion, without what says nothing."""

from __future__ import annotations

import pytest

from proctor.render.assertion_text import explanations, says_something, where_line

CASES = {
    "a value that says something is kept": (
        "assert 500 == 200",
        [
            " +  where 500 = <Response 500 {'error': 'no column'}>.status_code",
            " +    where <Response 500 {'error': 'no column'}> = get('/users')",
        ],
        ["500 = <Response 500 {'error': 'no column'}>.status_code", "<Response…> = get('/users')"],
    ),
    "a name is replaced by what stands for it": (
        "assert 1 == 2",
        [
            " +  where 1 = size()",
            " +    where size = <shop.jobs.Queue object>.size",
            " +      where <shop.jobs.Queue object> = Queue()",
        ],
        ["1 = Queue().size()"],
    ),
    "as older versions of pytest write it": (
        "assert False",
        [
            " +  where False = <built-in method startswith of str object>('x')",
            " +    where <built-in method startswith of str object> = 'abc'.startswith",
        ],
        ["False = 'abc'.startswith('x')"],
    ),
    "a name is replaced once": (
        "assert f(f) == 1",
        [" +  where 2 = f(f())", " +    where f = <module>.f"],
        ["2 = <module>.f(f())"],
    ),
    "a value may have an equals sign": (
        "assert 1 == 0",
        [" +  where 1 = <R a = b>.code", " +    where <R a = b> = run()"],
        ["1 = <R a = b>.code", "<R a = b> = run()"],
    ),
    "two values of one assertion": (
        "assert 1 == 2",
        [" +  where 1 = len([7])", " +  and   2 = len('ab')"],
        ["1 = len([7])", "2 = len('ab')"],
    ),
    "a value that is itself says nothing": ("assert 'a' == 'b'", [" +  where 'a' = 'a'"], []),
    "other lines are not about values": ("assert [1] == [2]", ["  At index 0 diff: 1 != 2"], []),
}


@pytest.mark.parametrize(("first", "lines", "texts"), CASES.values(), ids=CASES)
def test_each_value_is_explained_once(first: str, lines: list[str], texts: list[str]) -> None:
    assert explanations(first, lines) == texts


def test_a_text_cannot_grow_with_the_names_in_it() -> None:
    lines = [" +  where 0 = a(a(a))", *[" +    where a = a(a)"] * 50]

    assert sum(map(len, explanations("assert 0", lines))) < 100 * sum(map(len, lines))


@pytest.mark.parametrize(
    ("where", "more"),
    [
        ("1 = Queue().size()", False),
        ("5 = <Foo object>.size", False),
        ("1 = size()", False),
        ("42 = sum([40, 2])", True),
        ("500 = <Response 500 gone>.status_code", True),
        ("3 = f(1).value", True),
    ],
)
def test_what_the_source_of_the_test_says_is_nothing_new(where: str, more: bool) -> None:
    assert says_something(where) is more


def test_a_line_that_explains_nothing_is_none() -> None:
    assert where_line(" +  where the moon is") == ""
    assert where_line("  - item") == ""

"""Differences for people: the place first, and in lines the words that differ."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.events import Failure
from proctor.render.difference_text import marked, write_difference
from proctor.render.writer import coloured_writer, plain_writer


def plain(**facts: Any) -> str:
    parts: list[str] = []
    write_difference(Failure(**facts), plain_writer(parts.append))
    return "".join(parts)


def test_a_place_in_a_value_is_one_line() -> None:
    assert plain(difference=("at ['user']['quota']: 7 != 9",)) == "  ['user']['quota']: 7 != 9\n"


def test_lines_of_a_text_have_carets_under_the_words_that_differ() -> None:
    lines = ("at line 4, 1 line differs:", "- the brown cat", "+ the brown fox")

    assert plain(difference=lines) == (
        "  at line 4, 1 line differs:  - right, + left\n"
        "  - the brown cat\n"
        "              ^^^\n"
        "  + the brown fox\n"
        "              ^^^\n"
    )


def test_colours_mark_the_words_instead() -> None:
    parts: list[str] = []
    failure = Failure(difference=("texts differ:", "- a cat", "+ a fox"))
    write_difference(failure, coloured_writer(parts.append))

    text = "".join(parts)
    assert "^" not in text
    assert "\x1b[31ma \x1b[0m\x1b[1;7;31mcat\x1b[0m" in text
    assert "\x1b[1;7;32mfox\x1b[0m" in text


def test_values_of_another_tool_are_compared_line_by_line() -> None:
    assert plain(expected="a\nb\nc", actual="a\nB\nc") == (
        "  - expected, + actual\n    a\n  - b\n  + B\n    c\n"
    )
    assert plain(expected="1", actual="2") == "  expected: 1\n    actual: 2\n"
    assert plain(actual="2") == "    actual: 2\n"
    assert plain() == ""


@pytest.mark.parametrize(
    "lines",
    [
        ["- a", "- b", "+ c"],
        ["+ only new"],
        ["- only old"],
        ["  the same", "- x", "+ y", "  the same"],
        ["-", "+ x"],
        ["no sign at all"],
        ["- " + "x" * 5000, "+ " + "y" * 5000],
    ],
)
def test_no_character_of_a_line_is_lost(lines: list[str]) -> None:
    found = [f"{line.sign} {''.join(text for text, _ in line.words)}".rstrip() for line in marked(lines)]

    assert sorted(found) == sorted(
        line if line[:1] in "-+" else f"  {line.removeprefix('  ')}" for line in lines
    )


def test_the_legend_of_vitest_is_no_difference() -> None:
    assert plain(difference=("- Expected", "+ Received", '-   "quota": 9,', '+   "quota": 7,')) == (
        '  - expected, + received\n  -   "quota": 9,\n               ^\n  +   "quota": 7,\n               ^\n'
    )

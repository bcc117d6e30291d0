"""What a mistyped word was probably meant to be."""

from __future__ import annotations

import pytest

from proctor.nearest import did_you_mean, nearest, or_known

KNOWN = ["run", "runs", "show", "discover", "Total"]


@pytest.mark.parametrize(
    "word, expected",
    [
        ("rnu", ["run"]),
        ("RUN", ["run"]),
        ("disc", ["discover"]),
        ("total", ["Total"]),
        ("totl", ["Total"]),
        ("s", []),
        ("", []),
        ("hsow", ["show"]),
        ("xyzzy", []),
    ],
)
def test_the_nearest_word(word: str, expected: list[str]) -> None:
    assert nearest(word, KNOWN) == expected


def test_several_words_best_first() -> None:
    assert nearest("run", KNOWN, 3) == ["run", "runs"]
    assert did_you_mean("cart", ["card", "care", "corn"], 3) == "; did you mean care or card?"


def test_a_word_like_no_other_gets_no_suggestion_or_all_of_them() -> None:
    assert did_you_mean("xyzzy", KNOWN) == ""
    assert or_known("xyzzy", ["a", "b"]) == "; known: a, b"
    assert or_known("shwo", KNOWN) == "; did you mean show?"


def test_of_very_many_words_only_the_first_are_compared() -> None:
    assert nearest("target", [*(f"x{number}" for number in range(10_000)), "target1"]) == []

"""The text of one failure, and whether something of it was left out."""

from __future__ import annotations

import pytest

from proctor import events as e
from proctor.render.failure_text import FailureText, TextLimits, failure_text


@pytest.mark.parametrize(
    "failure, left_out",
    [
        (e.Failure("E", "E: short"), False),
        (e.Failure("E", "E: short\nmore"), True),
        (e.Failure("E", "E: " + "x" * 300), True),
        (e.Failure("E", "E: " + "x" * 297), False),
        (e.Failure("E", "E: short", causes=(e.Failure("F", "F: why"),)), True),
    ],
)
def test_without_details_everything_below_the_first_line_is_left_out(
    failure: e.Failure, left_out: bool
) -> None:
    assert failure_text(failure, TextLimits(more=False)).left_out is left_out


@pytest.mark.parametrize(
    "message, left_out",
    [
        ("E: a\n" + "b\n" * 8, False),
        ("E: a\n" + "b\n" * 9, True),
        ("E: a\n" + "b" * 200, False),
        ("E: a\n" + "b" * 201, True),
        ("E: " + "x" * 297, False),
        ("E: " + "x" * 298, True),
    ],
)
def test_with_details_something_is_left_out_where_a_limit_is_exceeded(message: str, left_out: bool) -> None:
    assert failure_text(e.Failure("E", message), TextLimits()).left_out is left_out


def test_a_line_that_ends_with_a_colon_is_joined_with_the_next() -> None:
    assert failure_text(e.Failure("E", "E: several:\n  one"), TextLimits()) == FailureText("E: several: one")
    assert failure_text(e.Failure("E", "E: none:"), TextLimits()) == FailureText("E: none:")


def test_of_a_comparison_of_unittest_only_a_message_of_the_test_itself_is_kept() -> None:
    told = "AssertionError: Lists differ: [1] != [2]"
    last = "[1] != [2] : why"

    assert failure_text(e.Failure("AssertionError", f"{told}\na : b\n{last}"), TextLimits()).more == (last,)
    assert failure_text(e.Failure("AssertionError", f"{told}\n- 1\n+ 2"), TextLimits()).more == ()
    cut = "AssertionError: 'a[9 chars]b' != 'c'"
    assert failure_text(e.Failure("AssertionError", f"{cut}\n- 1\n+ 2"), TextLimits()).more == ("- 1", "+ 2")


def test_a_difference_whose_lines_have_signs_says_so_and_no_other_text_does() -> None:
    signed = e.Failure("", "assert 'a...' == 'b'", difference=("texts differ:", "- a"))

    assert failure_text(signed, TextLimits()).signed is True
    assert (
        failure_text(e.Failure("", "assert 'a...' == 'b'", difference=("- a",)), TextLimits()).signed is False
    )
    assert failure_text(e.Failure("E", "E: none:"), TextLimits()).signed is False

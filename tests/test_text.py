"""Text of others: one meaning of an escape, of a byte that is no text, of a first line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor import failure_row
from proctor.text import ESCAPES, first_line, literal, text_of, utf8, without_escapes

ANY = st.text(st.characters(codec=None))


@pytest.mark.parametrize(
    "text, plain",
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[2K\x1b[?25lgone", "gone"),
        ("\x1b[38:5:1mred", "red"),
        ("\x1b]8;;http://a\x07link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;a title without an end\nnext", "\nnext"),
        ("\x1bMup", "up"),
        ("a \x1b", "a \x1b"),
        ("[31m", "[31m"),
    ],
)
def test_escapes_are_taken_out(text: str, plain: str) -> None:
    assert without_escapes(text) == plain


def test_the_rows_of_failures_take_the_same_escapes_out() -> None:
    assert failure_row._ANSI == ESCAPES  # it runs elsewhere, and so has a copy


@pytest.mark.parametrize("text, written", [("a", "a"), ("ä", "ä"), ("\udc80\ud83d", "\\udc80\\ud83d")])
def test_a_lone_surrogate_is_written_as_literal_text(text: str, written: str) -> None:
    assert (literal(text), utf8(text)) == (written, written.encode())


@given(ANY)
def test_any_text_can_be_written_and_text_that_could_be_stays(text: str) -> None:
    assert text_of(utf8(text)) == literal(text)
    assert literal(literal(text)) == literal(text)


def test_a_byte_that_is_no_utf_8_is_written_as_literal_text() -> None:
    assert text_of(b"caf\xe9 \xc3\xa9") == "caf\\xe9 é"


@pytest.mark.parametrize(
    "text, length, line",
    [
        ("", None, ""),
        (" \n\t\n", None, ""),
        ("\n\n  a b \r\nc", None, "a b"),
        ("a\rb", None, "a"),
        ("a\u2028b", None, "a"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abc..."),
        ("  abc   \nd", 3, "abc"),
        ("x" * 1000, None, "x" * 1000),
    ],
)
def test_the_first_line_is_the_first_that_says_something(text: str, length: int | None, line: str) -> None:
    assert first_line(text, length) == line


@given(ANY)
def test_the_first_line_is_one_of_those_that_splitlines_finds(text: str) -> None:
    assert first_line(text) == next((line.strip() for line in text.splitlines() if line.strip()), "")

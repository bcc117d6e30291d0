"""A row of the failure index: three texts in one line and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.failure_row import (
    CLOSE,
    OPEN,
    Row,
    block,
    decode,
    encode,
    error,
    printable,
    truncation,
    unescaped,
)

# Any text, lone surrogates too; often one of the characters that matter.
TEXT = st.text(
    st.one_of(st.sampled_from("|\\# \n\r\tu[x\x1b\x00\x7f\x85\u2028\u2029\udc80\ud83d"), st.characters())
)
ROWS = st.builds(Row, TEXT, TEXT, TEXT)


@given(ROWS)
def test_a_row_survives_its_encoding(row: Row) -> None:
    assert decode(encode(row)) == row


@given(ROWS)
def test_a_row_is_one_line_that_any_stream_takes_and_no_sentinel(row: Row) -> None:
    line = encode(row)

    assert len(line.splitlines()) == 1
    assert line.isprintable() or not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in line)
    assert not line.startswith("#")
    line.encode()


@given(ROWS, st.sampled_from(["ascii", "latin-1", "cp1252", "utf-8"]))
def test_a_row_survives_a_narrow_encoding(row: Row, encoding: str) -> None:
    written = printable(encode(row), encoding).encode(encoding)

    assert decode(written.decode(encoding)) == row


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (Row("t.py::a", "assert 400 == 201", "t.py:42"), "t.py::a | assert 400 == 201 | t.py:42"),
        (Row("t.py::a[a|b]", "x", ""), r"t.py::a[a\|b] | x | "),
        (Row("a\\b", "tab\there", "c\nd.py:1"), r"a\\b | tab\there | c\nd.py:1"),
        (Row("#a", "#b", "#c"), r"\#a | #b | #c"),
        (Row("a", "\x1b[1m\x00\r\u2028\udc80", ""), r"a | \u001b[1m\u0000\r\u2028\udc80 | "),
    ],
)
def test_what_an_encoded_row_looks_like(row: Row, line: str) -> None:
    assert encode(row) == line
    assert decode(line) == row


@given(ROWS)
def test_a_test_copied_from_a_row_is_the_test(row: Row) -> None:
    assert unescaped(encode(row).split(" | ")[0]) == row.test


def test_a_test_that_is_no_copy_stays_what_it_is() -> None:
    assert unescaped(r"t.py::a[\d+]") == "t.py::a[\\d+]"
    assert unescaped("C:\\") == "C:\\"


def test_a_row_whose_end_somebody_has_stripped_is_still_read() -> None:
    assert decode("a | b |") == Row("a", "b", "")


@pytest.mark.parametrize(
    "line", ["", "a | b", "a | b | c | d", r"a\x | b | c", "a | b | c\\", r"a | \u00 | c"]
)
def test_what_is_no_row_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        decode(line)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("assert 400 == 201\n +  where 400 = f()", "assert 400 == 201"),
        ("\n\n  late\nmore", "late"),
        ("ValueError: \n\n  late\nmore", "ValueError: late"),
        ("app.errors.Wrong:\nreason:", "app.errors.Wrong: reason:"),
        ("ValueError: ", "ValueError"),
        ("ValueError:\n \n", "ValueError"),
        ("ValueError: note:\nmore", "ValueError: note:"),
        ("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07", "red link"),
        ("\x1b[0m\nsecond", "second"),
        ("a\rb\u2028c", "a\rb\u2028c"),
        ("", "no message"),
    ],
)
def test_an_error_is_the_first_line_that_says_something(message: str, shown: str) -> None:
    assert error(message) == shown


def test_an_error_is_cut_to_its_length_with_the_phase_and_the_dots_inside() -> None:
    assert error("x" * 200) == "x" * 200
    assert error("x" * 201) == "x" * 197 + "..."
    assert error("x" * 50, "setup", 20) == "[setup] " + "x" * 9 + "..."


@pytest.mark.parametrize("phase", ["setup", "teardown", "collect"])
def test_a_phase_is_named_where_it_matters(phase: str) -> None:
    assert error("E: x", phase) == f"[{phase}] E: x"
    assert error("E: x", "call") == error("E: x", "???") == "E: x"


def test_a_block_is_rows_between_sentinels_and_nothing_without_any() -> None:
    assert block([]) == ""
    assert block(["a", "b"]) == f"{OPEN}\na\nb\n{CLOSE}\n"
    assert block(["a"], 12).splitlines()[-2] == "## ...truncated, 12 more failures..."
    assert truncation("## ...truncated, 12 more failures...") == 12
    assert truncation("## ...truncated, x more failures...") is None

"""The failure index, read back from the output of a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pieces import pieces

from proctor.errors import StreamError
from proctor.events import CollectionFailed, Noticed, Place, TestFinished
from proctor.failure_row import Row, block, encode
from proctor.outcome import Outcome
from proctor.wire.reports.failures import FailuresReader, events

ROWS = [
    Row("tests/test_broken.py", "[collect] SyntaxError: invalid syntax", "tests/test_broken.py:3"),
    Row("tests/test_a.py::test_b[é|#]", "assert 400 == 201", "src/app.py:42"),
    Row("tests/test_a.py::test_b[é|#]", "[teardown] OSError: gone", "tests/conftest.py:9"),
    Row("tests/test_a.py::test_c", "[setup] ConnectionError: refused", ""),
]
TEXT = "===== 4 failed in 0.1s =====\n" + block(map(encode, ROWS), 7)


def read(text: str, size: int = 1 << 16) -> FailuresReader:
    reader = FailuresReader()
    for piece in pieces(text.encode(), size):
        reader.feed(piece)
    reader.close()
    return reader


@pytest.mark.parametrize("size", [1, 2, 3, 7, 4096])
def test_rows_do_not_depend_on_how_the_bytes_arrive(size: int) -> None:
    reader = read(TEXT, size)

    assert reader.rows == ROWS
    assert reader.more == 7


def test_lines_of_a_terminal_are_read_too() -> None:
    assert read(TEXT.replace("\n", "\r\n")).rows == ROWS


def test_a_text_without_a_block_has_no_rows() -> None:
    assert read("1 passed in 0.1s\n").rows == []
    assert read("").rows == []


@pytest.mark.parametrize(
    "fake", ["##[failures]\n", "##[failures]\nno row\n##[/failures]\n", block(["a | b | c"])]
)
def test_what_a_test_printed_before_does_not_count(fake: str) -> None:
    reader = read(fake + "x\n" * 3 + TEXT)

    assert reader.rows == ROWS


def test_the_last_sentinel_counts_even_within_what_looks_like_a_block() -> None:
    assert read("##[failures]\nfake | row | \n" + TEXT).rows == ROWS


def test_what_follows_the_block_is_not_read() -> None:
    assert read(TEXT + "later | more | text\n").rows == ROWS


def test_a_block_that_is_cut_off_is_an_error() -> None:
    with pytest.raises(StreamError, match=r"end at line 6 without ##\[/failures\]"):
        read(TEXT[: TEXT.index("## ...")])


def test_a_line_that_is_no_row_is_an_error_that_quotes_it() -> None:
    with pytest.raises(
        StreamError, match="line 3 is no row of failures: it has 1 fields, not 3; it is 'nothing'"
    ):
        read("x\n##[failures]\nnothing\n##[/failures]\n")


def test_an_endless_line_does_not_grow() -> None:
    reader = FailuresReader()
    for _ in range(64):
        reader.feed(b"x" * (1 << 17))

    assert len(reader._rest) <= (1 << 20) + (1 << 17) + 1
    reader.feed(b"\n" + TEXT.encode())
    assert reader.close() == ROWS


def test_rows_become_events() -> None:
    collected, both, setup, notice = events(ROWS, 7)

    assert isinstance(collected, CollectionFailed)
    assert (collected.file, collected.failure.message) == (
        "tests/test_broken.py",
        "SyntaxError: invalid syntax",
    )
    assert isinstance(both, TestFinished)
    assert (both.outcome, both.message) == (Outcome.FAILED, "assert 400 == 201\nOSError: gone")
    assert both.failure is not None and both.failure.place == Place("src/app.py", 42)
    assert [phase.when for phase in both.phases] == ["call", "teardown"]
    assert isinstance(setup, TestFinished)
    assert (setup.outcome, setup.failure and setup.failure.place) == (Outcome.ERROR, None)
    assert notice == Noticed("7 more failures are not in the list")


def test_the_same_test_twice_is_two_failures() -> None:
    twice = events([Row("a", "x"), Row("a", "x")])

    assert [event.test for event in twice if isinstance(event, TestFinished)] == ["a", "a#2"]


@given(st.lists(st.builds(Row, st.text(), st.text(min_size=1), st.text()), min_size=1, max_size=5), st.text())
def test_whatever_rows_were_printed_behind_whatever_text_are_found(rows: list[Row], before: str) -> None:
    text = before.encode("utf-8", "replace").decode() + "\n" + block(map(encode, rows))

    assert read(text, 5).rows == rows

"""Suites that overlap are written one after the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proctor.wire.stream.turns import Turns


def test_the_first_to_begin_is_written_as_it_comes_and_the_others_wait() -> None:
    turns: Turns[str] = Turns()

    assert turns.take(0, ["a"]) == ["a"]
    assert turns.take(1, ["x"]) == []
    assert turns.take(0, ["b"]) == ["b"]
    assert turns.take(1, ["y"], ended=True) == []
    assert turns.take(2, ["1"]) == []
    assert turns.take(0, ["c"], ended=True) == ["c", "x", "y", "1"]
    assert turns.take(2, ["2"]) == ["2"]


@given(st.lists(st.integers(0, 3)))
def test_nothing_is_lost_and_suites_are_not_mixed(order: list[int]) -> None:
    turns: Turns[int] = Turns()
    written = [item for suite in order for item in turns.take(suite, [suite])]
    for suite in dict.fromkeys(order):
        written += turns.take(suite, [], ended=True)

    assert written == [suite for suite in dict.fromkeys(order) for _ in range(order.count(suite))]

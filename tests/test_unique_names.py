"""The second `x` is `x#2`, in every place that needs names of its own."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.unique_names import UniqueNames, without_number

NAMES = st.lists(st.sampled_from(["a", "a#2", "a#3", "a#2#2", "b", "", "#2"]), max_size=30)


@pytest.mark.parametrize(
    "names, unique",
    [
        (["a", "b", "a", "a"], ["a", "b", "a#2", "a#3"]),
        (["a", "a#2", "a"], ["a", "a#2", "a#3"]),
        (["x", "x", "x#2"], ["x", "x#2", "x#2#2"]),
        (["", ""], ["", "#2"]),
    ],
)
def test_a_second_x_is_x_2_unless_that_is_taken(names: list[str], unique: list[str]) -> None:
    found = UniqueNames()

    assert [found.unique(name) for name in names] == unique
    assert len(found) == len(names)


@given(NAMES, st.integers(0, 30))
def test_names_are_unique_whether_they_come_one_by_one_or_together(names: list[str], cut: int) -> None:
    one_by_one, together, in_two = UniqueNames(), UniqueNames(), UniqueNames()
    unique = [one_by_one.unique(name) for name in names]

    assert len(set(unique)) == len(names)
    assert together.unique_all(names) == unique
    assert in_two.unique_all(names[:cut]) + in_two.unique_all(names[cut:]) == unique


def test_a_name_that_repeats_100_000_times_stays_short() -> None:
    names = UniqueNames()
    found = [names.unique("a") for _ in range(100_000)]

    assert (found[-1], max(map(len, found))) == ("a#100000", 8)


def test_names_that_look_like_ours_do_not_make_it_try_numbers_again() -> None:
    names = UniqueNames()
    for number in range(2, 10_002):
        names.unique(f"a#{number}")
    names.unique("a")
    asked = _Counted(names._last)
    names._last = asked
    for _ in range(1000):
        names.unique("a")

    assert asked.count < 10_000 + 5 * 1000


class _Counted(dict[str, int]):
    count = 0

    def __contains__(self, key: object) -> bool:
        self.count += 1
        return super().__contains__(key)


@pytest.mark.parametrize(
    "name, known, expected",
    [
        ("a#2", (), "a"),
        ("a#2#3", (), "a#2"),
        ("a#2", {"a#2"}, "a#2"),
        ("a#2", {"a"}, "a"),
        ("a#", (), "a#"),
        ("a#2\n", (), "a#2\n"),
        ("a\nb#2", (), "a\nb"),
    ],
)
def test_a_number_is_taken_off_again_unless_the_name_is_known(
    name: str, known: Collection[str], expected: str
) -> None:
    assert without_number(name, known) == expected

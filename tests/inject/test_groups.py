"""Which tests stay together in a worker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import proctor_pytest

groups = proctor_pytest._load("proctor_groups").groups


def item(nodeid: str, *marks: Any) -> Any:
    return SimpleNamespace(nodeid=nodeid, iter_markers=lambda name: iter(marks))


def mark(*args: Any, **kwargs: Any) -> Any:
    return SimpleNamespace(args=args, kwargs=kwargs)


def named(nodeids: list[str], workers: int) -> list[list[str]]:
    found = groups([item(nodeid) for nodeid in nodeids], workers)
    return [[nodeids[number] for number in group] for group in found]


def test_a_file_is_a_group_and_the_longest_comes_first() -> None:
    tests = ["a.py::x", "b.py::x", "b.py::y", "c.py::x[a::b]", "c.py::T::y", "a.py::z"]

    assert named(tests, 2) == [
        ["a.py::x", "a.py::z"],
        ["b.py::x", "b.py::y"],
        ["c.py::x[a::b]", "c.py::T::y"],
    ]


def test_a_file_above_a_fair_share_is_divided_by_class_and_then_by_test() -> None:
    small = ["a.py::T::x", "a.py::T::y", "a.py::U::x", "b.py::x"]
    assert named(small, 2) == [["a.py::T::x", "a.py::T::y"], ["a.py::U::x"], ["b.py::x"]]

    large = [f"a.py::T::x[{number}]" for number in range(16)]
    assert [len(group) for group in named(large, 2)] == [2] * 8
    assert [test for group in named(large, 2) for test in group] == large


def test_a_group_by_a_mark_is_never_divided_and_joins_files() -> None:
    items = [item(f"a.py::x[{number}]", mark("db")) for number in range(9)]
    items += [item("b.py::x", mark(name="db")), item("b.py::y"), item("c.py::z", mark())]

    assert groups(items, 4) == [list(range(10)), [10], [11]]


def test_several_marks_are_one_name_as_in_xdist() -> None:
    items = [
        item("a.py::x", mark("one"), mark("two")),
        item("b.py::y", mark("two"), mark("one")),
        item("c.py::z"),
    ]

    assert groups(items, 2) == [[0, 1], [2]]


def test_tests_of_one_name_stay_together() -> None:
    assert named(["a.py::x"] * 8, 2) == [["a.py::x"] * 8]


@pytest.mark.parametrize(
    "items",
    [[], [item("a.py::x")], [item("a.py::x", mark("db")), item("b.py::y", mark("db"))]],
    ids=["no tests", "one test", "one group"],
)
def test_there_is_nothing_to_divide(items: list[Any]) -> None:
    assert groups(items, 2) is None

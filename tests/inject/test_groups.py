"""Which tests stay together in a worker."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import proctor_pytest

groups = proctor_pytest._load("proctor_groups").groups
Order = proctor_pytest._load("proctor_order").Order


def item(nodeid: str, *marks: Any) -> Any:
    return SimpleNamespace(nodeid=nodeid, iter_markers=lambda name: iter(marks))


def mark(*args: Any, **kwargs: Any) -> Any:
    return SimpleNamespace(args=args, kwargs=kwargs)


def order(path: Path, base: str = "/p", here: str = "/p", **facts: Any) -> Any:
    (path / "order.json").write_text(json.dumps(facts))
    return Order(str(path / "order.json"), base, here)


def named(nodeids: list[str], workers: int, by: Any = None, **more: Any) -> list[list[str]]:
    found = groups([item(nodeid) for nodeid in nodeids], workers, by, **more)
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


def test_the_file_that_takes_longest_comes_first(tmp_path: Path) -> None:
    tests = ["a.py::x", "a.py::y", "a.py::z", "b.py::x", "c.py::x"]
    by = order(tmp_path, seconds={"b.py::x": 3.0, "c.py::x": 1.0}, usual=0.002)

    assert named(tests, 2, by) == [["b.py::x"], ["c.py::x"], tests[:3]]


def test_a_file_is_divided_by_what_its_tests_take(tmp_path: Path) -> None:
    tests = ["a.py::T::x", "a.py::U::x", "a.py::U::y", "a.py::U::z", "b.py::x"]
    seconds = {"a.py::T::x": 1.0, "a.py::U::x": 2.0, "a.py::U::y": 0.1, "a.py::U::z": 0.1, "b.py::x": 0.3}

    divided = named(tests, 2, order(tmp_path, seconds=seconds))
    assert divided == [["a.py::U::x"], ["a.py::T::x"], ["b.py::x"], ["a.py::U::y", "a.py::U::z"]]
    short = dict.fromkeys(tests, 0.001)
    assert named(tests, 2, order(tmp_path, seconds=short)) == [tests[:4], tests[4:]]


def test_a_test_without_a_time_takes_the_usual_one(tmp_path: Path) -> None:
    tests = ["a.py::x", "a.py::y", "b.py::x"]

    assert named(tests, 2, order(tmp_path, seconds={"b.py::x": 1.0}, usual=2.0))[-1] == ["b.py::x"]


def test_groups_with_a_test_that_failed_last_come_first(tmp_path: Path) -> None:
    tests = ["a.py::x", "a.py::y", "b.py::x", "c.py::x"]

    by = order(tmp_path, failed=["c.py", "b.py::gone"])
    assert named(tests, 2, by) == [["c.py::x"], ["a.py::x", "a.py::y"], ["b.py::x"]]
    elsewhere = order(tmp_path, "/p", "/p/sub", failed=["../b.py::x"])
    assert named(tests, 2, elsewhere)[0] == ["b.py::x"]


def test_each_test_alone_is_ordered_as_well(tmp_path: Path) -> None:
    by = order(tmp_path, failed=["a.py::y"], seconds={"b.py::x": 1.0})

    assert named(["a.py::x", "a.py::y", "b.py::x"], 2, by, one_each=True) == [
        ["a.py::y"],
        ["b.py::x"],
        ["a.py::x"],
    ]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("TU")), min_size=2, max_size=40), st.data())
def test_every_test_is_in_one_group_and_equal_times_are_no_times(
    tests: list[tuple[str, str]], data: st.DataObject
) -> None:
    nodeids = [f"{file}.py::{owner}::x{number}" for number, (file, owner) in enumerate(tests)]
    workers = data.draw(st.integers(1, 5))

    class Equal:
        seconds, failed = {"some": 1.0}, frozenset[str]()
        sorted = Order.sorted

        def weights(self, names: list[str]) -> list[float]:
            return [1.0] * len(names)

    plain = named(nodeids, workers)
    assert sorted(test for group in plain for test in group) == sorted(nodeids)
    assert named(nodeids, workers, Equal()) == plain

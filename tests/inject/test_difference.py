"""Where two values differ: short, true, and safe against whatever the values are."""

from __future__ import annotations

import ast
import collections
import dataclasses
import enum
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.projects import GUARD, environment

import proctor

SOURCE = Path(proctor.__file__).parent / "inject" / "proctor_difference.py"
spec = importlib.util.spec_from_file_location("_difference_under_test", SOURCE)
assert spec and spec.loader
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


def difference(left: Any, right: Any) -> list[str]:
    """The lines that are shown."""
    lines: list[str] = module.difference(left, right)[0]
    return lines


def whole(left: Any, right: Any) -> str:
    """All of it, if the lines are only a part."""
    text: str = module.difference(left, right)[1]
    return text


@dataclasses.dataclass
class User:
    name: str
    roles: list[int]
    cache: int = dataclasses.field(default=0, compare=False)


class Plain:
    def __init__(self, x: object) -> None:
        self.x = x


class Hostile(Plain):
    """Compares, and must not be asked for anything else."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: Any) -> bool:
        return self.x == other.x

    def __repr__(self) -> str:
        raise AssertionError("nobody may ask")


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x: object) -> None:
        self.x = x

    def __eq__(self, other: Any) -> bool:
        return self.x == other.x

    __hash__ = None  # type: ignore[assignment]


class Liar(list[int]):
    def __eq__(self, other: Any) -> bool:
        return False

    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1

    __hash__ = None


Point = collections.namedtuple("Point", "x y")
Color = enum.Enum("Color", "RED GREEN")

CASES = [
    (1, 2, ["1 != 2"]),
    (1, "1", ["1 != '1'"]),
    ([1, 2, 3], [1, 5, 3], ["at [1]: 2 != 5"]),
    ([1], [1, 2, 3], ["at [1]: only on the right: 2, 3"]),
    ({"a": {"b": 1}}, {"a": {"b": 2}}, ["at ['a']['b']: 1 != 2"]),
    ({"a": 1}, {"b": 1}, ["at ['a']: only on the left: 1", "at ['b']: only on the right: 1"]),
    ({1, 2}, {2, 3}, ["only on the left: 1; only on the right: 3"]),
    ("x" * 90 + "a", "x" * 90 + "b", ["at character 90:", "- xxxxxxxxxxb", "+ xxxxxxxxxxa"]),
    ("a\nb\nc", "a\nB\nc", ["at line 2:", "- B", "+ b"]),
    ("one\ntwo\nthree", "one\nthree", ["at line 2:", "+ two"]),
    ("a\nb \nc", "a\nb\nc", ["at line 2:", "- 'b'", "+ 'b '"]),
    (b"0123456789abc", b"0123456789abd", ["at byte 12: b'23456789abc' != b'23456789abd'"]),
    (User("ann", [1, 2], 1), User("ann", [1, 3], 2), ["at .roles[1]: 2 != 3"]),
    (Point(1, 2), Point(1, 3), ["at .y: 2 != 3"]),
    ({"c": Color.RED}, {"c": Color.GREEN}, ["at ['c']: <Color.RED: 1> != <Color.GREEN: 2>"]),
    ([Decimal("1.0")], [Decimal("1.1")], ["at [0]: Decimal('1.0') != Decimal('1.1')"]),
    ([Plain(1)], [Plain(1)], ["at [0]: Plain has no __eq__: two objects, compared by identity"]),
    ([Slotted(1)], [Slotted(2)], ["at [0].x: 1 != 2"]),
    ([Hostile(1), Hostile(2)], [Hostile(1), Hostile(3)], ["at [1].x: 2 != 3"]),
    ({"body": "a\nb"}, {"body": "a\nc"}, ["at ['body'] line 2:", "- c", "+ b"]),
]


@pytest.mark.parametrize(("left", "right", "lines"), CASES, ids=range(len(CASES)))
def test_the_place_and_the_values_are_told(left: Any, right: Any, lines: list[str]) -> None:
    assert difference(left, right) == lines


def test_the_number_of_lines_that_differ_is_the_real_one_and_all_of_them_can_be_had() -> None:
    left, right = ("".join(f"item-{n};{n}{comma}50\n" for n in range(2500)) for comma in ",.")

    assert difference(left, right)[0] == "at line 1, 2,500 lines differ:"
    assert len(difference(left, right)) == 1 + module.MOST_LINES
    assert whole(left, right).count("\n") == 5000
    assert whole(left, right).endswith("- item-2499;2499.50\n+ item-2499;2499,50")


def test_a_line_that_moved_everything_below_it_is_one_line() -> None:
    lines = [f"line {n}" for n in range(600)]

    assert difference("\n".join(lines), "\n".join(["new", *lines])) == ["at line 1:", "- new"]


@pytest.mark.parametrize(
    ("left", "right", "lines"),
    [
        ("a\nb", "a\nb\n", ["at line 2:", "only the right ends with a newline"]),
        ("a\nb\n", "a\nc", ["at line 2:", "- c", "+ b", "only the left ends with a newline"]),
        ("a\n", "a", ["at line 1:", "only the left ends with a newline"]),
    ],
)
def test_a_missing_newline_at_the_end_is_said_in_words(left: str, right: str, lines: list[str]) -> None:
    assert difference(left, right) == lines


def test_all_of_a_difference_is_kept_only_if_the_lines_are_a_part_of_it() -> None:
    assert whole([1, 2], [1, 3]) == ""
    assert whole("a\nb", "a\nc") == ""
    assert whole(list(range(100)), list(range(1, 101))).splitlines()[-1] == "at [99]: 99 != 100"


def test_all_of_a_difference_is_at_most_a_megabyte() -> None:
    left, right = ("\n".join([letter * 190] * 20_000) for letter in "ab")

    text = whole(left, right)

    assert len(text) < module.MOST_WHOLE + 1000
    assert text.endswith("... more than this is not looked at")


def test_equal_values_have_no_difference() -> None:
    for value in (1, "a", [1, {2: (3,)}], {1, 2}, User("ann", [])):
        assert difference(value, value) == []
    assert difference([1, {2: 3}], [1, {2: 3}]) == []


def test_many_differences_are_counted() -> None:
    assert difference(list(range(100)), list(range(1, 101)))[-1] == "95 more differences"


def test_a_huge_value_takes_bounded_work() -> None:
    left = [list(range(1000)) for _ in range(1000)]
    right = [list(range(1, 1001)) for _ in range(1000)]

    lines = difference(left, right)

    assert len(lines) == 6
    assert lines[-1].endswith("+ more differences")


def test_a_value_that_contains_itself_ends() -> None:
    left: list[Any] = [1]
    right: list[Any] = [1]
    left.append(left)
    right.append(right)

    assert difference(left, right) == []


def test_nothing_of_a_class_is_run_that_the_comparison_did_not_run() -> None:
    asked: list[object] = []

    class Watched(Plain):
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: Any) -> bool:
            asked.append(self.x)
            return self.x == other.x

    difference([Watched(1), 5, Watched(2)], [Watched(1), 6, Watched(3)])

    assert asked == [1]


def test_a_list_that_lies_is_not_believed() -> None:
    assert isinstance(difference(Liar([1]), Liar([1])), list)


def test_lines_are_short() -> None:
    lines = difference({"k": "a" * 10_000 + "x"}, {"k": "a" * 10_000 + "y" + "z" * 5000})

    assert max(map(len, lines)) <= module.LONGEST + 2


TABLES = """
import sys
import numpy, pandas
sys.path.insert(0, sys.argv[1])
import proctor_difference

def difference(left, right):
    return proctor_difference.difference(left, right)[0]

array = numpy.array
print(difference({"x": array([1, 2, 3])}, {"x": array([1, 5, 3])}))
print(difference([array([1, 2])], [array([1, 2, 3])]))
print(difference([array([1.0, float("nan")])], [array([1.0, float("nan")])]))
print(difference([numpy.int64(1)], [numpy.int64(2)]))
left = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
print(difference([left], [left.assign(a=[1, 3])]))
print(difference([left], [left.assign(b=["x", "z"])]))
print(difference([left], [left.rename(columns={"b": "c"})]))
"""


def test_arrays_and_tables_are_compared_by_element() -> None:
    python = environment(sys.executable, ["numpy", "pandas"])
    command = [python, "-c", TABLES, str(SOURCE.parent)]

    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=GUARD).stdout

    assert [ast.literal_eval(line) for line in said.splitlines()] == [
        ["at ['x'][1]: 2 != 5 (1 of 3 elements differ)"],
        ["at [0]: shape (2,) != (3,)"],
        [],
        ["at [0]: np.int64(1) != np.int64(2)"],
        ["at [0]['a'][1]: 2 != 3 (1 of 2 elements differ)"],
        ["at [0]['b'][1]: 'y' != 'z'"],
        ["at [0].columns[1]: 'b' != 'c'"],
    ]

"""Tests as a tree: each branch once, each test with its line and markers."""

from __future__ import annotations

import pytest

from proctor.render.discovery_tree import discovery_tree, split_id
from proctor.wire.document.discovery import Discovered


@pytest.mark.parametrize(
    "node_id, parts",
    [
        ("a.py::T::f[x::y]", ("a.py", "T", "f", "[x::y]")),
        ("a.py::f", ("a.py", "f")),
        ("program", ("program",)),
        ("a.py::f[[]", ("a.py", "f", "[[]")),
    ],
)
def test_an_id_is_split_before_its_parameters(node_id: str, parts: tuple[str, ...]) -> None:
    assert split_id(node_id) == parts


def test_branches_are_drawn_once_and_again_after_another_file() -> None:
    tests = [
        Discovered("a.py::T::f[1]", 3, ("slow", "odd\x07")),
        Discovered("a.py::T::f[2]", 3, ()),
        Discovered("a.py::T::g", None, ("slow",)),
        Discovered("a.py::f", 0, ()),
        Discovered("a.py::f::inner", 9, ()),
        Discovered("b.py::T::f[1]", 1, ()),
        Discovered("a.py::T::h", 5, ()),
        Discovered("program", None, ()),
    ]

    assert discovery_tree(tests) == (
        "a.py\n"
        "  T\n"
        "    f\n"
        "      [1] :3 @slow @odd\\x07\n"
        "      [2] :3\n"
        "    g @slow\n"
        "  f\n"
        "    inner :9\n"
        "b.py\n"
        "  T\n"
        "    f\n"
        "      [1] :1\n"
        "a.py\n"
        "  T\n"
        "    h :5\n"
        "program\n"
    )


def test_no_tests_are_no_text() -> None:
    assert discovery_tree([]) == ""

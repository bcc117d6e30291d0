"""Entries of a quarantine: what they match, and what is said about those that match nothing."""

from __future__ import annotations

import pytest

from proctor.quarantine import Quarantine
from proctor.spec import Quarantined


def quarantine(*tests: str) -> Quarantine:
    return Quarantine(Quarantined(test) for test in tests)


@pytest.mark.parametrize(
    "entry, matching, others",
    [
        ("t.py::test_a", ["t.py::test_a"], ["t.py::test_ab", "x/t.py::test_a", "t.py::test_a[1]"]),
        ("t.py::test_a[1]", ["t.py::test_a[1]"], ["t.py::test_a1"]),
        ("t.py::test_a[*]", ["t.py::test_a[1]", "t.py::test_a[a b]", "t.py::test_a[]"], ["t.py::test_a"]),
        ("t.py::*", ["t.py::a", "t.py::C::b", "t.py::a[x\ny]", "t.py::ü"], ["t.py", "u.py::a"]),
        ("*::test_?", ["t.py::test_a", "a/b/t.py::test_ü"], ["t.py::test_ab", "t.py::test_"]),
        ("t.py::a[[!x]*", ["t.py::a[[!x]]", "t.py::a[[!x]"], ["t.py::a[y", "t.py::ay"]),
        ("t.py::test_a[a*b?]", ["t.py::test_a[a*b?]", "t.py::test_a[abc]"], ["t.py::test_a[ab]"]),
        (r"t.py::a\*", [r"t.py::a\b"], ["t.py::a*"]),
        ("T.py::a", ["T.py::a"], ["t.py::a"]),
        ("t.py::a.b+$", ["t.py::a.b+$"], ["t.py::a-bb"]),
        ("**", ["", "a"], []),
    ],
)
def test_an_entry_is_an_id_or_a_pattern_in_which_only_stars_and_question_marks_are_special(
    entry: str, matching: list[str], others: list[str]
) -> None:
    assert list(quarantine(entry).matching([*matching, *others])) == matching


def test_a_pattern_with_many_stars_does_not_take_for_ever() -> None:
    found = quarantine("*a" * 50 + "*b").matching(["a" * 5000, "a" * 5000 + "b"])

    assert list(found) == ["a" * 5000 + "b"]


def test_a_test_has_the_first_reason_that_is_given_for_it() -> None:
    entries = Quarantined("t::*", "all of t"), Quarantined("t::a", "a"), Quarantined("t::b"), Quarantined("u")

    assert Quarantine(entries).matching(["t::c", "t::b", "t::a", "u", "v"]) == {
        "t::a": "a",
        "t::b": "all of t",
        "t::c": "all of t",
        "u": "",
    }


def test_an_entry_that_matches_no_test_of_all_is_named() -> None:
    one = quarantine("t.py::gone", "t.py::a", "*.py::a", "x*", "t.py::gone")
    one.matching(["t.py::b"])
    one.matching(["t.py::a"])

    assert one.unmatched(everything=True) == [
        "quarantine: 't.py::gone' matches no test",
        "quarantine: 'x*' matches no test",
    ]
    assert one.unmatched(everything=False) == []
    assert quarantine().unmatched(everything=True) == []

"""Patterns for tests: `*` and `?` are special, everything else is literal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import proctor_pytest
from proctor.quarantine import Quarantine
from proctor.spec import Quarantined

PATTERNS = proctor_pytest._load("proctor_only").Patterns


@pytest.mark.parametrize(
    "pattern, test, matches",
    [
        ("a.py::test_a", "a.py::test_a", True),
        ("a.py::test_a", "a.py::test_ab", False),
        ("a.py", "a.py::test_a", False),
        ("a.py::*", "a.py::test_a[x/y::z\nw]", True),
        ("*::test_?", "deep/a.py::test_a", True),
        ("*::test_?", "deep/a.py::test_", False),
        ("a.py::test[a-c]", "a.py::test[a-c]", True),
        ("a.py::test[a-c]", "a.py::testb", False),
        ("a.py::test[*]", "a.py::test[a b]", True),
        ("a.py::test[*]", "a.py::testx", False),
        ("a.py::test[a*b?]", "a.py::test[a*b?]", True),
        ("(.+)|x\\", "(.+)|x\\", True),
        ("*", "", True),
        ("", "", True),
        ("ü*", "üx", True),
        ("a\\udc80", "a\udc80", True),
        ("A.py::*", "a.py::x", False),
    ],
)
def test_a_pattern(pattern: str, test: str, matches: bool) -> None:
    assert PATTERNS([pattern]).match(test) is matches
    assert PATTERNS(["other*", "another", pattern]).match(test) is matches


def test_no_pattern_matches_nothing() -> None:
    assert not PATTERNS([]).match("")


@given(st.text("ab*?[\\\n", max_size=8), st.text("ab*?[\\\n", max_size=10))
def test_both_sides_of_the_channel_match_alike(pattern: str, test: str) -> None:
    entries = Quarantine([Quarantined(pattern), Quarantined("other*")])

    assert PATTERNS([pattern, "other*"]).match(test) is (test in entries.matching([test]))


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    assert not PATTERNS(["*a" * 30 + "*b"]).match("a" * 5000)

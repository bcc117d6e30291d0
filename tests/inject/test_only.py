"""Patterns for tests: `*` and `?` are special, everything else is literal."""

from __future__ import annotations

import pytest

import proctor_pytest

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

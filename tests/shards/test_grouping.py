"""Which tests stay together: those of a file, and of files that a mark joins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_runs import run_of

from proctor import events as e
from proctor.errors import UsageError
from proctor.fold import begin, fold
from proctor.result import RunResult
from proctor.shards.grouping import groups


def _found(tests: list[str], marks: dict[str, str] | None = None) -> RunResult:
    return run_of(e.TestsSelected(tuple(tests), groups=marks or {}))


def _made(found: RunResult) -> dict[str, list[str]]:
    return {group.name: group.tests for group in groups(found)}


def test_the_tests_of_a_file_are_a_group() -> None:
    found = _found(["a.py::x", "b.py::y", "a.py::T::z[a::b]"])

    assert _made(found) == {"a.py": ["a.py::x", "a.py::T::z[a::b]"], "b.py": ["b.py::y"]}


def test_files_with_tests_of_one_mark_are_a_group_also_by_way_of_others() -> None:
    tests = ["d.py::1", "c.py::1", "c.py::2", "b.py::1", "b.py::2", "a.py::1", "z.py::1"]
    marks = {"d.py::1": "db", "c.py::1": "db", "c.py::2": "net", "b.py::2": "net", "z.py::1": "alone"}

    made = _made(_found(tests, marks))

    assert made == {
        "b.py": ["d.py::1", "c.py::1", "c.py::2", "b.py::1", "b.py::2"],
        "a.py": ["a.py::1"],
        "z.py": ["z.py::1"],
    }


def test_a_mark_that_is_called_like_a_file_joins_nothing_else() -> None:
    made = _made(_found(["a.py::1", "b.py::1"], {"b.py::1": "a.py"}))

    assert sorted(made) == ["a.py", "b.py"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_whatever_is_marked_each_test_is_in_one_group_and_no_mark_in_two(
    pairs: list[tuple[int, int]],
) -> None:
    marks = {f"{file}.py::{at}": f"m{mark}" for at, (file, mark) in enumerate(pairs)}
    made = _made(_found([*marks], marks))

    assert sorted(test for tests in made.values() for test in tests) == sorted(marks)
    for kind in (lambda test: test.partition("::")[0], marks.__getitem__):
        owners: dict[str, set[str]] = {}
        for name, tests in made.items():
            for test in tests:
                owners.setdefault(kind(test), set()).add(name)
        assert all(len(found) == 1 for found in owners.values())
    # No group is larger than it has to be: its files are joined by marks.
    assert all(name in {test.partition("::")[0] for test in tests} for name, tests in made.items())


def test_a_test_that_is_there_twice_is_in_its_group_twice() -> None:
    assert _made(_found(["a.py::x", "a.py::x", "a.py::y"])) == {"a.py": ["a.py::x", "a.py::x", "a.py::y"]}


def test_tests_of_another_runner_are_grouped_by_the_file_they_are_in_if_that_is_known() -> None:
    result = begin(e.RunStarted("id", "go", (), "/project", "", "2026-01-01T12:00:00Z"))
    selected = e.TestsSelected(("x/y::TestA", "x/y::TestB"), places={"x/y::TestA": e.Place("y/a_test.go", 3)})
    fold(result, e.Entry(0, 0.0, 0, selected))

    assert _made(result) == {"y/a_test.go": ["x/y::TestA"], "x/y::TestB": ["x/y::TestB"]}


def test_two_suites_with_a_test_of_one_name_cannot_be_planned_together() -> None:
    result = begin(e.RunStarted("id", "node", (), "/project", "", "2026-01-01T12:00:00Z"))
    for number, (name, test) in enumerate([("node", "a.js::x"), ("jest", "a.js::x#2")]):
        fold(result, e.Entry(number, 0.0, number, e.SuiteEntered(name, name, (), "/project")))
        fold(result, e.Entry(number, 0.0, number, e.TestsSelected((test,))))

    with pytest.raises(UsageError, match=r"node and jest both have a test a\.js::x: plan one of them"):
        groups(result)

"""The failure index of any result, whoever ran the tests."""

from __future__ import annotations

from typing import Any

from support.made_runs import run_of

from proctor import events as e
from proctor.outcome import Outcome
from proctor.render.result_index import failure_index
from proctor.result import RunResult


def failed(test: str, *phases: e.Phase, outcome: Outcome = Outcome.FAILED, **more: Any) -> e.TestFinished:
    return e.TestFinished(test, outcome, phases=phases, **more)


def phase(when: str, message: str, file: str = "", subtest: str | None = None, kind: str = "E") -> e.Phase:
    place = e.Place(file, 7) if file else None
    return e.Phase(when, "failed", subtest=subtest, failure=e.Failure(kind, message, place))


def rows(result: RunResult, most: int = 5000) -> list[str]:
    return failure_index(result, most).splitlines()[1:-1]


def test_nothing_failed_nothing_is_said() -> None:
    assert failure_index(run_of(e.TestFinished("a", Outcome.PASSED))) == ""


def test_collection_errors_come_first_and_once_then_tests_as_they_were_collected() -> None:
    error = e.CollectionFailed("test_c.py", e.Failure("E", "E: no", e.Place("test_c.py", 3)))
    result = run_of(
        e.TestsSelected(("a", "b", "c")),
        failed("c", phase("call", "third")),
        failed("a", phase("call", "first")),
        error,
        error,
    )

    assert rows(result) == [
        "test_c.py | [collect] E: no | test_c.py:3",
        "a | first | ",
        "c | third | ",
    ]


def test_each_phase_that_failed_has_a_row_and_a_passed_one_has_none() -> None:
    call, teardown = phase("call", "x", "t.py"), phase("teardown", "y", "u.py")
    result = run_of(failed("a", e.Phase("setup", "passed"), call, teardown))

    assert rows(result) == ["a | x | t.py:7", "a | [teardown] y | u.py:7"]


def test_subtests_stand_for_their_test_unless_it_failed_by_itself() -> None:
    parts = phase("call", "one", "t.py", "[x] (i=1)"), phase("call", "two", "t.py", "[x] (i=2)")
    for_them, by_itself = phase("call", "contains 2 failed subtests", kind=""), phase("call", "own", "t.py")

    assert rows(run_of(failed("a", *parts, for_them))) == [
        "a [x] (i=1) | one | t.py:7",
        "a [x] (i=2) | two | t.py:7",
    ]
    assert rows(run_of(failed("a", parts[0], by_itself)))[1] == "a | own | t.py:7"


def test_a_crash_a_program_and_a_part_of_it_have_their_rows() -> None:
    where = e.Place("test_a.py", 12)
    result = run_of(
        failed("/programs/a", outcome=Outcome.CRASH, message="SIGSEGV", failure=e.Failure("", "SIGSEGV")),
        failed("/programs/a/part", message=None, part_of="/programs/a"),
        failed("test_a.py::a", outcome=Outcome.TIMEOUT, message="time limit reached", place=where),
    )

    assert rows(result) == [
        "/programs/a | SIGSEGV | ",
        "/programs/a/part | failed | ",
        "test_a.py::a | time limit reached | test_a.py:12",
    ]


def test_a_part_stands_where_its_test_does() -> None:
    result = run_of(
        e.TestsSelected(("a", "b")),
        failed("b", phase("call", "x")),
        failed("a/part", part_of="a", message="y"),
    )

    assert [row.partition(" ")[0] for row in rows(result)] == ["a/part", "b"]


def test_names_start_where_the_run_was_started() -> None:
    result = run_of(
        e.SuiteDescribed("/p"),
        failed("tests/test_a.py::a[x/../y]", phase("call", "x"), place=e.Place("tests/test_a.py", 3)),
        cwd="/p/tests",
    )

    assert rows(result) == ["test_a.py::a[x/../y] | x | test_a.py:3"]


def test_what_is_beyond_the_limit_is_counted() -> None:
    result = run_of(*(failed(f"t{number}", phase("call", "x")) for number in range(12)))

    assert rows(result, 2) == ["t0 | x | ", "t1 | x | ", "## ...truncated, 10 more failures..."]

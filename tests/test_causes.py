"""Failures by what is behind them: arranged, never lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.made_runs import failed, passed, run_of

from proctor import events as e
from proctor.causes import Occurrence, causes, shape
from proctor.outcome import Outcome


def grouped(*facts: e.Event) -> list[list[str]]:
    return [cause.tests for cause in causes(run_of(*facts))]


def test_one_broken_fixture_is_one_cause_and_its_name_is_known() -> None:
    broken = [
        failed(f"t.py::test_{n}", "OSError: no disk", ("conftest.py", 9), when="setup", fixture="disk")
        for n in range(5)
    ]

    (cause,) = causes(run_of(*broken, *passed("t.py::test_fine")))

    assert len(cause.occurrences) == 5
    assert cause.first.failure.fixture == "disk"


def test_the_same_line_with_other_values_is_the_same_cause() -> None:
    a = failed("t.py::test_a", "KeyError: 'x-17'", ("shop.py", 4))
    b = failed("t.py::test_b", "KeyError: 'y-2'", ("shop.py", 4))

    assert grouped(a, b) == [["t.py::test_a", "t.py::test_b"]]


def test_another_line_another_type_another_phase_are_other_causes() -> None:
    assert (
        len(
            grouped(
                failed("t.py::test_a", "KeyError: 'x'", ("shop.py", 4)),
                failed("t.py::test_b", "KeyError: 'y'", ("shop.py", 5)),
                failed("t.py::test_c", "IndexError: 'x'", ("shop.py", 4)),
                failed("t.py::test_d", "KeyError: 'x'", ("shop.py", 4), when="teardown"),
            )
        )
        == 4
    )


def test_a_changed_function_is_one_cause_though_each_caller_fails_on_its_own_line() -> None:
    message = "TypeError: price() missing 1 required argument: 'currency'"
    callers = [failed(f"t.py::test_{n}", message, ("t.py", n)) for n in (3, 8, 21)]

    assert grouped(*callers) == [["t.py::test_3", "t.py::test_8", "t.py::test_21"]]


def test_equal_assertions_at_different_lines_have_nothing_to_do_with_each_other() -> None:
    assert len(grouped(*(failed(f"t.py::test_{n}", "assert False", ("t.py", n)) for n in (3, 8)))) == 2


def test_one_import_error_in_many_files_is_one_cause() -> None:
    errors = [
        e.CollectionFailed(
            f"test_{n}.py", e.Failure("ImportError", "ImportError: no x", e.Place(f"t{n}.py", n))
        )
        for n in (1, 2, 3)
    ]

    assert grouped(*errors) == [["test_1.py", "test_2.py", "test_3.py"]]


def test_a_test_whose_call_and_teardown_fail_occurs_twice() -> None:
    call, teardown = (e.Failure("E", f"E: {when}", None) for when in ("call", "teardown"))
    phases = (e.Phase("call", "failed", failure=call), e.Phase("teardown", "failed", failure=teardown))
    both = e.TestFinished("t.py::test_a", Outcome.FAILED, phases=phases)

    assert [cause.first.when for cause in causes(run_of(both))] == ["call", "teardown"]


def test_the_harness_comes_first() -> None:
    crash = e.TestFinished("t.py::test_z", Outcome.CRASH, failure=e.Failure("", "SIGSEGV"))
    error = e.CollectionFailed("test_b.py", e.Failure("E", "E: x"))

    found = grouped(failed("t.py::test_a", "E: y"), error, crash)

    assert found == [["t.py::test_z"], ["test_b.py"], ["t.py::test_a"]]


WHY = e.Failure("E", "E: x")


@pytest.mark.parametrize(
    "fact, occurrence",
    [
        (e.TestFinished("a", Outcome.CRASH, failure=WHY), Occurrence("a", "crash", WHY)),
        (
            e.TestFinished("a", Outcome.TIMEOUT, message="late"),
            Occurrence("a", "timeout", e.Failure("", "late")),
        ),
        (e.TestFinished("a", Outcome.CRASH), Occurrence("a", "crash", e.Failure())),
        (e.CollectionFailed("a.py", WHY), Occurrence("a.py", "collect", WHY)),
        (e.TestFinished("a", Outcome.FAILED, failure=WHY), Occurrence("a", "call", WHY)),
        (e.TestFinished("a", Outcome.FAILED, message="no"), Occurrence("a", "call", e.Failure("", "no"))),
        (e.TestFinished("a", Outcome.FAILED), Occurrence("a", "call", e.Failure())),
    ],
)
def test_what_says_little_is_told_as_it_is(
    fact: e.CollectionFailed | e.TestFinished, occurrence: Occurrence
) -> None:
    (cause,) = causes(run_of(fact))

    test = fact if isinstance(fact, e.TestFinished) else None
    assert cause.occurrences == (replace(occurrence, finished=test),)


@pytest.mark.parametrize(
    "longrepr, of_the_test, told",
    [
        ("Traceback", WHY, e.Failure("", "Traceback")),
        ("Traceback", None, e.Failure("", "Traceback")),
        ("", WHY, WHY),
        ("", None, e.Failure()),
    ],
)
def test_a_phase_without_a_failure_is_told_by_its_text_or_its_test(
    longrepr: str, of_the_test: e.Failure | None, told: e.Failure
) -> None:
    phase = e.Phase("call", "failed", longrepr=longrepr)
    test = e.TestFinished("a", Outcome.FAILED, failure=of_the_test, phases=(phase,))

    assert causes(run_of(test))[0].first == Occurrence("a", "call", told, "", longrepr, test)


@pytest.mark.parametrize(
    "own_failure, told",
    [
        (None, ["[n=1]"]),
        (e.Failure("Failed", "contains 1 failed subtest"), ["[n=1]"]),
        (e.Failure("Failed", "contains 12 failed subtests"), ["[n=1]"]),
        (e.Failure("ValueError", "ValueError: too late"), ["[n=1]", ""]),
        (e.Failure("ValueError", "it contains 1 failed subtest"), ["[n=1]", ""]),
    ],
)
def test_failed_subtests_speak_for_a_test_that_only_counts_them(
    own_failure: e.Failure | None, told: list[str]
) -> None:
    subtest = e.Phase("call", "failed", subtest="[n=1]", failure=WHY)
    silent = e.Phase("call", "failed", subtest="[n=2]")
    own = e.Phase("call", "failed", failure=own_failure)
    test = e.TestFinished("a", Outcome.FAILED, phases=(subtest, silent, own))

    found = [o.subtest for cause in causes(run_of(test)) for o in cause.occurrences]

    assert sorted(found) == sorted([*told, "[n=2]"])


def test_causes_are_in_the_order_in_which_tests_were_selected_and_parts_are_with_their_tests() -> None:
    ends = [failed(test, f"E{n}: x") for n, test in enumerate(("unknown", "c", "b", "a"))]
    part = e.TestFinished("a part", Outcome.FAILED, message="of b", part_of="b")

    found = grouped(e.TestsSelected(("a", "b", "c")), *ends, part)

    assert found == [["a"], ["b"], ["a part"], ["c"], ["unknown"]]


@pytest.mark.parametrize(
    "message, expected",
    [
        ("KeyError: 'it\\'s' in \"a \\\" b\"", "KeyError: '*' in '*'"),
        ("at 0x7fFF after 3.25 s, 17 times", "at # after # s, # times"),
        ("first 1\nsecond\nthird", "first #"),
        ("x" * 2500, "x" * 2000),
    ],
)
def test_the_shape_of_a_message_is_its_first_line_without_values(message: str, expected: str) -> None:
    assert shape(message) == expected


def test_two_messages_of_one_line_are_not_joined_with_one_of_another() -> None:
    a, b = (failed(f"t.py::test_{n}", f"KeyError: '{n}'", ("shop.py", 4)) for n in "ab")
    other = failed("t.py::test_c", "KeyError: 'a'", ("shop.py", 9))

    assert grouped(a, b, other) == [["t.py::test_a", "t.py::test_b"], ["t.py::test_c"]]


messages = st.text(st.sampled_from("ab'\"1: \n"), max_size=12)
places = st.sampled_from([None, ("a.py", 1), ("b.py", 2)])


@given(st.lists(st.tuples(messages, places, st.sampled_from(["setup", "call", "teardown"])), max_size=12))
def test_no_failure_and_no_message_is_lost(failures: list[Any]) -> None:
    facts = [failed(f"t.py::test_{n}", *what) for n, what in enumerate(failures)]

    found = [o for cause in causes(run_of(*facts)) for o in cause.occurrences]

    assert {(o.test, o.when, o.failure.message) for o in found} == {
        (f"t.py::test_{n}", when, message) for n, (message, _, when) in enumerate(failures)
    }
    assert len(found) == len(failures)


@given(st.lists(st.tuples(messages, places), max_size=12))
def test_a_cause_has_one_shape(failures: list[Any]) -> None:
    facts = [failed(f"t.py::test_{n}", *what) for n, what in enumerate(failures)]

    for cause in causes(run_of(*facts)):
        assert len({shape(o.failure.message) for o in cause.occurrences}) == 1

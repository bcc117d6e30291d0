"""Failures by what is behind them: arranged, never lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from render_testing import failed, passed, run_of

from proctor import events as e
from proctor.causes import causes, shape
from proctor.outcome import Outcome


def grouped(*facts: e.Event) -> list[list[str]]:
    return [cause.tests for cause in causes(run_of(*facts))]


def test_one_broken_fixture_is_one_cause_and_its_name_is_known():
    broken = [
        failed(f"t.py::test_{n}", "OSError: no disk", ("conftest.py", 9), when="setup", fixture="disk")
        for n in range(5)
    ]

    (cause,) = causes(run_of(*broken, *passed("t.py::test_fine")))

    assert len(cause.occurrences) == 5
    assert cause.first.failure.fixture == "disk"


def test_the_same_line_with_other_values_is_the_same_cause():
    a = failed("t.py::test_a", "KeyError: 'x-17'", ("shop.py", 4))
    b = failed("t.py::test_b", "KeyError: 'y-2'", ("shop.py", 4))

    assert grouped(a, b) == [["t.py::test_a", "t.py::test_b"]]


def test_another_line_another_type_another_phase_are_other_causes():
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


def test_a_changed_function_is_one_cause_though_each_caller_fails_on_its_own_line():
    message = "TypeError: price() missing 1 required argument: 'currency'"
    callers = [failed(f"t.py::test_{n}", message, ("t.py", n)) for n in (3, 8, 21)]

    assert grouped(*callers) == [["t.py::test_3", "t.py::test_8", "t.py::test_21"]]


def test_equal_assertions_at_different_lines_have_nothing_to_do_with_each_other():
    assert len(grouped(*(failed(f"t.py::test_{n}", "assert False", ("t.py", n)) for n in (3, 8)))) == 2


def test_one_import_error_in_many_files_is_one_cause():
    errors = [
        e.CollectionFailed(
            f"test_{n}.py", e.Failure("ImportError", "ImportError: no x", e.Place(f"t{n}.py", n))
        )
        for n in (1, 2, 3)
    ]

    assert grouped(*errors) == [["test_1.py", "test_2.py", "test_3.py"]]


def test_a_test_whose_call_and_teardown_fail_occurs_twice():
    call, teardown = (e.Failure("E", f"E: {when}", None) for when in ("call", "teardown"))
    phases = (e.Phase("call", "failed", failure=call), e.Phase("teardown", "failed", failure=teardown))
    both = e.TestFinished("t.py::test_a", Outcome.FAILED, phases=phases)

    assert [cause.first.when for cause in causes(run_of(both))] == ["call", "teardown"]


def test_the_harness_comes_first():
    crash = e.TestFinished("t.py::test_z", Outcome.CRASH, failure=e.Failure("", "SIGSEGV"))
    error = e.CollectionFailed("test_b.py", e.Failure("E", "E: x"))

    found = grouped(failed("t.py::test_a", "E: y"), error, crash)

    assert found == [["t.py::test_z"], ["test_b.py"], ["t.py::test_a"]]


messages = st.text(st.sampled_from("ab'\"1: \n"), max_size=12)
places = st.sampled_from([None, ("a.py", 1), ("b.py", 2)])


@given(st.lists(st.tuples(messages, places, st.sampled_from(["setup", "call", "teardown"])), max_size=12))
def test_no_failure_and_no_message_is_lost(failures):
    facts = [failed(f"t.py::test_{n}", *what) for n, what in enumerate(failures)]

    found = [o for cause in causes(run_of(*facts)) for o in cause.occurrences]

    assert {(o.test, o.when, o.failure.message) for o in found} == {
        (f"t.py::test_{n}", when, message) for n, (message, _, when) in enumerate(failures)
    }
    assert len(found) == len(failures)


@given(st.lists(st.tuples(messages, places), max_size=12))
def test_a_cause_has_one_shape(failures):
    facts = [failed(f"t.py::test_{n}", *what) for n, what in enumerate(failures)]

    for cause in causes(run_of(*facts)):
        assert len({shape(o.failure.message) for o in cause.occurrences}) == 1

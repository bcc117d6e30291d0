"""Two runs, compared: every test that differs is in a list, and nothing that failed looks fine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.comparison import End, Side, compare
from proctor.outcome import BAD, Outcome, RunOutcome

PASSED, FAILED, SKIPPED = End("passed", 0.01), End("failed", 0.01, "assert 0"), End("skipped")
BROKEN = End("error", 0.0, "ImportError", is_file=True)


def run(outcome: RunOutcome = RunOutcome.FAILED, not_run: tuple[str, ...] = (), **ends: End) -> Side:
    """Tests of the file t.py."""
    named = {f"t.py::{name}" if not end.is_file else f"{name}.py": end for name, end in ends.items()}
    return Side("run", outcome, named, frozenset(not_run))


def test_each_change_has_its_list() -> None:
    before = run(a=PASSED, b=FAILED, c=FAILED, d=PASSED, e=SKIPPED)
    after = run(a=FAILED, b=PASSED, c=FAILED, e=FAILED, f=PASSED, g=FAILED)

    found = compare(before, after)

    assert found.new == ("t.py::a", "t.py::e", "t.py::g")
    assert found.fixed == ("t.py::b",)
    assert found.still == ("t.py::c",)
    assert found.added == ("t.py::f", "t.py::g")
    assert found.removed == ("t.py::d",)
    assert found.exit_code == 1


def test_times_differ_by_half_and_50_ms_in_both_directions() -> None:
    before = run(a=End("passed", 0.1), b=End("passed", 0.4), c=End("passed", 0.01), d=End("failed", 0.1))
    after = run(a=End("passed", 0.4), b=End("passed", 0.1), c=End("passed", 0.05), d=End("passed", 3.0))

    found = compare(before, after)

    assert [(one.node_id, one.before, one.after) for one in found.slower] == [("t.py::a", 0.1, 0.4)]
    assert [one.node_id for one in found.faster] == ["t.py::b"]


def test_the_tests_of_a_file_that_cannot_be_collected_are_not_removed() -> None:
    found = compare(run(a=PASSED, b=FAILED), run(t=BROKEN))

    assert (found.new, found.removed) == (("t.py",), ())
    again = compare(run(t=BROKEN), run(t=BROKEN))
    assert (again.still, again.exit_code) == (("t.py",), 0)


def test_a_file_that_can_be_collected_again_is_fixed() -> None:
    found = compare(run(t=BROKEN), run(RunOutcome.PASSED, a=PASSED))

    assert (found.fixed, found.added, found.removed, found.exit_code) == (("t.py",), (), (), 0)


@pytest.mark.parametrize(
    "outcome, code", [("incomplete", 2), ("timeout", 2), ("running", 2), ("no_tests", 5)]
)
def test_a_second_run_without_an_end_never_looks_fine(outcome: str, code: int) -> None:
    cut = run(RunOutcome(outcome), not_run=("t.py::b",), a=PASSED)

    assert compare(run(a=PASSED, b=PASSED, c=PASSED), cut).exit_code == code
    if outcome != "no_tests":
        assert compare(run(a=PASSED, b=PASSED, c=PASSED), cut).removed == ()
    assert compare(run(a=PASSED), run(RunOutcome(outcome), a=FAILED)).exit_code == 1


def test_tests_that_did_not_run_are_not_fine_even_if_the_run_has_an_end() -> None:
    found = compare(run(a=FAILED, b=PASSED), run(not_run=("t.py::b",), a=FAILED))

    assert (found.still, found.removed, found.exit_code) == (("t.py::a",), (), 2)


def test_names_of_junit_are_those_of_the_other_run() -> None:
    report = Side(
        "junit.xml", RunOutcome.PASSED, {"tests.test_a.TestX::test_m[a.b::c]": PASSED, "tests.b": BROKEN}
    )
    own = Side(
        "run", RunOutcome.FAILED, {"tests/test_a.py::TestX::test_m[a.b::c]": FAILED, "tests/b.py": BROKEN}
    )

    assert compare(report, own).new == ("tests/test_a.py::TestX::test_m[a.b::c]",)
    assert compare(report, own).still == ("tests/b.py",)
    assert compare(own, report).fixed == ("tests/test_a.py::TestX::test_m[a.b::c]",)
    whole = Side("run", RunOutcome.PASSED, {"tests/b.py::test_b": PASSED})
    broken = Side("junit.xml", RunOutcome.COLLECTION_ERROR, {"tests.b": BROKEN})
    assert (compare(whole, broken).new, compare(whole, broken).removed) == (("tests/b.py",), ())
    assert compare(own, report).added == compare(own, report).removed == ()


ends = st.builds(End, st.sampled_from([*Outcome]), st.floats(0, 10))
sides = st.builds(
    Side,
    st.just("run"),
    st.sampled_from([*RunOutcome]),
    st.dictionaries(st.sampled_from([f"t.py::{name}" for name in "abcdef"]), ends),
)


@given(sides, sides)
def test_every_failure_of_the_second_run_is_new_or_old(before: Side, after: Side) -> None:
    found = compare(before, after)

    assert {*found.new, *found.still} == {test for test, end in after.ends.items() if end.outcome in BAD}
    assert not {*found.new} & {*found.still}
    assert not {*found.fixed} & {*found.new, *found.still}
    assert {*found.added} <= after.ends.keys() - before.ends.keys()
    assert {*found.removed} <= before.ends.keys() - after.ends.keys()
    assert found.exit_code != 0 or (
        not found.new and after.outcome in ("passed", "failed", "collection_error")
    )

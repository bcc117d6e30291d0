"""Ids in little room: whatever is written, the same tests are read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.made_runs import expand

from proctor.render.ids import Known, factored, fitted
from proctor.render.neutral import neutral
from proctor.render.tokens import estimate

names = st.text(st.sampled_from("ab_c"), min_size=1, max_size=5)
parameters = st.text(st.sampled_from("a,[]{} :\t1é"), max_size=6)
files = st.sampled_from(["t.py", "tests/test_a.py", "tests/a b.py"])
ids = st.builds(
    lambda file, scope, name, parameter: f"{file}::{scope}test_{name}{parameter}",
    files,
    st.sampled_from(["", "TestX::"]),
    names,
    st.one_of(st.just(""), parameters.map(lambda text: f"[{text}]")),
)


@given(st.lists(ids, unique=True, max_size=12), st.lists(ids, max_size=6))
def test_every_id_can_be_read_back(failing: list[str], others: list[str]) -> None:
    known = list(dict.fromkeys([*failing, *others]))

    lines = factored(failing, Known(known))

    assert sorted(expand(lines, list(map(neutral, known)))) == sorted(map(neutral, failing))


def test_the_name_of_a_test_does_not_stand_for_others() -> None:
    failing = ["t.py::test_x", "t.py::test_x[1]", "t.py::test_x[2]"]

    assert factored(failing, Known([*failing, "t.py::test_a"])) == ["t.py::test_x", "t.py::test_x{[1],[2]}"]


def test_what_ids_have_in_common_is_written_once() -> None:
    failing = [f"t.py::TestA::test_users_{verb}" for verb in ("add", "drop")] + [
        "t.py::test_x[1]",
        "t.py::test_x[2]",
    ]

    assert factored(failing, Known([*failing, "t.py::test_x[3]"])) == [
        "t.py::TestA::test_users_{add,drop}",
        "t.py::test_x{[1],[2]}",
    ]


def test_a_file_is_named_for_its_tests_only_if_all_of_them_are_meant() -> None:
    tests = ["t.py::test_a", "t.py::test_b"]

    assert factored(tests, Known(tests)) == ["all of t.py"]
    assert factored(tests, Known([*tests, "t.py::test_c"])) == ["t.py::test_{a,b}"]


def test_all_parameters_of_a_function_are_named_by_it() -> None:
    tests = ["t.py::test_a[1]", "t.py::test_a[2]"]

    assert factored(tests, Known([*tests, "t.py::test_b"])) == ["all of t.py::test_a"]


@given(st.lists(ids, unique=True, max_size=12), st.integers(0, 60))
def test_as_many_are_named_as_there_is_room_for(failing: list[str], room: int) -> None:
    known = Known([*failing, "t.py::test_other"])

    lines, count = fitted(failing, known, room)

    assert estimate("\n".join(lines)) <= room
    assert sorted(expand(lines, list(map(neutral, failing)))) == sorted(map(neutral, failing[:count]))

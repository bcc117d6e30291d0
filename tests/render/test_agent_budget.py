"""A budget is a promise: never more, the verdict always, and what is missing can be had."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_runs import RUN_ID, expand, failed, passed, run_of

from proctor import events as e
from proctor.outcome import Outcome
from proctor.render.agent import Detail, agent_text
from proctor.render.agent_budget import LEAST, agent_text_within
from proctor.render.tokens import estimate


def different(count: int) -> list[e.TestFinished]:
    return [
        failed(
            f"tests/test_{n // 10}.py::test_name_{n}",
            f"Problem{n}Error: {'it went wrong in a way of its own, ' * 3}{n}",
            (f"shop/part_{n}.py", n + 1),
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("budget", [LEAST, 300, 1000, 4000])
def test_two_hundred_different_failures_keep_to_the_budget(budget: int) -> None:
    text = agent_text_within(run_of(*different(200), *passed("tests/test_0.py::test_fine")), budget, Detail())

    assert estimate(text) <= budget
    assert text.startswith("200 failed 1 passed\n")
    assert f"proctor show {RUN_ID}" in text.splitlines()[-1]


def test_all_ids_are_there_when_there_is_room_for_them() -> None:
    failing = different(200)
    text = agent_text_within(run_of(*failing), 4000, Detail())

    lines = text.partition("other failures:\n")[2].splitlines()[:-1]
    named = expand(lines, [test.test for test in failing])
    told = [test.test for test in failing if f"::{test.test.partition('::')[2]} " in text]
    assert sorted({*named, *told}) == sorted(test.test for test in failing)
    assert len(told) > 60


def test_what_fits_is_not_cut() -> None:
    result = run_of(*different(3))

    assert agent_text_within(result, 1000, Detail()) == agent_text(result)


def test_cuts_come_in_a_fixed_order() -> None:
    skip = e.TestFinished("t.py::test_skip", Outcome.SKIPPED, message="no network " * 5)
    failure = e.Failure("E", "E: one\ntwo " + "and more " * 20, e.Place("a.py", 1))
    phase = e.Phase("call", "failed", failure=failure, stdout="warning: " + "low on disk " * 20)
    bad = e.TestFinished("t.py::test_bad", Outcome.FAILED, failure=failure, phases=(phase,))
    result = run_of(skip, bad)
    whole = estimate(agent_text(result))

    texts = [agent_text_within(result, budget, Detail()) for budget in range(whole, LEAST - 1, -1)]

    gone = [["no network" not in text, "low on disk" not in text, "two" not in text] for text in texts]
    assert gone == sorted(gone)
    assert gone[0] == [False, False, False]
    assert gone[-1][:2] == [True, True]


def test_five_thousand_failures_of_one_cause_cost_less_than_three_thousand_tokens() -> None:
    same = [failed(f"t.py::test_x[{n}]", "ValueError: boom", ("a.py", 1)) for n in range(5000)]
    other = [failed(f"t.py::test_x[{n}]", f"assert {n} == -1", ("t.py", 1)) for n in range(5000)]

    for failing in (same, other):
        text = agent_text(run_of(*failing, *passed("t.py::test_x[fine]")))
        assert estimate(text) < 3000
        assert f"proctor show {RUN_ID}" in text
        everything = agent_text(run_of(*failing, *passed("t.py::test_x[fine]")), Detail(rows=0))
        assert all(f"[{n}]" in everything for n in range(5000))


words = st.text(st.sampled_from("ab c:'é\n"), max_size=40)
tests = st.tuples(st.integers(0, 3), words, st.sampled_from([None, ("a.py", 1), ("test_1.py", 4)]))


@given(st.lists(tests, min_size=1, max_size=15), st.integers(LEAST, 400))
def test_the_budget_is_never_exceeded(failures: list[Any], budget: int) -> None:
    facts = [failed(f"test_{f}.py::test_{n}", m, place) for n, (f, m, place) in enumerate(failures)]

    text = agent_text_within(run_of(*facts), budget, Detail())

    assert estimate(text) <= budget
    assert text.startswith(f"{len(facts)} failed\n")


def test_a_budget_limits_rows_that_had_no_limit() -> None:
    result = run_of(*(failed(f"t.py::test_{n}", f"KeyError: '{n}'", ("lib.py", 2)) for n in range(200)))

    text = agent_text_within(result, 400, Detail(rows=0))
    assert text == agent_text_within(result, 400, Detail(rows=400))
    assert "more like these:" in text

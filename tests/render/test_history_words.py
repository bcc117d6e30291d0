"""What texts say of earlier runs: once where it holds for all failures, in rows where it does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.full_runs import result_of
from support.histories import (
    BEFORE,
    DIRTY,
    HISTORIES,
    NEW,
    RECENT,
    STILL,
    UNKNOWN,
    compared,
    on_main,
    talking,
)
from support.made_runs import failed, passed, run_of

from proctor import events as e
from proctor.render.agent import Detail, agent_text
from proctor.render.agent_budget import LEAST, agent_text_within
from proctor.render.github import step_summary
from proctor.render.human import report_text
from proctor.render.result_index import failure_index
from proctor.render.tokens import estimate
from proctor.render.verdict_line import verdict_line

OF_HISTORY = (e.HistoryCompared, e.BaselineCompared)
MOST_ADDED = 12  # tokens, where all failures have one word
ONE_WORD = ("new", "one-new", "still", "one-still", "still-since", "flaky", "all-flaky", "unknown", "fixed")


def without_history(facts: tuple[e.Event, ...]) -> tuple[e.Event, ...]:
    return tuple(fact for fact in facts if not isinstance(fact, OF_HISTORY))


@pytest.mark.parametrize("name", ONE_WORD)
def test_one_word_for_all_failures_costs_little_and_only_the_first_line_has_it(name: str) -> None:
    facts = HISTORIES[name]
    text, plain = agent_text(result_of(facts)), agent_text(result_of(without_history(facts)))

    assert estimate(text) - estimate(plain) <= MOST_ADDED
    assert text.partition("\n")[2] == plain.partition("\n")[2]
    assert text.partition("\n")[0].startswith(plain.partition("\n")[0])


def test_nothing_known_says_nothing_anywhere() -> None:
    facts = HISTORIES["unknown"]
    result, plain = result_of(facts), result_of(without_history(facts))

    assert agent_text(result) == agent_text(plain)
    assert report_text(result) == report_text(plain)
    assert step_summary(result) == step_summary(plain)


@pytest.mark.parametrize("name", HISTORIES)
def test_the_failure_index_has_no_words(name: str) -> None:
    facts = HISTORIES[name]

    assert failure_index(result_of(facts)) == failure_index(result_of(without_history(facts)))


def test_all_is_claimed_only_of_all() -> None:
    two = [failed("t.py::a", "assert 1", ("t.py", 1)), failed("t.py::b", "assert 2", ("t.py", 2))]

    assert verdict_line(run_of(*two, compared(("t.py::a", NEW), ("t.py::b", NEW)))) == "2 failed, all new"
    for other in (UNKNOWN, STILL):
        found = run_of(*two, compared(("t.py::a", NEW), ("t.py::b", other)))
        assert verdict_line(found) == "2 failed, 1 new"
    assert verdict_line(run_of(*two, compared(("t.py::a", NEW)))) == "2 failed, 1 new"


def test_a_failure_in_quarantine_is_none_of_all() -> None:
    result = result_of(HISTORIES["quarantined-still"])

    assert verdict_line(result) == "1 failed 1 quarantined, new"


def test_a_failure_of_uncommitted_changes_is_not_blamed_on_their_commit() -> None:
    one = failed("t.py::a", "assert 1", ("t.py", 1))

    assert verdict_line(run_of(one, compared(("t.py::a", STILL)))).endswith(f" since {BEFORE.commit[:7]}")
    assert verdict_line(run_of(one, compared(("t.py::a", RECENT)))).endswith(f" {DIRTY.commit[:7]}-dirty")


def test_old_failures_come_last_and_shorter_but_whole_if_there_are_no_others() -> None:
    old, new = talking("t.py::old", "ValueError: old", 1), talking("t.py::new", "KeyError: 'new'", 2)
    rest = "the rest of the message, line 5"

    both = agent_text(run_of(old, new, compared(("t.py::old", STILL), ("t.py::new", NEW))))
    alone = run_of(old, compared(("t.py::old", STILL)))

    assert both.index("::new") < both.index("::old")
    assert both.count(rest) == 1
    assert both.count("stdout:") == 2  # those of the new one
    assert "--test" in both.splitlines()[-1]  # how to get the rest
    assert agent_text(alone).partition("\n")[2] == agent_text(run_of(old)).partition("\n")[2]


def test_a_short_old_failure_is_not_cut() -> None:
    old, new = (
        failed("t.py::old", "ValueError: old\nfor this reason", ("t.py", 1)),
        failed("t.py::new", "E: x"),
    )

    text = agent_text(run_of(old, new, compared(("t.py::old", STILL), ("t.py::new", NEW))))

    assert "for this reason" in text
    assert "more:" not in text


def test_the_baseline_decides_which_failures_are_old() -> None:
    first, second = (
        failed("t.py::a", "ValueError: a", ("a.py", 1)),
        failed("t.py::b", "KeyError: b", ("b.py", 1)),
    )
    words = compared(("t.py::a", NEW), ("t.py::b", STILL))

    text = agent_text(run_of(first, second, words, on_main(("t.py::a", "fails"), ("t.py::b", "passes"))))

    assert text.index("::b") < text.index("::a")


def test_names_of_tests_stay_as_they_are_where_secrets_are_masked() -> None:
    name = "t.py::test_password[password=hunter2]"
    result = run_of(*passed(name), compared(fixed=(name,)), on_main((name, "fails")))

    from proctor.render.masking import masked_values

    assert masked_values(result).history == result.history
    assert masked_values(result).baseline == result.baseline


tests = st.tuples(
    st.sampled_from(["E: one", "F: two\nmore", "assert 1 == 2", "E: " + "long " * 30]),
    st.sampled_from([None, ("a.py", 1), ("t.py", 4)]),
    st.sampled_from([NEW, STILL, RECENT, UNKNOWN, e.TestHistory("flaky", failed=3, results=20)]),
    st.sampled_from(e.BASELINE_WORDS),
)


@given(st.lists(tests, min_size=1, max_size=15), st.booleans(), st.integers(LEAST, 500))
def test_a_budget_holds_with_words_and_a_row_keeps_its_own(
    failures: list[Any], with_baseline: bool, budget: int
) -> None:
    facts = [failed(f"t.py::test_{n}", message, place) for n, (message, place, _, _) in enumerate(failures)]
    history = compared(*((f"t.py::test_{n}", word) for n, (*_, word, _) in enumerate(failures)))
    words = ((f"t.py::test_{n}", word) for n, (*_, word) in enumerate(failures))
    baseline = on_main(*words, reason="shop/cart.py came from /home/ann/shop, " * 5)
    result = run_of(*facts, history, *([baseline] if with_baseline else []))

    text = agent_text_within(result, budget, Detail())

    assert estimate(text) <= budget
    assert text.startswith(tuple(f"{verdict_line(result, reasons)}\n" for reasons in (True, False)))
    marked = {line.partition(" ")[0] for line in text.splitlines() if "[new" in line}
    new = {f"::test_{n}" for n, (*_, word, _) in enumerate(failures) if word is NEW}
    assert all(name in new for name in marked if name.startswith("::test_"))

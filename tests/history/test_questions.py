"""What the store answers: runs, results of a test, flaky and slow tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import UsageError
from proctor.events import EarlierRun
from proctor.history.questions import Questions
from proctor.history.store import FailureRow, ResultRow, RunRow, Store, TestKey, open_store
from proctor.history.words import Past, flaky
from proctor.remembered import slow, slower

LONG_AGO = "2000-01-01"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "history.sqlite")
    yield opened
    opened.close()


def key(name: str, folder: str = ".") -> TestKey:
    return TestKey(folder, "pytest", "pytest", name)


def result(
    name: str = "t.py::test_a",
    outcome: str = "passed",
    seconds: float = 0.01,
    attempt: int = 1,
    environment: str | None = "here",
    folder: str = ".",
) -> ResultRow:
    bad = outcome in ("failed", "error", "crash", "timeout")
    failure = FailureRow(outcome.encode(), f"it {outcome}", "t.py", 3) if bad else None
    return ResultRow(key(name, folder), attempt, outcome, round(seconds * 1e6), environment, failure)


def add(store: Store, number: int, *results: ResultRow, at: int | None = None, **more: Any) -> None:
    started = f"2026-01-01T00:{(number if at is None else at):02}:00.000+00:00"
    fields: dict[str, Any] = {
        "commit_id": f"{number:040}",
        "branch": "main",
        "state": "same",
        "root": "/p",
        **more,
    }
    store.add(
        RunRow(id=f"run-{number:02}", started=started, seconds=1.0, outcome="passed", **fields),
        results,
        LONG_AGO,
    )


def test_runs_come_with_the_newest_first_whenever_they_were_added(store: Store) -> None:
    add(store, 1, result(), at=5)
    add(store, 2, result(), at=1, whole=False, selection='["t.py","-k","a b","--"]', imported=True)
    add(store, 3, result(), at=9)

    runs = Questions(store).runs(2)

    assert [run.run_id for run in runs] == ["run-03", "run-01"]
    assert Questions(store).runs(5)[2].asked == ("t.py", "-k", "a b")
    assert Questions(store).runs(5)[2].imported


def test_the_slowest_tests_are_those_whose_last_pass_took_longest(store: Store) -> None:
    add(store, 1, result("a", seconds=9.0), result("b", seconds=2.0), result("c", "failed", 30.0))
    add(store, 2, result("a", seconds=1.0), result("b", "failed", 20.0), result("d", seconds=3.0))

    assert Questions(store).slowest(2) == [("d", 3.0), ("b", 2.0)]
    assert Questions(store).slowest(9) == [("d", 3.0), ("b", 2.0), ("a", 1.0)]


def test_a_test_is_found_by_its_id_by_the_end_of_it_and_never_by_a_guess(store: Store) -> None:
    add(store, 1, result("a.py::TestX::test_one"), result("b.py::test_two"), result("c.py::test_two"))
    questions = Questions(store)

    assert questions.results("a.py::TestX::test_one", -1)[0] == "a.py::TestX::test_one"
    assert questions.results("test_one", -1)[0] == "a.py::TestX::test_one"
    assert questions.results("TestX::test_one", -1)[0] == "a.py::TestX::test_one"
    with pytest.raises(UsageError, match=r"2 tests .* b\.py::test_two, c\.py::test_two"):
        questions.results("test_two", -1)
    with pytest.raises(UsageError, match=r"no test 'test_oen'; did you mean a\.py::TestX::test_one\?"):
        questions.results("test_oen", -1)


def test_a_test_of_the_own_directory_is_meant_first_and_others_have_theirs_before_them(store: Store) -> None:
    add(store, 1, result("t.py::test_a", folder="web"), result("t.py::test_a", "failed", folder="shop"))

    name, results = Questions(store, "shop").results("t.py::test_a", -1)
    assert (name, [one.outcome for one in results]) == ("t.py::test_a", ["failed"])
    name, results = Questions(store, "shop").results("web/t.py::test_a", -1)
    assert (name, [one.outcome for one in results]) == ("web/t.py::test_a", ["passed"])
    with pytest.raises(UsageError, match=r"shop/t\.py::test_a"):
        Questions(store).results("test_a", -1)


def test_every_try_is_a_result_and_only_the_last_one_is_final(store: Store) -> None:
    add(store, 1, result(outcome="failed"), result(attempt=2))
    add(store, 2, result())

    _, results = Questions(store).results("test_a", -1)

    assert [(one.run_id, one.attempt, one.outcome, one.final) for one in results] == [
        ("run-02", 1, "passed", True),
        ("run-01", 2, "passed", True),
        ("run-01", 1, "failed", False),
    ]
    assert (results[2].message, results[2].place) == ("it failed", "t.py:3")
    assert len(Questions(store).results("test_a", 2)[1]) == 2


def test_a_test_is_flaky_that_passes_and_fails_with_the_same_files(store: Store) -> None:
    for number, outcome in enumerate(["passed", "failed", "passed", "passed"], 1):
        add(store, number, result("t.py::test_flaky", outcome), result("t.py::test_good"))

    (found,) = Questions(store).flaky({})

    assert (found.node_id, found.failed, found.results) == ("t.py::test_flaky", 1, 4)
    assert found.last == "2026-01-01T00:02:00.000+00:00"


@pytest.mark.parametrize("other", ["state", "environment", "selection"])
def test_other_files_environments_or_selections_are_no_evidence(store: Store, other: str) -> None:
    more: dict[str, Any] = {} if other == "environment" else {other: '["x","--"]'}
    add(store, 1, result())
    add(store, 2, result(outcome="failed", environment="there" if other == "environment" else "here"), **more)

    assert Questions(store).flaky({}) == []


def test_files_are_the_same_if_git_says_so(store: Store) -> None:
    add(store, 1, result(), state="one", commit_id="a" * 40)
    add(store, 2, result(outcome="failed"), state="two", commit_id="b" * 40)
    questions = Questions(store)

    assert questions.clean_commits() == ["a" * 40, "b" * 40]
    assert questions.flaky({"a" * 40: "tree", "b" * 40: "other"}) == []
    (found,) = questions.flaky({"a" * 40: "tree", "b" * 40: "tree"})
    assert (found.failed, found.results) == (1, 2)


def test_a_retry_that_passed_is_evidence_without_git(store: Store) -> None:
    add(store, 1, result(outcome="failed"), result(attempt=2), state="")
    add(store, 2, result("t.py::test_b", "failed"), result("t.py::test_b", "failed", attempt=2), state="")

    (found,) = Questions(store).flaky({})

    assert (found.node_id, found.failed, found.results) == ("t.py::test_a", 1, 1)


histories = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["passed", "failed", "skipped"]), st.sampled_from("xyz"), st.booleans()),
        min_size=1,
        max_size=45,
    ),
    min_size=1,
    max_size=3,
)


@settings(deadline=None, max_examples=50)  # each has a file
@given(histories, st.randoms())
def test_flaky_tests_are_those_of_the_one_rule(
    histories: list[list[tuple[str, str, bool]]], random: Random
) -> None:
    """As a plain loop over all results finds them, in whatever order the runs were added."""
    expected = {}
    with TemporaryDirectory() as folder, closing(open_store(Path(folder, "history.sqlite"))) as opened:
        runs = [(test, at) for test, history in enumerate(histories) for at in range(len(history))]
        random.shuffle(runs)
        for number, (test, at) in enumerate(runs):
            outcome, state, retried = histories[test][at]
            name = f"t.py::test_{test}"
            tries = (
                [result(name, "failed"), result(name, outcome, attempt=2)]
                if retried
                else [result(name, outcome)]
            )
            add(opened, number, *tries, at=at, state=state)
        for test, history in enumerate(histories):
            past = [
                Past(EarlierRun(""), outcome == "failed", retried and outcome == "passed", frozenset({state}))
                for outcome, state, retried in reversed(history)
                if outcome != "skipped"
            ]
            if past and (evidence := flaky(past[0], past[1:]))[0]:
                expected[f"t.py::test_{test}"] = evidence
        found = {one.node_id: (one.failed, one.results) for one in Questions(opened).flaky({})}

    assert found == expected


def test_a_test_is_slow_if_it_takes_half_as_long_again_and_50_ms_more(store: Store) -> None:
    times = {"much": (0.1, 0.4), "little": (0.01, 0.05), "hardly": (1.0, 1.4), "less": (0.4, 0.1)}
    for number in range(1, 25):
        add(store, number, *(result(f"t.py::{name}", seconds=before) for name, (before, _) in times.items()))
    add(store, 30, *(result(f"t.py::{name}", seconds=after) for name, (_, after) in times.items()))

    (found,) = Questions(store).slow()

    assert (found.node_id, found.before, found.after, found.passes) == ("t.py::much", 0.1, 0.4, 20)


def test_failures_do_not_count_and_imported_times_are_held_against_imported_ones(store: Store) -> None:
    add(store, 1, result(seconds=0.1))
    add(store, 2, result(outcome="failed", seconds=9))
    add(store, 3, result(seconds=0.1, environment=None))
    assert Questions(store).slow() == []

    add(store, 4, result(seconds=0.5, environment=None))
    (found,) = Questions(store).slow()
    assert (found.before, found.passes) == (0.1, 1)


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2)])
def test_the_last_pass_is_the_newest_and_not_the_one_that_was_added_last(
    store: Store, order: tuple[int, ...]
) -> None:
    for number in order:
        add(store, number, result(seconds=0.9 if number == 3 else 0.1))

    assert [one.after for one in Questions(store).slow()] == [0.9]


def test_the_median_decides() -> None:
    assert slow("t", [1.0, 0.1, 5.0, 0.2]) is not None
    assert slow("t", [1.0, 0.1, 5.0, 0.9]) is None
    assert slow("t", [1.0]) is None
    assert not slower(0.1, 0.15)
    assert not slower(0.2, 0.249)
    assert slower(0.09, 0.1401)
    assert slower(0.0, 0.0501)


def test_nothing_is_told_of_other_directories(store: Store) -> None:
    flaky = [result(outcome="failed", folder=f) for f in ("a", "b")], [result(folder=f) for f in ("a", "b")]
    add(store, 1, *flaky[0], root="/p/a")
    add(store, 2, *flaky[1], root="/p/b")
    within = Questions(store, "a", ["/p/a"])

    assert [run.run_id for run in within.runs(9)] == ["run-01"]
    assert [one.node_id for one in within.flaky({})] == ["t.py::test_a"]
    assert within.run("run-02") is None
    with pytest.raises(UsageError, match=r"the history has no test 'b/t\.py::test_a'"):
        within.results("b/t.py::test_a", -1)

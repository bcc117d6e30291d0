"""How far a run is: totals that are not known, that grow, and that never shrink."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.streams import BUILD, STARTED, publish_suites

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay
from proctor.render.progress import Progress, progress


def ended(*tests: str) -> list[e.Event]:
    return [e.TestFinished(test, Outcome.PASSED) for test in tests]


def entered(name: str, following: int = 0, source: str = "control") -> e.SuiteEntered:
    return e.SuiteEntered(name, name, (), "/p", source=source, following=following)


def so_far(*events: e.Event, suites: int = 1) -> Progress:
    relay = Relay(msgspec.structs.replace(STARTED, suites=suites), [])
    publish_suites(relay, events, 1.0)
    return progress(relay.result)


COUNTED = e.SuiteStarted("pytest", BUILD, 40)
FINISHED = e.SuiteFinished(RunOutcome.PASSED)


@pytest.mark.parametrize(
    "events, text",
    [
        ([], "collecting"),
        ([e.CollectorFinished("a", "passed", (e.Child("t", "f", 1, True),))], "collecting (1 so far)"),
        ([entered("cargo build", 1, "build")], "building"),
        ([COUNTED], " 0/40"),
        ([COUNTED, *ended("a", "b")], " 2/40"),
        ([e.TestStarted("a")], "0 done"),
        (ended("a"), "1 done"),
        ([e.CollectionFailed("a.py", e.Failure())], "1 done"),
        ([e.SuiteStarted("pytest", BUILD, 1), *ended("a", "b", "c")], "3/3"),
        ([e.SuiteStarted("pytest", BUILD, 0)], "0/0"),
    ],
)
def test_a_suite_has_a_total_once_it_has_counted_its_tests(events: list[e.Event], text: str) -> None:
    assert so_far(*events).text == text


def test_it_is_collecting_only_while_nothing_has_run() -> None:
    named = e.TestsSelected(("a", "b", "c"))

    assert so_far(named).text == "collecting"
    assert so_far(named, e.TestStarted("a")).text == "0 done"
    assert so_far(named, *ended("a")).text == "1 done"
    first = entered("pytest", 1), COUNTED, *ended("a"), FINISHED
    assert so_far(*first, entered("node"), suites=2).text == "1 done"


def test_a_total_is_open_while_suites_are_to_come_and_is_never_reached_before() -> None:
    few = e.SuiteStarted("pytest", BUILD, 2)

    assert so_far(entered("pytest", 1), few, *ended("a"), suites=2).text == "1/2+"
    assert so_far(entered("pytest", 1), few, *ended("a", "b"), suites=2).text == "2 done"
    assert so_far(few, *ended("a", "b"), FINISHED, suites=2).text == "2 done"
    last = entered("unittest"), e.SuiteStarted("unittest", BUILD, 3)
    assert so_far(entered("pytest", 1), few, *ended("a", "b"), FINISHED, *last, suites=2).text == "2/5"


def test_a_suite_that_does_not_count_leaves_the_total_open() -> None:
    facts = entered("pytest", 1), COUNTED, *ended("a"), FINISHED, entered("node"), *ended("b")

    assert so_far(*facts, suites=2).text == "2 done"
    assert not so_far(*facts, suites=2).complete
    counted = e.SuiteStarted("node", BUILD, 1)
    assert so_far(*facts, counted, suites=2).text == " 2/41"


def test_what_a_build_makes_is_counted_when_it_is_known() -> None:
    build = entered("cargo test --no-run", 1, "build"), FINISHED
    one = entered("one", 1, "lines"), e.SuiteStarted("one", BUILD, 1), *ended("a")

    assert so_far(*build, suites=2).text == "building"
    assert not so_far(*build, *one, suites=2).complete
    two = entered("two", 0, "lines"), e.SuiteStarted("two", BUILD, 2)
    assert so_far(*build, *one, FINISHED, *two, suites=2).text == "1/3"


@pytest.mark.parametrize(
    "events, suites, label",
    [
        ([entered("pytest"), COUNTED], 1, ""),
        ([entered("pytest", 2)], 3, "pytest 1/3"),
        ([entered("pytest", 1), FINISHED, entered("node")], 2, "node 2/2"),
        ([entered("pytest"), FINISHED, entered("no\x1b[1mde")], 3, "node 2/3"),
        ([entered("cargo test --no-run", 1, "build")], 2, "cargo test --no-run"),
        ([entered("build", 1, "build"), FINISHED, entered("api", 2, "lines")], 2, "api 1/3"),
        ([entered("build", 1, "build"), FINISHED, entered("api", 0, "lines")], 2, "api"),
    ],
)
def test_one_of_several_suites_is_named_and_numbered(events: list[e.Event], suites: int, label: str) -> None:
    assert so_far(*events, suites=suites).suite == label


def test_of_shards_it_says_how_many_have_ended() -> None:
    planned = e.TestsPlanned(("a", "b", "c"), shards=3)
    shards: list[e.Event] = [entered("pytest 1/3"), FINISHED, entered("pytest 2/3"), entered("pytest 3/3")]

    assert so_far(planned, *shards).suite == "1/3 shards"


def test_what_is_left_does_not_include_tests_of_suites_that_have_ended() -> None:
    facts = entered("pytest", 1), COUNTED, *ended("a"), FINISHED, entered("node")

    assert so_far(*facts, e.SuiteStarted("node", BUILD, 5), *ended("b"), suites=2).left == 4


COUNTS = st.builds(e.SuiteStarted, st.just("s"), st.just(BUILD), st.integers(0, 9))
TESTS = st.builds(e.TestFinished, st.text("abcdef", min_size=1, max_size=2), st.just(Outcome.PASSED))
STEPS = st.lists(st.one_of(COUNTS, TESTS, st.just(FINISHED), st.just(entered("next"))), max_size=30)


@given(STEPS, st.integers(1, 4))
def test_a_total_never_shrinks_and_is_never_less_than_what_is_done(
    events: Iterable[e.Event], suites: int
) -> None:
    relay = Relay(msgspec.structs.replace(STARTED, suites=suites), [])
    total = number = 0
    for event in events:
        number += isinstance(event, e.SuiteEntered)
        relay.publish(event, 1.0, number)
        shown = progress(relay.result, total)
        assert shown.total >= max(total, shown.done)
        assert shown.complete or shown.text != f"{shown.done}/{shown.done}+"
        assert shown.complete <= (len(relay.result.suites) >= suites)
        total = shown.total

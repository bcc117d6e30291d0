"""Facts become outcomes in one place, the same live and replayed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor import events as e
from proctor.fold import begin, conclude, fold
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.relay import Relay

STARTED = e.RunStarted(
    "20260101-000000-abcdef", "pytest", ("python",), "/p", "python", "2026-01-01T00:00:00Z"
)


class Recorder:
    def __init__(self):
        self.seen = []

    def handle(self, entry, so_far):
        self.seen.append(entry)

    def tick(self, now, so_far):
        pass


def run(*events, sinks=()):
    relay = Relay(STARTED, sinks)
    for at, event in enumerate(events):
        relay.publish(event, float(at))
    return relay.close(9.0)


def passed(test):
    return e.TestFinished(test, Outcome.PASSED)


def phases(*pairs):
    return tuple(e.Phase(when, outcome) for when, outcome in pairs)


SELECTED = e.TestsSelected(("a", "b", "c"))
READY = e.SuiteStarted("pytest", "2026-01-01T00:00:00Z", 3)
ALL_PASSED = (SELECTED, READY, passed("a"), passed("b"), passed("c"))
ENDED = e.SessionFinished(0, 3)
EXITED = e.ProcessExited(0)


def test_a_pass_needs_the_sessions_end_the_exit_status_and_the_counts():
    assert run(*ALL_PASSED, ENDED, EXITED).outcome is RunOutcome.PASSED


@pytest.mark.parametrize(
    "events, outcome",
    [
        ((*ALL_PASSED, EXITED), RunOutcome.CRASHED),
        ((*ALL_PASSED, ENDED), RunOutcome.INCOMPLETE),
        ((*ALL_PASSED, ENDED, e.ProcessExited(1)), RunOutcome.INCOMPLETE),
        ((*ALL_PASSED, e.SessionFinished(1, 3), e.ProcessExited(1)), RunOutcome.FAILED),
        ((*ALL_PASSED, ENDED, e.ProcessExited(-11, "SIGSEGV")), RunOutcome.CRASHED),
        ((*ALL_PASSED, ENDED, e.ProcessExited(-2, "SIGINT")), RunOutcome.INTERRUPTED),
        ((*ALL_PASSED[:-1], ENDED, EXITED), RunOutcome.INCOMPLETE),
        ((*ALL_PASSED, e.ChannelBroken("garbage"), ENDED, EXITED), RunOutcome.INCOMPLETE),
        ((*ALL_PASSED, e.RunStopped(RunOutcome.TIMEOUT), ENDED, EXITED), RunOutcome.TIMEOUT),
        ((*ALL_PASSED, e.CollectionFailed("x.py", e.Failure()), ENDED, EXITED), RunOutcome.COLLECTION_ERROR),
        ((*ALL_PASSED, e.SessionBroke(e.Failure()), ENDED, EXITED), RunOutcome.INTERNAL_ERROR),
        ((*ALL_PASSED, e.TestStarted("d"), ENDED, EXITED), RunOutcome.INCOMPLETE),
        ((SELECTED, READY, e.SessionFinished(5), e.ProcessExited(5)), RunOutcome.NO_TESTS),
        ((e.SessionFinished(4), e.ProcessExited(4)), RunOutcome.USAGE_ERROR),
        ((e.ProcessExited(4),), RunOutcome.USAGE_ERROR),
        ((ENDED, EXITED), RunOutcome.NO_TESTS),
        ((EXITED,), RunOutcome.CRASHED),
        ((), RunOutcome.INCOMPLETE),
    ],
)
def test_whatever_is_missing_or_disagrees_is_not_a_pass(events, outcome):
    assert run(*events).outcome is outcome


@pytest.mark.parametrize("bad", sorted(BAD))
def test_a_bad_test_is_never_green_even_if_everything_says_zero(bad):
    result = run(SELECTED, READY, passed("a"), passed("b"), e.TestFinished("c", bad), ENDED, EXITED)

    assert result.outcome in (RunOutcome.FAILED, RunOutcome.CRASHED)


def test_a_test_that_never_finished_is_a_crash_and_every_sink_hears_of_it():
    recorder = Recorder()
    result = run(
        SELECTED, READY, passed("a"), e.TestStarted("b"), e.ProcessExited(-9, "SIGKILL"), sinks=[recorder]
    )

    assert result.tests["b"].outcome is Outcome.CRASH
    assert result.current_test == "b"
    assert result.not_run == ("c",)
    assert type(recorder.seen[-1].event) is e.RunFinished
    assert [entry.seq for entry in recorder.seen] == list(range(len(recorder.seen)))


def test_a_suite_whose_collection_never_ended_still_has_a_beginning():
    recorder = Recorder()
    run(e.ProcessExited(-9, "SIGKILL"), sinks=[recorder])

    kinds = [type(entry.event) for entry in recorder.seen]
    assert kinds == [e.RunStarted, e.ProcessExited, e.SuiteStarted, e.RunFinished]


def test_a_reader_that_fails_costs_that_reader_only():
    class Bomb(Recorder):
        def handle(self, entry, so_far):
            if isinstance(entry.event, e.TestFinished):
                raise OSError("disk full")

    recorder = Recorder()
    result = run(*ALL_PASSED, ENDED, EXITED, sinks=[Bomb(), recorder])

    assert result.outcome is RunOutcome.PASSED
    assert result.notices == ["Bomb stopped: OSError: disk full"]
    assert type(recorder.seen[-1].event) is e.RunFinished


@pytest.mark.parametrize(
    "steps, outcome",
    [
        ([("setup", "passed"), ("call", "passed"), ("teardown", "passed")], Outcome.PASSED),
        ([("setup", "failed"), ("teardown", "passed")], Outcome.ERROR),
        ([("setup", "passed"), ("call", "failed"), ("teardown", "passed")], Outcome.FAILED),
        ([("setup", "passed"), ("call", "passed"), ("teardown", "failed")], Outcome.ERROR),
        ([("setup", "passed"), ("call", "failed"), ("teardown", "failed")], Outcome.FAILED),
        ([("setup", "skipped"), ("teardown", "passed")], Outcome.SKIPPED),
        ([("setup", "passed"), ("call", "skipped"), ("teardown", "failed")], Outcome.ERROR),
        ([("???", "failed")], Outcome.CRASH),
        ([("setup", "passed")], Outcome.ERROR),
        ([("setup", "passed"), ("teardown", "passed")], Outcome.ERROR),
    ],
)
def test_phases_add_up_to_one_outcome(steps, outcome):
    assert conclude(phases(*steps)) is outcome


def test_a_failed_subtest_fails_its_test_though_the_test_itself_passed():
    steps = (
        e.Phase("setup", "passed"),
        e.Phase("call", "failed", subtest="[n=1]"),
        e.Phase("call", "passed"),
        e.Phase("teardown", "passed"),
    )
    assert conclude(steps) is Outcome.FAILED


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_a_test_that_is_reported_again_counts_once_and_failing_once_is_failing(order):
    again = [e.TestFinished("a", Outcome.FAILED), passed("a")][order]
    result = run(SELECTED, READY, *again, passed("b"), passed("c"))

    assert result.tests["a"].outcome is Outcome.FAILED
    assert result.counts[Outcome.FAILED] == 1
    assert result.counts[Outcome.PASSED] == 2


NAMES = st.sampled_from(["a", "b", "c"])
EVENTS = st.one_of(
    NAMES.map(e.TestStarted),
    st.builds(e.TestFinished, NAMES, st.sampled_from(sorted(Outcome))),
    st.just(SELECTED),
    st.just(READY),
    st.just(ENDED),
    st.builds(e.CollectionFailed, NAMES, st.just(e.Failure())),
    st.builds(e.ProcessExited, st.sampled_from([0, 1, 2, 5, -9]), st.none()),
    st.builds(e.ChannelBroken, st.just("x")),
)


@given(st.lists(EVENTS, max_size=12))
def test_in_any_order_the_result_is_consistent_and_green_is_earned(events):
    result = run(*events)
    summary = result.summary()

    assert not result.running
    assert summary["total"] == len(result.tests)
    assert sum(result.counts.values()) == len(result.tests)
    assert not set(result.not_run) & result.tests.keys()
    if result.outcome is RunOutcome.PASSED:
        assert ENDED in events
        assert not any(result.counts[bad] for bad in BAD)
        assert not result.collection_errors
        assert result.channel_error is None
        assert not result.not_run


# Several suites


def entered(name, source="control"):
    return e.SuiteEntered(name, name, (), "/p", source=source)


def test_each_suite_is_judged_by_itself_and_the_worst_is_the_runs():
    recorder = Recorder()
    relay = Relay(STARTED, [recorder])
    relay.publish(entered("pytest"), 0.0)
    relay.publish_all((*ALL_PASSED, ENDED, EXITED), 1.0)
    relay.close_suite(2.0)
    relay.publish(entered("tap", "lines"), 3.0)
    failed = e.TestFinished("t", Outcome.FAILED)
    relay.publish_all((e.SuiteStarted("tap", "", 1), failed, e.SessionFinished(None, 1)), 4.0)
    relay.publish(e.ProcessExited(3), 4.0)
    relay.close_suite(5.0)
    result = relay.close(6.0)

    pytest_suite, tap = result.suites
    assert (pytest_suite.finished.outcome, tap.finished.outcome) == (RunOutcome.PASSED, RunOutcome.FAILED)
    assert result.outcome is RunOutcome.FAILED
    assert (pytest_suite.counts, tap.counts) == ({Outcome.PASSED: 3}, {Outcome.FAILED: 1})
    assert [test.test for test in tap.tests(result)] == ["t"]
    assert (pytest_suite.finished.seconds, tap.finished.seconds) == (2.0, 2.0)
    assert (result.count, result.exited) == (4, e.ProcessExited(3))
    assert type(recorder.seen[-2].event) is e.SuiteFinished


def test_a_suite_without_tests_fails_no_other_but_is_told():
    relay = Relay(STARTED, [])
    relay.publish_all((entered("pytest"), *ALL_PASSED, ENDED, EXITED), 0.0)
    relay.close_suite(1.0)
    relay.publish_all((entered("tap", "lines"), e.SessionFinished(None), EXITED), 1.0)
    relay.close_suite(2.0)
    result = relay.close(3.0)

    assert (result.outcome, result.reason) == (RunOutcome.PASSED, "tap: no tests")


def test_suites_that_are_all_empty_are_no_tests():
    relay = Relay(STARTED, [])
    for name in ("pytest", "tap"):
        relay.publish_all((entered(name), ENDED, EXITED), 0.0)
        relay.close_suite(1.0)

    assert relay.close(2.0).outcome is RunOutcome.NO_TESTS


def test_what_ended_one_suite_early_says_nothing_about_the_next():
    relay = Relay(STARTED, [])
    relay.publish_all((entered("one"), e.TestStarted("a"), e.ProcessExited(-6, "SIGABRT")), 0.0)
    relay.close_suite(1.0)
    relay.publish_all(
        (entered("two"), *ALL_PASSED[:2], passed("b"), passed("c"), passed("d"), ENDED, EXITED), 2.0
    )
    relay.close_suite(3.0)
    result = relay.close(4.0)

    assert [suite.finished.outcome for suite in result.suites] == [RunOutcome.CRASHED, RunOutcome.PASSED]
    assert result.tests["a"].outcome is Outcome.CRASH
    assert result.reason == "one: SIGABRT"


def test_a_run_that_is_stopped_between_two_suites_is_not_what_its_suites_were():
    relay = Relay(STARTED, [])
    relay.publish_all((entered("one"), *ALL_PASSED, ENDED, EXITED), 0.0)
    relay.close_suite(1.0)
    relay.publish(e.RunStopped(RunOutcome.CANCELLED), 1.0)

    assert relay.close(2.0).outcome is RunOutcome.CANCELLED


def test_a_build_has_no_tests_and_its_errors_are_collection_errors():
    relay = Relay(STARTED, [])
    relay.publish_all((entered("build", "build"), EXITED), 0.0)
    relay.close_suite(1.0)
    broken = e.CollectionFailed("src/lib.rs", e.Failure("", "expected `;`", e.Place("src/lib.rs", 3)))
    relay.publish_all((entered("again", "build"), broken, e.ProcessExited(101)), 1.0)
    relay.close_suite(2.0)
    result = relay.close(3.0)

    built, not_built = (suite.finished.outcome for suite in result.suites)
    assert (built, not_built) == (RunOutcome.PASSED, RunOutcome.COLLECTION_ERROR)


LINES_DONE = (e.SuiteStarted("t", "", 3), *ALL_PASSED[2:], e.SessionFinished(None, 3))


@pytest.mark.parametrize(
    "events, outcome",
    [
        ((*LINES_DONE, EXITED), RunOutcome.PASSED),
        ((*LINES_DONE, e.ProcessExited(5)), RunOutcome.FAILED),  # no code has a meaning of its own
        ((*LINES_DONE[:-2], LINES_DONE[-1], EXITED), RunOutcome.INCOMPLETE),
        ((*LINES_DONE[:-1], EXITED), RunOutcome.CRASHED),
        ((*LINES_DONE, e.TestStarted("d"), EXITED), RunOutcome.INCOMPLETE),
        ((*LINES_DONE, e.ProcessExited(-9, "SIGKILL")), RunOutcome.CRASHED),
        ((e.SessionFinished(None), e.ProcessExited(4)), RunOutcome.FAILED),
    ],
)
def test_lines_that_look_whole_must_agree_with_the_end_of_their_process(events, outcome):
    relay = Relay(STARTED, [])
    relay.publish_all((entered("t", "lines"), *events), 0.0)

    assert relay.close(1.0).outcome is outcome


SUITE_EVENTS = st.one_of(
    EVENTS,
    st.builds(
        entered, st.sampled_from(["one", "two"]), st.sampled_from(["control", "lines", "program", "build"])
    ),
    st.builds(e.SuiteFinished, st.sampled_from(sorted(RunOutcome)), not_run=st.just(())),
    st.builds(e.RunStopped, st.just(RunOutcome.TIMEOUT)),
)


@given(st.lists(SUITE_EVENTS, max_size=20))
def test_suites_in_any_order_add_up_to_the_run(events):
    recorder = Recorder()
    result = run(*events, sinks=[recorder])

    assert not result.running
    assert not result.in_suite
    assert sum(result.counts.values()) == len(result.tests)
    assert not set(result.not_run) & result.tests.keys()
    spans = [(suite.begin, suite.end) for suite in result.suites]
    assert all(begin.tests <= end.tests for begin, end in spans)
    assert all(one.tests <= two.tests for (_, one), (two, _) in pairwise(spans))
    assert type(recorder.seen[-1].event) is e.RunFinished
    if result.suites and result.outcome is RunOutcome.PASSED:
        assert result.tests
        fine = {RunOutcome.PASSED, RunOutcome.NO_TESTS}
        assert {suite.finished.outcome for suite in result.suites} <= fine


@given(st.lists(SUITE_EVENTS, max_size=20))
def test_suites_are_the_same_when_they_are_told_again(events):
    recorder = Recorder()
    live = run(*events, sinks=[recorder])
    again = begin(STARTED)
    for entry in recorder.seen:
        fold(again, entry)

    assert (again.outcome, again.suites, again.counts) == (live.outcome, live.suites, live.counts)

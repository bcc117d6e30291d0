"""Facts become outcomes in one place, the same live and replayed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor import events as e
from proctor.fold import conclude
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


def test_a_test_that_is_reported_again_counts_once():
    result = run(SELECTED, READY, e.TestFinished("a", Outcome.FAILED), passed("a"), passed("b"), passed("c"))

    assert result.counts[Outcome.FAILED] == 0
    assert result.counts[Outcome.PASSED] == 3


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

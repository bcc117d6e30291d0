"""Facts become outcomes in one place, the same live and replayed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_runs import passed
from support.streams import STARTED, Recorder, entered

from proctor import events as e
from proctor.fold import begin, conclude, fold, fold_all
from proctor.outcome import BAD, MAXFAIL, Outcome, RunOutcome
from proctor.relay import Relay, Sink
from proctor.result import RunResult

Events: TypeAlias = tuple[e.Event, ...]


def run(*events: e.Event, sinks: Sequence[Sink] = ()) -> RunResult:
    relay = Relay(STARTED, sinks)
    for at, event in enumerate(events):
        relay.publish(event, float(at))
    return relay.close(9.0)


def phases(*pairs: tuple[str, ...]) -> tuple[e.Phase, ...]:
    return tuple(e.Phase(when, outcome) for when, outcome in pairs)


SELECTED = e.TestsSelected(("a", "b", "c"))
READY = e.SuiteStarted("pytest", "2026-01-01T00:00:00Z", 3)
ALL_PASSED: Events = (SELECTED, READY, *passed("a", "b", "c"))
USAGE = e.StatusExplained(RunOutcome.USAGE_ERROR, "what?")
NOTHING = e.StatusExplained(RunOutcome.NO_TESTS)
ENDED = e.SessionFinished(0, 3)
EXITED = e.ProcessExited(0)


def test_a_pass_needs_the_sessions_end_the_exit_status_and_the_counts() -> None:
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
        ((SELECTED, READY, NOTHING, e.SessionFinished(5), e.ProcessExited(5)), RunOutcome.NO_TESTS),
        ((e.SessionFinished(4), USAGE, e.ProcessExited(4)), RunOutcome.USAGE_ERROR),
        ((e.SessionFinished(4), e.ProcessExited(4)), RunOutcome.FAILED),
        ((USAGE, e.ProcessExited(4)), RunOutcome.USAGE_ERROR),
        ((*ALL_PASSED, e.TestFinished("d", Outcome.FAILED), NOTHING, ENDED, EXITED), RunOutcome.FAILED),
        ((*ALL_PASSED, e.TestFinished("d", Outcome.FAILED), USAGE, ENDED, EXITED), RunOutcome.USAGE_ERROR),
        ((e.ProcessExited(4),), RunOutcome.CRASHED),
        *(((*ALL_PASSED, ENDED, e.ProcessExited(code)), RunOutcome.INCOMPLETE) for code in (2, 3, 4, 5)),
        ((ENDED, EXITED), RunOutcome.NO_TESTS),
        ((EXITED,), RunOutcome.CRASHED),
        ((), RunOutcome.INCOMPLETE),
    ],
)
def test_whatever_is_missing_or_disagrees_is_not_a_pass(events: Events, outcome: RunOutcome) -> None:
    assert run(*events).outcome is outcome


@pytest.mark.parametrize("bad", sorted(BAD))
def test_a_bad_test_is_never_green_even_if_everything_says_zero(bad: Outcome) -> None:
    result = run(SELECTED, READY, *passed("a", "b"), e.TestFinished("c", bad), ENDED, EXITED)

    assert result.outcome in (RunOutcome.FAILED, RunOutcome.CRASHED, RunOutcome.TIMEOUT)


def test_a_test_that_never_finished_is_a_crash_and_every_sink_hears_of_it() -> None:
    recorder = Recorder()
    result = run(
        SELECTED, READY, *passed("a"), e.TestStarted("b"), e.ProcessExited(-9, "SIGKILL"), sinks=[recorder]
    )

    assert result.tests["b"].outcome is Outcome.CRASH
    assert result.current_test == "b"
    assert result.not_run == ("c",)
    assert type(recorder.entries[-1].event) is e.RunFinished
    assert [entry.seq for entry in recorder.entries] == list(range(len(recorder.entries)))


def test_a_suite_whose_collection_never_ended_still_has_a_beginning() -> None:
    recorder = Recorder()
    run(e.ProcessExited(-9, "SIGKILL"), sinks=[recorder])

    kinds = [type(entry.event) for entry in recorder.entries]
    assert kinds == [e.RunStarted, e.ProcessExited, e.SuiteStarted, e.SuiteFinished, e.RunFinished]


def test_a_reader_that_fails_costs_that_reader_only() -> None:
    class Bomb(Recorder):
        name = "-o events=log"

        def handle(self, entry: e.Entry, so_far: RunResult) -> None:
            if isinstance(entry.event, e.TestFinished):
                raise OSError("disk full")

    recorder = Recorder()
    result = run(*ALL_PASSED, ENDED, EXITED, sinks=[Bomb(), recorder])

    assert result.outcome is RunOutcome.PASSED
    assert result.notices == ["-o events=log stopped: OSError: disk full"]
    assert type(recorder.entries[-1].event) is e.RunFinished


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
        ([("setup", "passed")], Outcome.ERROR),
        ([("setup", "passed"), ("teardown", "passed")], Outcome.ERROR),
    ],
)
def test_phases_add_up_to_one_outcome(steps: list[tuple[str, ...]], outcome: Outcome) -> None:
    assert conclude(phases(*steps)) is outcome


def test_a_failed_subtest_fails_its_test_though_the_test_itself_passed() -> None:
    steps = (
        e.Phase("setup", "passed"),
        e.Phase("call", "failed", subtest="[n=1]"),
        e.Phase("call", "passed"),
        e.Phase("teardown", "passed"),
    )
    assert conclude(steps) is Outcome.FAILED


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_a_test_that_is_reported_again_counts_once_and_failing_once_is_failing(order: slice) -> None:
    again = [e.TestFinished("a", Outcome.FAILED), *passed("a")][order]
    result = run(SELECTED, READY, *again, *passed("b", "c"))

    assert result.tests["a"].outcome is Outcome.FAILED
    assert result.counts[Outcome.FAILED] == 1
    assert result.counts[Outcome.PASSED] == 2


def test_every_fact_is_kept_where_readers_look_for_it() -> None:
    described = e.SuiteDescribed("/p", {"pytest": "9"})
    collector = e.CollectorFinished("t.py", "passed")
    warning = e.WarningRecorded("W", "old", "t.py", 1)
    error = e.CollectionFailed("u.py", e.Failure("E", "E: x"))
    result = begin(STARTED)
    facts: Events = (
        described,
        collector,
        e.TestsSelected(("a", "b"), {"a": ("slow",)}, {"a": e.Place("t.py", 3)}),
        e.TestsSelected(("c",), {"c": ("quick",)}, {"c": e.Place("t.py", 9)}),
        e.TestsDeselected(("x",)),
        e.TestsDeselected(("y",)),
        e.SuiteStarted("pytest", "2026-01-01T00:00:01Z", 3, filtered_out=4),
        error,
        warning,
        e.TestStarted("a", e.Place("t.py", 4)),
        e.TestStarted("b"),
        e.FileAttached("b", e.File("f", "files/f", 1)),
        e.FileAttached("b", e.File("g", "files/g", 2)),
        e.ResultAmended("b", {"x": 1}),
        e.OutputReceived("stdout", "out\n"),
        e.OutputReceived("stderr", "err\n"),
        e.FaultTraced("Segmentation fault"),
        e.SuiteMissing("node", "node is not on PATH", required=True),
        e.SummaryPrinted("TOTAL 99%\n"),
        e.OutputQuoted(("FAIL too low",), explains=True),
        e.Noticed("by the way"),
    )
    for at, fact in enumerate(facts):
        fold(result, e.Entry(at, float(at), 0, fact))

    (suite,) = result.suites
    assert suite.described is result.described is described
    assert (result.collectors, result.warnings, result.collection_errors) == ([collector], [warning], [error])
    assert list(result.selected) == ["a", "b", "c"]
    assert result.markers == {"a": ("slow",), "c": ("quick",)}
    assert result.places == {"a": e.Place("t.py", 4), "c": e.Place("t.py", 9)}
    assert result.deselected == ["x", "y"]
    assert (suite.count, suite.build, suite.filtered_out) == (3, "2026-01-01T00:00:01Z", 4)
    assert (result.expected, result.left_out) == (3, 4)
    assert result.running == {"a": 9.0, "b": 10.0}
    assert result.attached == {"b": [e.File("f", "files/f", 1), e.File("g", "files/g", 2)]}
    assert (result.output.text(), result.stderr.text()) == ("out\nerr\n", "err\n")
    assert suite.session.fault == e.FaultTraced("Segmentation fault")
    assert suite.printed == "TOTAL 99%\n"
    assert suite.quoted == e.OutputQuoted(("FAIL too low",), explains=True)
    assert result.notices == ["by the way"]

    fold(result, e.Entry(90, 9.0, 0, *passed("b")))

    assert (result.attached, list(result.running)) == ({}, ["a"])


def test_the_end_of_a_run_is_the_results() -> None:
    result = begin(STARTED)
    fold(result, e.Entry(0, 0.0, 0, e.TestStarted("c")))
    fold(result, e.Entry(1, 1.0, 0, e.RunFinished(RunOutcome.FAILED, 2.5, ("c", "d"), "because")))

    assert (result.outcome, result.seconds, result.not_run) == (RunOutcome.FAILED, 2.5, ("c", "d"))
    assert (result.reason, result.running) == ("because", {})


@pytest.mark.parametrize(
    "codes, kept",
    [((0, 0), 0), ((0, 1), 1), ((1, 0), 1), ((2, 3), 2), ((0, 3, 2), 3)],
)
def test_of_several_processes_the_first_that_failed_speaks(codes: tuple[int, ...], kept: int) -> None:
    assert run(*map(e.ProcessExited, codes)).exited == e.ProcessExited(kept)


def test_the_first_test_that_was_lost_is_the_one_that_was_running() -> None:
    lost = [e.TestFinished(test, Outcome.TIMEOUT) for test in "ab"]

    assert run(SELECTED, READY, *passed("c"), *lost).current_test == "a"


_END = e.TestFinished("t/a", Outcome.FAILED, part_of="t")


@pytest.mark.parametrize(
    "events",
    [
        [e.TestFinished(f"t/{n}", o, part_of="t") for n, o in enumerate((Outcome.WARN, Outcome.PASSED))],
        [_END, e.TestFinished("t/a", Outcome.PASSED)],
        [e.TestStarted("t/a"), _END],
        [_END, e.Noticed("x"), e.TestFinished("u", Outcome.PASSED)],
        [e.TestFinished("running", Outcome.PASSED), _END],
        [e.TestFinished("known", Outcome.PASSED), _END],
        [e.TestFinished("attached", Outcome.PASSED), _END],
        [e.FileAttached("u", e.File("f", "files/f", 1)), e.TestFinished("u", Outcome.PASSED)],
        [e.SuiteEntered("s", "s", (), "/p"), _END],
    ],
)
@pytest.mark.parametrize("suite", [0, 1])
def test_events_in_one_piece_come_to_what_they_come_to_one_by_one(events: list[e.Event], suite: int) -> None:
    at_once, one_by_one = begin(STARTED), begin(STARTED)
    before: list[e.Event] = [
        e.TestStarted("running"),
        e.TestFinished("known", Outcome.FAILED),
        e.FileAttached("attached", e.File("f", "files/f", 1)),
    ]
    for result in (at_once, one_by_one):
        for number, event in enumerate(before):
            fold(result, e.Entry(number, 0.5, 0, event))
    fold_all(at_once, e.Entry(3, 1.0, suite, events[0]), events)
    for number, event in enumerate(events, 3):
        fold(one_by_one, e.Entry(number, 1.0, suite, event))

    assert at_once.suites == one_by_one.suites
    assert at_once.notices == one_by_one.notices


@pytest.mark.parametrize(
    "steps, outcome",
    [
        ([e.Phase("call", "skipped", wasxfail="known")], Outcome.XFAILED),
        ([e.Phase("call", "skipped", wasxfail="")], Outcome.XFAILED),
        ([e.Phase("call", "passed", wasxfail="known")], Outcome.XPASSED),
        ([e.Phase("setup", "passed", wasxfail="known"), e.Phase("call", "passed")], Outcome.PASSED),
        ([e.Phase("call", "passed", wasxfail="k"), e.Phase("teardown", "failed")], Outcome.ERROR),
        ([e.Phase("call", "failed"), e.Phase("teardown", "skipped")], Outcome.FAILED),
        ([e.Phase("setup", "skipped"), e.Phase("call", "skipped", wasxfail="k")], Outcome.SKIPPED),
        ([e.Phase("call", "skipped", subtest="[1]"), e.Phase("call", "passed")], Outcome.PASSED),
        ([e.Phase("teardown", "failed"), e.Phase("call", "failed")], Outcome.FAILED),
        ([e.Phase("call", "failed", subtest="[1]"), e.Phase("teardown", "failed")], Outcome.FAILED),
        ([], Outcome.ERROR),
    ],
)
def test_expected_failures_skips_and_subtests_count_as_what_they_are(
    steps: list[e.Phase], outcome: Outcome
) -> None:
    assert conclude(steps) is outcome


FAULT = e.FaultTraced("Segmentation fault", (e.Place("deep.py", 7), e.Place("t.py", 4)), "Fatal Python error")
AT = e.Place("t.py", 4)
ENOUGH_FAILED = e.SessionInterrupted(e.Failure(MAXFAIL, "stopping after 1 failures"))


@pytest.mark.parametrize(
    "facts, outcome, cause, at",
    [
        ([e.RunStopped(RunOutcome.TIMEOUT)], Outcome.TIMEOUT, "time limit reached", AT),
        ([e.RunStopped(RunOutcome.CANCELLED)], Outcome.ERROR, "run cancelled", AT),
        (
            [e.SessionInterrupted(e.Failure("KeyboardInterrupt", "", e.Place("lib.py", 9)))],
            Outcome.ERROR,
            "KeyboardInterrupt",
            e.Place("lib.py", 9),
        ),
        ([e.SessionInterrupted(e.Failure("Exit", "enough"))], Outcome.ERROR, "enough", AT),
        ([e.ChannelBroken("garbage")], Outcome.ERROR, "no result arrived: garbage", AT),
        ([], Outcome.ERROR, "never finished", AT),
        ([ENDED, e.ProcessExited(1)], Outcome.ERROR, "never finished", AT),
        ([e.ProcessExited(3)], Outcome.CRASH, "the process exited with 3 during the test", AT),
        ([e.ProcessExited(-11, "SIGSEGV")], Outcome.CRASH, "SIGSEGV", AT),
        (
            [FAULT, e.ProcessExited(-11, "SIGSEGV")],
            Outcome.CRASH,
            "SIGSEGV (Segmentation fault)",
            e.Place("deep.py", 7),
        ),
        (
            [e.TestStarted("z"), e.ProcessExited(-11, "SIGSEGV")],
            Outcome.CRASH,
            "SIGSEGV during one of 2 tests that were running",
            AT,
        ),
        (
            [e.TestStarted("z"), e.ProcessExited(0)],
            Outcome.CRASH,
            "the process exited with 0 during one of 2 tests that were running",
            AT,
        ),
    ],
)
def test_a_test_that_was_lost_is_told_with_the_reason_and_the_place(
    facts: list[e.Event], outcome: Outcome, cause: str, at: e.Place
) -> None:
    file = e.File("f", "files/f", 1)
    result = run(e.TestStarted("a", AT), e.FileAttached("a", file), *facts)

    assert result.tests["a"] == e.TestFinished(
        "a",
        outcome,
        message=f"{cause} at {at}",
        traceback="Fatal Python error" if FAULT in facts else None,
        place=AT,
        failure=e.Failure("", cause, at),
        files=(file,),
    )


def test_a_lost_test_that_nobody_knows_the_place_of() -> None:
    result = run(e.TestStarted("a"), e.FaultTraced("Aborted"), e.ProcessExited(-6, "SIGABRT"))

    assert result.tests["a"].message == "SIGABRT (Aborted)"
    assert result.tests["a"].failure == e.Failure("", "SIGABRT (Aborted)")


def test_when_enough_have_failed_what_was_running_never_began() -> None:
    failed = e.TestFinished("a", Outcome.FAILED)
    result = run(SELECTED, READY, failed, e.TestStarted("b"), ENOUGH_FAILED, e.ProcessExited(-15, "SIGTERM"))

    assert list(result.tests) == ["a"]
    assert result.not_run == ("c", "b")
    assert not result.running
    assert (result.outcome, result.reason) == (RunOutcome.FAILED, "stopping after 1 failures")


def test_tests_that_were_only_collected_did_not_miss_their_run() -> None:
    relay = Relay(msgspec.structs.replace(STARTED, collect_only=True), [])
    relay.publish_all((SELECTED, READY, ENDED, EXITED), 0.0)

    assert relay.close(1.0).not_run == ()


def test_a_suite_that_is_never_counted_begins_with_what_is_known_of_it() -> None:
    recorder = Recorder()
    run(SELECTED, e.CollectionFailed("u.py", e.Failure()), e.ProcessExited(1), sinks=[recorder])

    assert recorder.entries[-3].event == e.SuiteStarted("pytest", STARTED.started, 4)
    assert recorder.end.seconds == 9.0


NAMES = st.sampled_from(["a", "b", "c"])
EVENTS = st.one_of(
    NAMES.map(e.TestStarted),
    st.builds(
        e.TestFinished, NAMES, st.sampled_from(sorted(Outcome)), part_of=st.sampled_from(["", "a test"])
    ),
    st.just(SELECTED),
    st.just(READY),
    st.just(ENDED),
    st.builds(e.CollectionFailed, NAMES, st.just(e.Failure())),
    st.builds(e.ProcessExited, st.sampled_from([0, 1, 2, 5, -9]), st.none()),
    st.builds(e.ChannelBroken, st.just("x")),
)


@given(st.lists(EVENTS, max_size=12))
def test_in_any_order_the_result_is_consistent_and_green_is_earned(events: list[e.Event]) -> None:
    result = run(*events)
    summary = result.summary()

    assert not result.running
    assert summary["total"] == len(result.tests)
    assert sum(result.counts.values()) == len(result.tests)
    assert result.suites[0].parts == sum(bool(test.part_of) for test in result.tests.values())
    assert not set(result.not_run) & result.tests.keys()
    if result.outcome is RunOutcome.PASSED:
        assert ENDED in events
        assert not any(result.counts[bad] for bad in BAD)
        assert not result.collection_errors
        assert result.suites[0].session.channel_error is None
        assert not result.not_run


# Several suites


def several(*suites: tuple[str, str, Sequence[e.Event]], sinks: Sequence[Sink] = ()) -> RunResult:
    """Suites one after the other, each with its events, and a second for each."""
    relay = Relay(STARTED, sinks)
    for number, (name, source, events) in enumerate(suites):
        relay.publish(entered(name, source), float(number), number)
        relay.publish_all(events, float(number), number)
        relay.close_suite(number + 1.0, number)
    return relay.close(9.0)


GREEN: Events = (*ALL_PASSED, ENDED, EXITED)


def test_each_suite_is_judged_by_itself_and_the_worst_is_the_runs() -> None:
    recorder = Recorder()
    failed = (e.SuiteStarted("tap", "", 1), e.TestFinished("t", Outcome.FAILED), e.SessionFinished(None, 1))
    result = several(
        ("pytest", "control", GREEN), ("tap", "lines", (*failed, e.ProcessExited(3))), sinks=[recorder]
    )

    pytest_suite, tap = result.suites
    assert (pytest_suite.outcome, tap.outcome) == (RunOutcome.PASSED, RunOutcome.FAILED)
    assert result.outcome is RunOutcome.FAILED
    assert (pytest_suite.counts, tap.counts) == ({Outcome.PASSED: 3}, {Outcome.FAILED: 1})
    assert list(tap.tests) == ["t"]
    assert (pytest_suite.seconds, tap.seconds) == (1.0, 1.0)
    assert (result.expected, result.exited) == (4, e.ProcessExited(3))
    assert type(recorder.entries[-2].event) is e.SuiteFinished


def test_suites_may_overlap_and_each_keeps_what_is_its_own() -> None:
    one: Events = (
        e.TestsSelected(("a",)),
        e.SuiteStarted("one", "", 1),
        *passed("a"),
        ENDED,
        EXITED,
    )
    two: Events = (
        e.TestsSelected(("b", "c")),
        e.SuiteStarted("two", "", 2),
        e.TestStarted("b"),
        e.ProcessExited(-9, "SIGKILL"),
    )
    woven = Relay(STARTED, [])
    for number, name in enumerate(("one", "two")):
        woven.publish(entered(name), 0.0, number)
    for pair in zip_longest(one, two):
        for number, event in enumerate(pair):
            if event is not None:
                woven.publish(event, 0.0, number)
    woven.close_suite(1.0, 1)
    woven.close_suite(2.0, 0)
    result = woven.close(3.0)

    assert [(s.name, s.outcome, s.seconds, s.not_run) for s in result.suites] == [
        ("one", RunOutcome.PASSED, 2.0, ()),
        ("two", RunOutcome.CRASHED, 1.0, ("c",)),
    ]
    assert (result.outcome, result.not_run, result.current_test) == (RunOutcome.CRASHED, ("c",), "b")
    assert list(result.tests) == ["a", "b"]


def test_the_totals_of_a_run_are_those_of_its_suites() -> None:
    described = e.SuiteDescribed("/p")
    broke = e.SessionBroke(e.Failure("E", "E: inside"))
    error = e.CollectionFailed("u.py", e.Failure())
    warning = e.WarningRecorded("W", "old", "t.py", 1)
    place = e.Place("t.py", 3)
    selected = e.TestsSelected(("a", "b", "c"), {"a": ("slow",)}, {"a": place})
    one: Events = (
        described,
        selected,
        e.TestsDeselected(("x", "y")),
        READY,
        *passed("a"),
        broke,
        e.ProcessExited(3),
    )
    two: Events = (e.SuiteStarted("two", "", 5, filtered_out=7), error, warning, *passed("d"), EXITED)
    result = several(("one", "control", one), ("two", "control", two))

    assert [(s.described, s.broke, s.left_out) for s in result.suites] == [
        (described, broke, 2),
        (None, None, 7),
    ]
    assert (list(result.tests), list(result.selected)) == (["a", "d"], ["a", "b", "c"])
    assert (result.tests["d"], result.tests.get("e")) == (*passed("d"), None)
    assert ("d" in result.tests, "e" in result.tests, len(result.tests)) == (True, False, 2)
    assert (result.markers["a"], result.places["a"]) == (("slow",), place)
    assert (result.expected, result.left_out, result.not_run) == (8, 9, ("b", "c"))
    assert (result.collection_errors, result.warnings, result.deselected) == ([error], [warning], ["x", "y"])
    assert (result.described, result.broke, result.exited) == (described, broke, e.ProcessExited(3))
    assert (result.finished, result.several) == (None, True)
    assert result.counts == {Outcome.PASSED: 2}


def test_suites_that_all_ended_well_end_the_run_as_the_last_of_them_did() -> None:
    names = ("one", "two")
    result = several(*((name, "control", (e.ProcessExited(0, test=name),)) for name in names))

    assert result.exited == e.ProcessExited(0, test="two")


def test_an_unknown_suite_begins_where_it_is_first_heard_of() -> None:
    result = begin(STARTED)
    fold(result, e.Entry(0, 0.5, 1, *passed("b")))

    assert [list(suite.tests) for suite in result.suites] == [[], ["b"]]


def test_a_run_that_has_one_end_for_itself_and_its_suite_ends_both() -> None:
    result = begin(STARTED)
    fold(result, e.Entry(0, 1.0, 0, e.RunFinished(RunOutcome.FAILED, 2.5, ("c",), "because")))

    (suite,) = result.suites
    assert (suite.outcome, suite.reason, suite.seconds, suite.not_run) == (
        RunOutcome.FAILED,
        "because",
        2.5,
        ("c",),
    )


def test_a_suite_that_began_later_than_now_took_no_time() -> None:
    relay = Relay(STARTED, [])
    relay.publish(entered("one"), 5.0)
    relay.close_suite(4.0, 0)

    assert relay.result.suites[0].seconds == 0.0


def test_a_suite_is_closed_once() -> None:
    recorder = Recorder()
    relay = Relay(STARTED, [recorder])
    relay.publish_all((entered("one"), *GREEN), 0.0)
    relay.close_suite(1.0, 0)
    before = len(recorder.entries)
    relay.close_suite(2.0, 0)

    assert len(recorder.entries) == before


def test_a_suite_without_tests_fails_no_other_but_is_told() -> None:
    result = several(("pytest", "control", GREEN), ("tap", "lines", (e.SessionFinished(None), EXITED)))

    assert (result.outcome, result.reason) == (RunOutcome.PASSED, "tap: no tests")


def test_suites_that_are_all_empty_are_no_tests() -> None:
    empty = (ENDED, EXITED)

    assert several(("pytest", "control", empty), ("tap", "control", empty)).outcome is RunOutcome.NO_TESTS


def test_what_ended_one_suite_early_says_nothing_about_the_next() -> None:
    crashed = (e.TestStarted("z"), e.ProcessExited(-6, "SIGABRT"))
    result = several(("one", "control", crashed), ("two", "control", GREEN))

    assert [suite.outcome for suite in result.suites] == [RunOutcome.CRASHED, RunOutcome.PASSED]
    assert result.tests["z"].outcome is Outcome.CRASH
    assert result.reason == "one: SIGABRT"


def test_a_run_that_is_stopped_after_a_suite_is_not_what_its_suite_was() -> None:
    relay = Relay(STARTED, [])
    relay.publish_all((entered("one"), *GREEN), 0.0)
    relay.close_suite(1.0, 0)
    relay.publish(e.RunStopped(RunOutcome.CANCELLED), 1.0)
    result = relay.close(2.0)

    assert (result.outcome, result.suites[0].outcome) == (RunOutcome.CANCELLED, RunOutcome.PASSED)


def test_a_suite_that_begins_after_the_run_was_stopped_was_stopped_too() -> None:
    relay = Relay(STARTED, [])
    relay.publish(e.RunStopped(RunOutcome.TIMEOUT), 0.0)
    relay.publish_all((entered("one"), *GREEN), 0.0)

    assert relay.close(1.0).suites[0].outcome is RunOutcome.TIMEOUT


def test_a_build_has_no_tests_and_its_errors_are_collection_errors() -> None:
    broken = e.CollectionFailed("src/lib.rs", e.Failure("", "expected `;`", e.Place("src/lib.rs", 3)))
    said = e.StatusExplained(RunOutcome.COLLECTION_ERROR, "no such package")
    result = several(
        ("build", "build", (EXITED,)),
        ("again", "build", (broken, e.ProcessExited(101))),
        ("silent", "build", (e.ProcessExited(101),)),
        ("told", "build", (said, e.ProcessExited(101))),
    )

    assert [(suite.outcome, suite.reason) for suite in result.suites] == [
        (RunOutcome.PASSED, ""),
        (RunOutcome.COLLECTION_ERROR, ""),
        (RunOutcome.COLLECTION_ERROR, "the build ended with 101"),
        (RunOutcome.COLLECTION_ERROR, "no such package"),
    ]


@pytest.mark.parametrize(
    "more, is_several", [({}, False), ({"suites": 2}, True), ({"source": "suites"}, True)]
)
def test_a_run_that_was_meant_to_have_several_suites_has_them(more: dict[str, Any], is_several: bool) -> None:
    assert begin(msgspec.structs.replace(STARTED, **more)).several is is_several


def test_a_session_that_begins_after_another_ended_is_the_next_of_its_suite() -> None:
    first: Events = (
        e.SuiteDescribed("/p", {"n": "1"}),
        e.TestStarted("a"),
        e.ProcessExited(-11, "SIGSEGV"),
    )
    second: Events = (
        e.SuiteDescribed("/p", {"n": "2"}),
        *passed("b"),
        e.SessionFinished(0),
        EXITED,
    )
    result = begin(STARTED)
    for at, fact in enumerate((*first, *second)):
        fold(result, e.Entry(at, float(at), 0, fact))

    (suite,) = result.suites
    assert [session.exited for session in suite.sessions] == [e.ProcessExited(-11, "SIGSEGV"), EXITED]
    assert suite.session.finished == e.SessionFinished(0)
    assert suite.exited == e.ProcessExited(-11, "SIGSEGV")
    assert suite.described == first[0]


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
def test_lines_that_look_whole_must_agree_with_the_end_of_their_process(
    events: Events, outcome: RunOutcome
) -> None:
    relay = Relay(STARTED, [])
    relay.publish_all((entered("t", "lines"), *events), 0.0)

    assert relay.close(1.0).outcome is outcome


SUITE_EVENTS = st.tuples(
    st.sampled_from([0, 1, 2]),
    st.one_of(
        EVENTS,
        st.builds(
            entered,
            st.sampled_from(["one", "two"]),
            st.sampled_from(["control", "lines", "program", "build"]),
        ),
        st.builds(e.SuiteFinished, st.sampled_from(sorted(RunOutcome)), not_run=st.just(())),
        st.builds(e.RunStopped, st.just(RunOutcome.TIMEOUT)),
    ),
)


def woven(events: list[tuple[int, e.Event]], recorder: Recorder) -> RunResult:
    """Events of any suites in any order, each suite numbered when it is first heard of."""
    relay = Relay(STARTED, [recorder])
    numbers: dict[int, int] = {}
    for suite, event in events:
        relay.publish(event, 0.0, numbers.setdefault(suite, len(numbers)))
    return relay.close(1.0)


@given(st.lists(SUITE_EVENTS, max_size=20))
def test_suites_in_any_order_add_up_to_the_run(events: list[tuple[int, e.Event]]) -> None:
    recorder = Recorder()
    result = woven(events, recorder)

    assert RunOutcome.RUNNING not in {suite.outcome for suite in result.suites} or e.SuiteFinished in {
        type(event) for _, event in events
    }
    assert sum(result.counts.values()) == sum(len(suite.tests) for suite in result.suites)
    assert type(recorder.entries[-1].event) is e.RunFinished
    if result.outcome is RunOutcome.PASSED:
        assert {suite.outcome for suite in result.suites} <= {RunOutcome.PASSED, RunOutcome.NO_TESTS}


@given(st.lists(SUITE_EVENTS, max_size=20))
def test_suites_are_the_same_when_they_are_told_again(events: list[tuple[int, e.Event]]) -> None:
    recorder = Recorder()
    live = woven(events, recorder)
    again = begin(STARTED)
    for entry in recorder.entries:
        fold(again, entry)

    assert (again.outcome, again.suites, again.counts) == (live.outcome, live.suites, live.counts)


def test_a_suite_that_reached_a_limit_of_its_own_leaves_the_run_to_go_on() -> None:
    result = run(e.TestStarted("a"), e.RunStopped(RunOutcome.TIMEOUT, only_suite=True), e.ProcessExited(2))

    assert result.stopped is None
    assert (result.outcome, result.tests["a"].outcome) == (RunOutcome.TIMEOUT, Outcome.TIMEOUT)


def test_tests_come_in_the_order_of_the_collection_however_they_ended() -> None:
    result = run(SELECTED, READY, *passed("c", "a"), *passed("b"), ENDED, EXITED)

    assert list(result.tests) == ["a", "b", "c"]
    assert result.outcome is RunOutcome.PASSED


def test_parts_stay_with_their_test_and_what_was_not_selected_behind_the_one_before_it() -> None:
    part = e.TestFinished("c/1", Outcome.WARN, part_of="c")
    late = e.TestFinished("c/2", Outcome.WARN, part_of="c")
    inner = e.TestFinished("c/1/x", Outcome.WARN, part_of="c/1")

    result = run(SELECTED, READY, part, *passed("c", "more", "a"), late, inner, *passed("b"), ENDED, EXITED)

    assert list(result.tests) == ["a", "b", "c/1", "c", "more", "c/2", "c/1/x"]


def test_an_order_that_is_right_already_is_left_alone() -> None:
    part = e.TestFinished("c/1", Outcome.WARN, part_of="c")

    result = run(SELECTED, READY, *passed("new", "a", "b", "c", "other"), part, ENDED, EXITED)

    assert list(result.tests) == ["new", "a", "b", "c", "other", "c/1"]


def test_a_run_says_whether_it_was_compared_with_earlier_ones_and_changes_nothing_else() -> None:
    words = {"a": e.TestHistory(e.NEW), "b": e.TestHistory(e.UNKNOWN)}
    plain = run(*ALL_PASSED, ENDED, EXITED)

    compared = run(*ALL_PASSED, ENDED, EXITED, e.HistoryCompared(words))

    assert plain.history is None
    assert plain.earlier("a") is None
    assert compared.history == e.HistoryCompared(words)
    assert (compared.earlier("a"), compared.earlier("b")) == (e.TestHistory(e.NEW), None)
    assert (compared.outcome, compared.summary()) == (plain.outcome, plain.summary())


def test_words_of_a_later_version_are_left_out() -> None:
    histories = {"a": e.TestHistory(e.NEW), "b": e.TestHistory("improved")}
    words = {"a": e.FAILS, "b": "explodes"}

    result = run(
        *ALL_PASSED, ENDED, EXITED, e.HistoryCompared(histories), e.BaselineCompared("m", tests=words)
    )

    assert result.history == e.HistoryCompared({"a": e.TestHistory(e.NEW)})
    assert result.baseline == e.BaselineCompared("m", tests={"a": e.FAILS})

"""The verdict row by row: which facts end a suite and a run in which way, and the reason given for it."""

from __future__ import annotations

import pytest

from proctor import events as e
from proctor.fold import begin, fold
from proctor.launch import Voice
from proctor.outcome import MAXFAIL, WORST_FIRST, Outcome, RunOutcome
from proctor.result import RunResult
from proctor.verdict import suite_reason, verdict, worst

STARTED = e.RunStarted("id", "pytest", (), "/p", "", "2026-01-01T00:00:00Z")
COLLECTING = e.RunStarted("id", "pytest", (), "/p", "", "2026-01-01T00:00:00Z", collect_only=True)

SELECTED = e.TestsSelected(("a", "b"))
READY = e.SuiteStarted("pytest", "", 2)
PASSED = (e.TestFinished("a", Outcome.PASSED), e.TestFinished("b", Outcome.PASSED))
ALL_PASSED = (SELECTED, READY, *PASSED)
PART = e.TestFinished("a/part", Outcome.PASSED, part_of="a")
ENDED, SILENT = e.SessionFinished(0, 2), e.SessionFinished(None, 2)
EXITED, KILLED = e.ProcessExited(0), e.ProcessExited(-11, "SIGSEGV")
BROKE = e.SessionBroke(e.Failure("E", "E: broke"))
UNCOLLECTED = e.CollectionFailed("x.py", e.Failure("E", "E: x"))
BROKEN = e.ChannelBroken("garbage")
USAGE = e.StatusExplained(RunOutcome.USAGE_ERROR, "no such option")
NO_TESTS = e.StatusExplained(RunOutcome.NO_TESTS, "nothing matched")
ENOUGH = e.SessionInterrupted(e.Failure(MAXFAIL, "2 failures"))
CTRL_C = e.SessionInterrupted(e.Failure("KeyboardInterrupt", "KeyboardInterrupt"))


def finished(outcome: Outcome) -> e.TestFinished:
    return e.TestFinished("c", outcome)


def source(voice: Voice) -> e.SuiteEntered:
    return e.SuiteEntered("unit", "pytest", (), "/p", "", voice)


def result_of(*events: e.Event, started: e.RunStarted = STARTED) -> RunResult:
    result = begin(started)
    for seq, event in enumerate(events):
        fold(result, e.Entry(seq, 0.0, 0, event))
    return result


def judged(*events: e.Event, started: e.RunStarted = STARTED) -> tuple[str, str]:
    return verdict(result_of(*events, started=started).suites[0])


ROWS: list[tuple[tuple[e.Event, ...], RunOutcome, str]] = [
    ((*ALL_PASSED, ENDED, EXITED), RunOutcome.PASSED, ""),
    ((*ALL_PASSED, SILENT, EXITED), RunOutcome.PASSED, ""),
    # We ended it
    ((*ALL_PASSED, ENDED, KILLED, e.RunStopped(RunOutcome.CANCELLED)), RunOutcome.CANCELLED, ""),
    ((SELECTED, ENOUGH, KILLED), RunOutcome.FAILED, "2 failures"),
    ((SELECTED, ENOUGH), RunOutcome.FAILED, "2 failures"),
    # How the process ended
    ((*ALL_PASSED, ENDED), RunOutcome.INCOMPLETE, "the end of the process was not seen"),
    ((*ALL_PASSED, ENDED, BROKEN), RunOutcome.INCOMPLETE, "garbage"),
    ((CTRL_C, e.ProcessExited(-2, "SIGINT")), RunOutcome.INTERRUPTED, "SIGINT"),
    ((SELECTED, KILLED), RunOutcome.CRASHED, "SIGSEGV"),
    ((*ALL_PASSED, BROKEN, KILLED), RunOutcome.CRASHED, "SIGSEGV"),
    ((*ALL_PASSED, ENDED, KILLED), RunOutcome.CRASHED, "SIGSEGV after the session had finished"),
    ((*ALL_PASSED, ENDED, BROKEN, EXITED), RunOutcome.INCOMPLETE, "garbage"),
    # The session has no end
    ((*ALL_PASSED, EXITED), RunOutcome.CRASHED, "the process exited with 0 before the session finished"),
    ((e.ProcessExited(3),), RunOutcome.CRASHED, "the process exited with 3 before the session finished"),
    ((UNCOLLECTED, e.ProcessExited(2)), RunOutcome.COLLECTION_ERROR, ""),
    ((UNCOLLECTED, BROKE, e.ProcessExited(2)), RunOutcome.COLLECTION_ERROR, ""),
    (
        (UNCOLLECTED, e.TestStarted("a"), e.ProcessExited(2)),
        RunOutcome.CRASHED,
        "the process exited with 2 before the session finished",
    ),
    (
        (UNCOLLECTED, PASSED[0], e.ProcessExited(2)),
        RunOutcome.CRASHED,
        "the process exited with 2 before the session finished",
    ),
    ((BROKE, USAGE, e.ProcessExited(3)), RunOutcome.INTERNAL_ERROR, "E: broke"),
    ((USAGE, e.ProcessExited(4)), RunOutcome.USAGE_ERROR, "no such option"),
    ((NO_TESTS, e.ProcessExited(5)), RunOutcome.NO_TESTS, "nothing matched"),
    # The session has an end
    ((BROKE, USAGE, e.SessionFinished(4), e.ProcessExited(4)), RunOutcome.USAGE_ERROR, "no such option"),
    ((*ALL_PASSED, BROKE, ENDED, EXITED), RunOutcome.INTERNAL_ERROR, "E: broke"),
    ((NO_TESTS, e.SessionFinished(5), e.ProcessExited(5)), RunOutcome.NO_TESTS, "nothing matched"),
    ((NO_TESTS, finished(Outcome.FAILED), ENDED, EXITED), RunOutcome.FAILED, ""),
    ((*ALL_PASSED, UNCOLLECTED, finished(Outcome.CRASH), ENDED, EXITED), RunOutcome.COLLECTION_ERROR, ""),
    (
        (*ALL_PASSED, finished(Outcome.CRASH), ENDED, EXITED),
        RunOutcome.CRASHED,
        "a worker process died during a test",
    ),
    ((*ALL_PASSED, finished(Outcome.FAILED), ENDED, EXITED), RunOutcome.FAILED, ""),
    ((*ALL_PASSED, finished(Outcome.ERROR), CTRL_C, ENDED, EXITED), RunOutcome.FAILED, ""),
    ((*ALL_PASSED, finished(Outcome.TIMEOUT), ENDED, EXITED), RunOutcome.TIMEOUT, ""),
    (
        (*ALL_PASSED, finished(Outcome.TIMEOUT), e.TestFinished("d", Outcome.CRASH), ENDED, EXITED),
        RunOutcome.TIMEOUT,
        "",
    ),
    (
        (*ALL_PASSED, e.TestStarted("c"), e.TestStarted("d"), CTRL_C, ENDED, EXITED),
        RunOutcome.INCOMPLETE,
        "2 tests started and never finished",
    ),
    ((*ALL_PASSED, CTRL_C, ENDED, EXITED), RunOutcome.INCOMPLETE, "KeyboardInterrupt"),
    # Nothing failed, but status or counts disagree
    (
        (*ALL_PASSED, ENDED, e.ProcessExited(1)),
        RunOutcome.INCOMPLETE,
        "the session ended with status 0, the process with 1",
    ),
    (
        (*ALL_PASSED, e.SessionFinished(1), EXITED),
        RunOutcome.INCOMPLETE,
        "the session ended with status 1, the process with 0",
    ),
    (
        (*ALL_PASSED, SILENT, e.ProcessExited(1)),
        RunOutcome.FAILED,
        "exit status 1, though no test failed",
    ),
    (
        (*ALL_PASSED, SILENT, e.OutputQuoted(("a", "b"), explains=True), e.ProcessExited(1)),
        RunOutcome.FAILED,
        "exit status 1, though no test failed: a; b",
    ),
    (
        (*ALL_PASSED, SILENT, e.OutputQuoted(("a", "b")), e.ProcessExited(1)),
        RunOutcome.FAILED,
        "exit status 1, though no test failed",
    ),
    ((*ALL_PASSED, ENDED, e.OutputQuoted(("FAIL a",), explains=True), EXITED), RunOutcome.PASSED, ""),
    ((*ALL_PASSED[:-1], ENDED, EXITED), RunOutcome.INCOMPLETE, "1 of 2 tests have no result"),
    ((READY, PASSED[0], ENDED, EXITED), RunOutcome.INCOMPLETE, "1 of 2 tests have no result"),
    ((SELECTED, PASSED[0], ENDED, EXITED), RunOutcome.INCOMPLETE, "1 of 2 tests have no result"),
    (
        (SELECTED, e.SuiteStarted("pytest", "", 4), *PASSED, ENDED, EXITED),
        RunOutcome.INCOMPLETE,
        "2 of 4 tests have no result",
    ),
    ((READY, PASSED[0], PART, ENDED, EXITED), RunOutcome.INCOMPLETE, "1 of 2 tests have no result"),
    ((*ALL_PASSED, PART, finished(Outcome.SKIPPED), ENDED, EXITED), RunOutcome.PASSED, ""),
    ((PASSED[0], ENDED, EXITED), RunOutcome.PASSED, ""),
    ((ENDED, EXITED), RunOutcome.NO_TESTS, ""),
    # Programs: each test is a process
    ((source(Voice.PROGRAM), SELECTED, *PASSED), RunOutcome.PASSED, ""),
    ((source(Voice.PROGRAM), SELECTED, *PASSED, KILLED), RunOutcome.PASSED, ""),
    ((source(Voice.PROGRAM), SELECTED, finished(Outcome.CRASH)), RunOutcome.CRASHED, ""),
    (
        (source(Voice.PROGRAM), finished(Outcome.CRASH), e.TestFinished("d", Outcome.TIMEOUT)),
        RunOutcome.CRASHED,
        "",
    ),
    ((source(Voice.PROGRAM), SELECTED, finished(Outcome.TIMEOUT)), RunOutcome.TIMEOUT, ""),
    ((source(Voice.PROGRAM), SELECTED, finished(Outcome.FAILED)), RunOutcome.FAILED, ""),
    ((source(Voice.PROGRAM), PASSED[0]), RunOutcome.NO_TESTS, ""),
    ((source(Voice.PROGRAM), SELECTED, PASSED[0]), RunOutcome.INCOMPLETE, "1 of 2 tests have no result"),
    # Reports: no process is known
    ((source(Voice.REPORT), *ALL_PASSED, ENDED), RunOutcome.PASSED, ""),
    ((source(Voice.REPORT), *ALL_PASSED, SILENT), RunOutcome.PASSED, ""),
    ((source(Voice.REPORT), *ALL_PASSED), RunOutcome.INCOMPLETE, "the report has no end"),
    ((source(Voice.REPORT), *ALL_PASSED, BROKEN, ENDED), RunOutcome.INCOMPLETE, "garbage"),
    (
        (source(Voice.REPORT), *ALL_PASSED, e.SessionFinished(2)),
        RunOutcome.FAILED,
        "exit status 2, though no test failed",
    ),
    # Builds: they have no tests
    ((source(Voice.BUILD), EXITED), RunOutcome.PASSED, ""),
    ((source(Voice.BUILD), UNCOLLECTED, e.ProcessExited(101)), RunOutcome.COLLECTION_ERROR, ""),
    ((source(Voice.BUILD), UNCOLLECTED, EXITED), RunOutcome.COLLECTION_ERROR, ""),
    ((source(Voice.BUILD), e.ProcessExited(101)), RunOutcome.COLLECTION_ERROR, "the build ended with 101"),
    (
        (source(Voice.BUILD), e.StatusExplained(RunOutcome.FAILED, "no linker"), e.ProcessExited(101)),
        RunOutcome.COLLECTION_ERROR,
        "no linker",
    ),
    (
        (source(Voice.BUILD), e.StatusExplained(RunOutcome.FAILED), e.ProcessExited(1)),
        RunOutcome.COLLECTION_ERROR,
        "the build ended with 1",
    ),
    ((source(Voice.BUILD), BROKEN, EXITED), RunOutcome.INCOMPLETE, "garbage"),
]


@pytest.mark.parametrize("events, outcome, reason", ROWS)
def test_a_suite_ends_by_the_first_row_that_applies(
    events: tuple[e.Event, ...], outcome: RunOutcome, reason: str
) -> None:
    assert judged(*events) == (outcome, reason)


@pytest.mark.parametrize(
    "events, outcome, reason",
    [
        ((SELECTED, READY, ENDED, EXITED), RunOutcome.PASSED, ""),
        ((READY, ENDED, EXITED), RunOutcome.NO_TESTS, ""),
        ((source(Voice.PROGRAM), SELECTED), RunOutcome.PASSED, ""),
        ((source(Voice.PROGRAM),), RunOutcome.NO_TESTS, ""),
        ((source(Voice.LINES), READY), RunOutcome.PASSED, ""),
        ((source(Voice.LINES), e.SuiteStarted("go", "", 0)), RunOutcome.NO_TESTS, ""),
        ((source(Voice.LINES), SELECTED), RunOutcome.INCOMPLETE, "the end of the process was not seen"),
        ((source(Voice.CONTROL), READY), RunOutcome.INCOMPLETE, "the end of the process was not seen"),
        ((source(Voice.LINES), READY, BROKEN), RunOutcome.INCOMPLETE, "garbage"),
    ],
)
def test_a_collection_that_ended_needs_tests_but_no_results(
    events: tuple[e.Event, ...], outcome: RunOutcome, reason: str
) -> None:
    assert judged(*events, started=COLLECTING) == (outcome, reason)


def test_lines_that_were_not_only_collected_need_the_end_of_their_process() -> None:
    assert judged(source(Voice.LINES), READY, *PASSED) == (
        RunOutcome.INCOMPLETE,
        "the end of the process was not seen",
    )


def suites(*ends: tuple[RunOutcome, str], runner: str = "pytest,go", tests: bool = True) -> RunResult:
    result = begin(e.RunStarted("id", runner, (), "/p", "", ""))
    for number, (outcome, reason) in enumerate(ends):
        entered = e.SuiteEntered(f"s{number}", "pytest", (), "/p")
        test = [e.TestFinished(f"t{number}", Outcome.PASSED)] if tests else []
        events: tuple[e.Event, ...] = (entered, *test, e.SuiteFinished(outcome, 0.0, (), reason))
        for event in events:
            fold(result, e.Entry(0, 0.0, number, event))
    return result


def test_one_suite_speaks_for_its_run() -> None:
    result = suites((RunOutcome.CRASHED, "SIGSEGV"), runner="pytest")

    assert worst(result) == (RunOutcome.CRASHED, "SIGSEGV")


@pytest.mark.parametrize("at", range(len(WORST_FIRST) - 2))
def test_the_worst_of_several_suites_is_the_runs_and_each_reason_has_its_suite(at: int) -> None:
    bad, better = WORST_FIRST[at], WORST_FIRST[at + 1]
    result = suites((better, ""), (bad, "why"), (RunOutcome.NO_TESTS, ""), (RunOutcome.PASSED, "odd"))

    assert worst(result) == (bad, "s1: why; s2: no tests; s3: odd")


def test_several_suites_without_any_test_are_no_tests_and_need_no_reason() -> None:
    nothing = (RunOutcome.NO_TESTS, "")

    assert worst(suites(nothing, nothing, tests=False)) == (RunOutcome.NO_TESTS, "")
    assert worst(suites(nothing, (RunOutcome.PASSED, ""), tests=False)) == (RunOutcome.NO_TESTS, "")
    assert worst(suites(nothing, (RunOutcome.PASSED, ""))) == (RunOutcome.PASSED, "s0: no tests")


@pytest.mark.parametrize("selected, outcome", [((), RunOutcome.NO_TESTS), (("a",), RunOutcome.PASSED)])
def test_suites_that_were_only_collected_need_tests_that_were_selected(
    selected: tuple[str, ...], outcome: RunOutcome
) -> None:
    result = begin(e.RunStarted("id", "pytest,go", (), "/p", "", "", collect_only=True, suites=2))
    for event in (e.TestsSelected(selected), e.SuiteFinished(RunOutcome.PASSED)):
        fold(result, e.Entry(0, 0.0, 0, event))

    assert worst(result) == (outcome, "")


def test_a_stopped_run_names_its_build_but_no_other_suite() -> None:
    stopped = e.RunStopped(RunOutcome.TIMEOUT)

    assert worst(result_of(*ALL_PASSED, stopped)) == (RunOutcome.TIMEOUT, "")
    assert worst(result_of(source(Voice.BUILD), stopped)) == (RunOutcome.TIMEOUT, "during unit")


def test_the_reason_of_a_suite_is_its_own_or_that_it_has_no_tests() -> None:
    (own, empty, fine) = suites(
        (RunOutcome.NO_TESTS, "nothing matched"), (RunOutcome.NO_TESTS, ""), (RunOutcome.PASSED, "")
    ).suites

    assert [suite_reason(suite) for suite in (own, empty, fine)] == ["nothing matched", "no tests", ""]

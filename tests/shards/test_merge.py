"""Every way to lose or double a shard or a test, and what a merge says about it."""

from __future__ import annotations

from itertools import permutations

import pytest
from msgspec.structs import replace
from support.shard_runs import (
    FAILED,
    PASSED,
    SKIPPED,
    events_of,
    log_of,
    merged,
    merged_log,
    plan_of,
    recorded,
    shard_log,
)

from proctor import events as e
from proctor.errors import UsageError
from proctor.outcome import Outcome, RunOutcome
from proctor.result import RunResult
from proctor.shards.part import planned
from proctor.shards.plan import Shard

PLAN = plan_of(["a", "b"], ["c"], ["d", "e"])
ALL = [shard_log(PLAN, number) for number in (1, 2, 3)]


def _outcomes(result: RunResult) -> dict[str, str]:
    return {test: str(ended.outcome) for test, ended in result.tests.items()}


def _said(result: RunResult) -> str:
    return "\n".join([result.reason, *result.notices])


def test_all_shards_of_a_plan_are_one_run_that_passed() -> None:
    result = merged(*ALL)

    assert (result.outcome, result.reason, result.notices) == (RunOutcome.PASSED, "", [])
    assert [suite.name for suite in result.suites] == ["pytest 1/3", "pytest 2/3", "pytest 3/3"]
    assert list(result.tests) == ["a", "b", "c", "d", "e"]
    assert result.planned == e.TestsPlanned(("a", "b", "c", "d", "e"), PLAN.digest(), 0, 3)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_in_which_shards_are_given_decides_nothing(order: tuple[int, ...]) -> None:
    result = merged(*(ALL[number] for number in order), plan=PLAN)

    assert result.outcome is RunOutcome.PASSED
    assert sorted(result.tests) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_shard_that_is_missing_is_a_gap_by_its_number(number: int) -> None:
    result = merged(*(log for at, log in enumerate(ALL, 1) if at != number))

    assert result.outcome is RunOutcome.INCOMPLETE
    assert f"pytest {number}/3: no run of shard {number}/3 was given" in result.reason


@pytest.mark.parametrize("number", [1, 2, 3])
def test_with_the_plan_the_tests_of_a_missing_shard_are_named(number: int) -> None:
    result = merged(*(log for at, log in enumerate(ALL, 1) if at != number), plan=PLAN)

    assert result.outcome is RunOutcome.INCOMPLETE
    assert result.not_run == PLAN.shards[number - 1].tests
    assert f"no run of shard {number}/3 was given" in result.reason


def test_many_missing_shards_are_one_gap_however_many_somebody_has_written() -> None:
    due = e.TestsPlanned(("a",), "0123", 7, 100_000)
    result = merged(log_of(events_of({"a": PASSED}), due))

    assert result.outcome is RunOutcome.INCOMPLETE
    assert "no run of shards 1/100000, 2/100000, 3/100000 and 99996 more was given" in result.reason
    assert len(result.suites) == 2


def test_an_empty_shard_is_no_fault() -> None:
    plan = plan_of(["a"], [])
    both = merged(shard_log(plan, 1), shard_log(plan, 2))

    assert (both.outcome, both.reason, len(both.suites)) == (RunOutcome.PASSED, "", 1)


def test_an_empty_shard_may_be_missing_if_the_plan_says_that_it_has_nothing_to_do() -> None:
    plan = plan_of(["a"], [], ["b"])
    logs = [shard_log(plan, 1), shard_log(plan, 3)]
    with_files = replace(plan, shards=(plan.shards[0], Shard((), files=("test_s.py",)), plan.shards[2]))

    assert merged(*logs, plan=plan).outcome is RunOutcome.PASSED
    assert merged(*logs).outcome is RunOutcome.INCOMPLETE  # who knows without the plan that it is empty?
    assert merged(*logs, plan=with_files).outcome is RunOutcome.INCOMPLETE  # pytest counts such files


def test_an_empty_last_shard_must_not_be_missing_because_it_looks_for_new_tests() -> None:
    plan = plan_of(["a"], [])

    assert merged(shard_log(plan, 1), plan=plan).outcome is RunOutcome.INCOMPLETE


def test_shards_that_have_no_tests_together_are_a_run_without_tests() -> None:
    plan = plan_of([], [])
    result = merged(shard_log(plan, 1), shard_log(plan, 2))

    assert (result.outcome, result.exit_code) == (RunOutcome.NO_TESTS, 5)


# Tests that are missing inside a shard


def test_a_planned_test_that_a_shard_has_no_result_for_is_not_run() -> None:
    result = merged(ALL[0], ALL[1], shard_log(PLAN, 3, {"d": PASSED}))

    assert (result.outcome, result.not_run) == (RunOutcome.INCOMPLETE, ("e",))
    assert "pytest 3/3 (missing): 1 of 2 planned tests have no result: e" in result.reason


def test_what_a_shard_did_not_come_to_makes_the_merge_incomplete_also_with_maxfail() -> None:
    first = log_of(events_of({"a": FAILED}, ["a", "b"]), planned(PLAN, 1), "run-1")
    result = merged(first, *ALL[1:])

    assert (result.outcome, result.not_run) == (RunOutcome.INCOMPLETE, ("b",))
    assert _outcomes(result)["a"] == "failed"
    assert "b" in result.reason


def test_a_record_that_owes_nothing_hides_nothing() -> None:
    forged = log_of(events_of({"a": FAILED}), e.TestsPlanned((), PLAN.digest(), 1, 3))
    empty = log_of(events_of({}), e.TestsPlanned((), PLAN.digest(), 1, 3))

    assert merged(forged, *ALL[1:]).outcome is RunOutcome.FAILED
    assert merged(empty, *ALL[1:], plan=PLAN).not_run == ("a", "b")
    assert merged(empty).exit_code != 0
    whole = log_of(events_of({}), e.TestsPlanned((), PLAN.digest(), 0, 3), "whole")
    assert merged(whole, *ALL[1:]).outcome is RunOutcome.INCOMPLETE
    assert merged(whole).exit_code == 5


def test_tests_that_the_plan_does_not_know_are_kept() -> None:
    last = shard_log(PLAN, 3, {"d": PASSED, "e": PASSED, "new": FAILED})
    result = merged(*ALL[:2], last, plan=PLAN)

    assert result.outcome is RunOutcome.FAILED
    assert len(result.tests) == 6


# Runs that did not end


def test_a_log_that_is_cut_anywhere_is_never_a_pass_and_loses_no_test_that_ended() -> None:
    whole = shard_log(PLAN, 1, {"a": PASSED, "b": PASSED})
    lines = whole.splitlines(keepends=True)
    for end in range(1, len(lines)):
        cut = b"".join(lines[:end])
        result = merged(cut, *ALL[1:], plan=PLAN)
        ended = {
            test for test in ("a", "b") if b'"test","seq"' in cut and b'"label":"%s"' % test.encode() in cut
        }

        assert result.outcome is RunOutcome.INCOMPLETE, end
        assert {*result.tests, *result.not_run} == set("abcde"), end
        assert ended <= {*result.tests, *result.not_run}, end
        assert "b" not in result.tests or b'"b"' in cut, end


@pytest.mark.parametrize("size", range(2, 400, 23))
def test_a_log_that_is_cut_within_a_line_is_never_a_pass(size: int) -> None:
    result = merged(ALL[0][:-size], *ALL[1:], plan=PLAN)

    assert result.outcome is RunOutcome.INCOMPLETE
    assert {*result.tests, *result.not_run} == set("abcde")


def test_a_record_whose_end_says_more_than_its_tests_is_not_believed() -> None:
    lie = shard_log(PLAN, 2, {"c": FAILED}).replace(
        b'"outcome":"failed","seconds":1.0', b'"outcome":"passed","seconds":1.0'
    )
    result = merged(ALL[0], lie, ALL[2])

    assert result.exit_code != 0


def test_lines_that_are_missing_in_a_log_are_said() -> None:
    lines = ALL[1].splitlines(keepends=True)
    del lines[6]

    assert merged(ALL[0], b"".join(lines), ALL[2]).outcome is RunOutcome.INCOMPLETE


def test_a_run_that_was_stopped_between_two_suites_is_not_a_pass() -> None:
    events = [*events_of({"a": PASSED, "b": PASSED}), e.SuiteFinished(RunOutcome.PASSED, 1.0)]
    stopped = log_of([*events, e.RunStopped(RunOutcome.INTERRUPTED)], planned(PLAN, 1), "run-1")
    result = merged(stopped, *ALL[1:])

    assert result.outcome is RunOutcome.INCOMPLETE
    assert "pytest 1/3 (run): interrupted" in result.reason


def test_a_run_that_was_stopped_before_any_suite_is_not_a_pass() -> None:
    stopped = log_of([e.RunStopped(RunOutcome.CANCELLED)], None, "x")
    result = merged(stopped, log_of(events_of({"a": PASSED}), None, "y"))

    assert result.exit_code == 2


# The same thing twice


def test_a_file_that_is_given_twice_counts_once() -> None:
    result = merged(*ALL, ALL[0])

    assert (result.outcome, len(result.tests)) == (RunOutcome.PASSED, 5)
    assert result.notices == ["4 is the same as 1: it counts once"]


def test_two_records_of_one_run_count_once_and_the_better_record_counts() -> None:
    lines = ALL[0].splitlines(keepends=True)
    for records in permutations([ALL[0], b"".join(lines[:7])]):
        result = merged(*records, *ALL[1:])

        assert (result.outcome, len(result.tests)) == (RunOutcome.PASSED, 5)
        assert "are the same run run-1: it counts once" in _said(result)
        assert all(suite.entered.tries == 1 for suite in result.suites)


def test_two_records_of_one_run_that_disagree_do_not_hide_a_failure() -> None:
    other = shard_log(PLAN, 1, {"a": FAILED, "b": PASSED})
    for records in permutations([ALL[0], other]):
        result = merged(*records, *ALL[1:])

        assert (result.outcome, len(result.tests)) == (RunOutcome.FAILED, 5)
        assert _outcomes(result)["a"] == "failed"


def test_runs_without_a_plan_that_have_the_same_tests_are_different_tests() -> None:
    result = merged(
        *(log_of(events_of({"a": PASSED, "b": ends}), None, str(ends)) for ends in (PASSED, FAILED))
    )

    assert _outcomes(result) == {"a": "passed", "b": "passed", "a#2": "passed", "b#2": "failed"}
    assert [suite.name for suite in result.suites] == ["pytest 1", "pytest 2"]


# Tries of one shard


def _tries(*records: bytes) -> list[RunResult]:
    return [merged(*order, *ALL[1:]) for order in permutations(records)]


def test_of_several_tries_the_one_that_ended_counts() -> None:
    whole = shard_log(PLAN, 1, run_id="second")
    cut = b"".join(shard_log(PLAN, 1, {"a": FAILED, "b": PASSED}, "first").splitlines(keepends=True)[:8])
    for result in _tries(cut, whole):
        assert (result.outcome, len(result.tests)) == (RunOutcome.PASSED, 5)
        assert "shard 1/3 was run 2 times" in _said(result)
        assert "1 failed: a" in _said(result)
        assert [suite.entered.tries for suite in result.suites] == [2, 1, 1]


def test_of_two_tries_that_ended_the_worse_result_of_each_test_counts() -> None:
    one = shard_log(PLAN, 1, {"a": FAILED, "b": PASSED}, "first")
    two = shard_log(PLAN, 1, {"a": PASSED, "b": SKIPPED}, "second")
    for result in _tries(one, two):
        assert (result.outcome, len(result.tests)) == (RunOutcome.FAILED, 5)
        assert (_outcomes(result)["a"], _outcomes(result)["b"]) == ("failed", "skipped")
        assert "2 tests have results in 1 and in 2, and the worse one counts: a, b" in result.notices


def test_of_two_equal_tries_one_counts_and_the_suite_of_the_other_is_empty() -> None:
    result = merged(*ALL, shard_log(PLAN, 1, run_id="again"))

    assert (result.outcome, result.reason, len(result.tests)) == (RunOutcome.PASSED, "", 5)


def test_of_tries_that_did_not_end_all_results_count_and_nothing_hides_a_failure_or_a_gap() -> None:
    one = b"".join(shard_log(PLAN, 1, {"a": FAILED, "b": PASSED}, "first").splitlines(keepends=True)[:8])
    two = b"".join(shard_log(PLAN, 1, {"a": PASSED, "b": PASSED}, "second").splitlines(keepends=True)[:8])
    for result in _tries(one, two):
        assert result.outcome is RunOutcome.INCOMPLETE
        assert (_outcomes(result)["a"], len(result.tests), result.not_run) == ("failed", 4, ("b",))
        assert "none ended" in _said(result)


def test_a_try_that_crashed_and_has_a_result_for_every_test_has_ended() -> None:
    events = [
        event
        for event in events_of({"a": Outcome.CRASH, "b": PASSED})
        if not isinstance(event, e.ProcessExited)
    ]
    crashed = log_of([*events, e.ProcessExited(-11, "SIGSEGV")], planned(PLAN, 1), "first")
    for result in _tries(crashed, shard_log(PLAN, 1, run_id="second")):
        assert (result.outcome, _outcomes(result)["a"]) == (RunOutcome.CRASHED, "crash")


def test_a_test_that_two_shards_have_run_counts_once() -> None:
    two = shard_log(PLAN, 2, {"c": PASSED, "a": FAILED})
    result = merged(ALL[0], two, ALL[2])

    assert (result.outcome, len(result.tests), _outcomes(result)["a"]) == (RunOutcome.FAILED, 5, "failed")
    assert "1 test has results in 1 and in 2, and the worse one counts: a" in result.notices


# Several plans


def test_shards_of_two_plans_must_each_be_complete() -> None:
    other = plan_of(["a", "b"], ["c", "d", "e"], fingerprint="other")
    both = [shard_log(other, number, run_id=f"other-{number}") for number in (1, 2)]

    whole, less = merged(*ALL, *both), merged(*ALL, both[0])

    assert (whole.outcome, len(whole.tests)) == (RunOutcome.PASSED, 10)
    assert whole.suites[3].name == f"pytest 1/2 {other.digest()[:6]}"
    assert less.outcome is RunOutcome.INCOMPLETE
    assert f"no run of shard 2/2 {other.digest()[:6]} was given" in less.reason


def test_a_test_that_is_missing_in_one_plan_is_missing_although_another_plan_has_it() -> None:
    other = plan_of(["a", "b"], fingerprint="other")
    result = merged(*ALL, shard_log(other, 1, {"a": PASSED}, "other"))

    assert (result.outcome, result.not_run) == (RunOutcome.INCOMPLETE, ("b#2",))
    assert result.planned is not None and result.planned.tests[-2:] == ("a#2", "b#2")


def test_a_shard_of_another_plan_than_the_one_that_was_given_makes_the_merge_incomplete() -> None:
    other = plan_of(["z"])
    result = merged(*ALL, shard_log(other, 1, run_id="z"), plan=PLAN)

    assert (result.outcome, len(result.tests)) == (RunOutcome.INCOMPLETE, 6)
    assert "runs of another plan than the one that was given: 4" in result.reason


def test_shards_that_saw_different_lists_of_tests_are_incomplete_and_say_so() -> None:
    lists = plan_of(["a"], ["b"]), plan_of(["a"], ["b", "c"])
    result = merged(*(shard_log(plan, number, own=True) for number, plan in enumerate(lists, 1)))

    assert result.outcome is RunOutcome.INCOMPLETE
    assert "2 saw another list of tests than 1" in result.reason


def test_shards_with_the_same_list_need_no_plan_that_was_made_before() -> None:
    result = merged(*(shard_log(PLAN, number, own=True) for number in (1, 2, 3)))

    assert result.outcome is RunOutcome.PASSED
    assert result.planned is not None and result.planned.own


# Records that cannot be true


@pytest.mark.parametrize(("number", "count"), [(4, 3), (-1, 3), (1, 0), (1, -2), (1, 100_001), (1, 10**9)])
def test_a_shard_number_that_cannot_be_is_refused(number: int, count: int) -> None:
    with pytest.raises(UsageError, match=f"1 is not valid: it is marked as shard {number} of {count}"):
        merged(log_of(events_of({"a": PASSED}), e.TestsPlanned(("a",), "p", number, count)))


def test_shards_of_one_plan_that_disagree_on_their_number_are_refused() -> None:
    with pytest.raises(
        UsageError, match="2 is marked as one of 4 shards, but 1 has 3 shards with the same plan"
    ):
        merged(ALL[0], log_of(events_of({"c": PASSED}), replace(planned(PLAN, 2), shards=4), "x"))


def test_two_lists_of_tests_for_one_shard_are_a_gap() -> None:
    other = log_of(events_of({"a": PASSED}), replace(planned(PLAN, 1), tests=("a",)), "run-1")

    assert (
        "1 has another list of tests for shard 1/3 than the plan has"
        in merged(other, *ALL[1:], plan=PLAN).reason
    )
    assert merged(other, shard_log(PLAN, 1, run_id="again"), *ALL[1:]).outcome is RunOutcome.INCOMPLETE


def test_what_a_record_says_is_missing_stays_missing() -> None:
    due = replace(planned(PLAN, 1), gaps=("a machine was lost",))
    result = merged(log_of(events_of({"a": PASSED, "b": PASSED}), due, "run-1"), *ALL[1:])

    assert result.outcome is RunOutcome.INCOMPLETE
    assert result.reason.count("a machine was lost") == 1


def test_tests_without_a_result_are_named_by_the_runner_of_their_shard() -> None:
    short = log_of(events_of({"d": PASSED}), planned(PLAN, 3), "run-3")
    result = merged(*ALL[:2], short.replace(b'"runner":"pytest"', b'"runner":"node"'))

    assert "node 3/3 (missing): 1 of 2 planned tests have no result: e" in result.reason


def test_a_list_of_tests_is_no_run() -> None:
    listed = log_of([]).replace(b'"extra":{', b'"extra":{"collect_only":true,', 1)

    with pytest.raises(UsageError, match="1 is a list of tests: expected a run"):
        merged(listed)


@pytest.mark.parametrize("data", [b"hello\n", b"\0\1\2", b'{"schema":"proctor.result/1"', b"{}"])
def test_what_is_no_record_is_refused_by_its_name(data: bytes) -> None:
    with pytest.raises(UsageError, match="broken"):
        merged(*ALL, recorded("broken", data))


def test_a_record_that_changes_between_two_readings_is_refused() -> None:
    data = iter([ALL[0], ALL[0] + shard_log(PLAN, 2)])
    changing = replace(recorded("changing", b""), pieces=lambda: iter([next(data)]))

    with pytest.raises(UsageError, match="changing has changed while it was read"):
        merged(changing)


# Nothing is lost on the way


def test_several_runs_in_one_file_are_several_runs() -> None:
    result = merged(b"".join(ALL))

    assert (result.outcome, len(result.suites), len(result.tests)) == (RunOutcome.PASSED, 3, 5)


def test_suites_keep_their_times_and_the_run_lasts_from_the_first_start_to_the_last_end() -> None:
    logs = [shard_log(PLAN, number, second=second) for number, second in ((1, 20), (2, 10), (3, 50))]
    result = merged(*logs)

    assert [suite.started for suite in result.suites] == [10.5, 0.5, 40.5]
    assert (result.run.started, result.seconds) == ("2026-01-01T00:00:10.000+00:00", 41.0)


def test_notices_of_many_shards_are_told_once_and_suites_that_are_missing_too() -> None:
    missing, note = e.SuiteMissing("node", "not here", True), e.Noticed("careful")
    logs = [
        log_of(
            [missing, note, *events_of(dict.fromkeys(shard.tests, PASSED))],
            planned(PLAN, number),
            f"r{number}",
        )
        for number, shard in enumerate(PLAN.shards, 1)
    ]
    logs[2] = log_of([e.Noticed("odd"), *events_of({"d": PASSED, "e": PASSED})], planned(PLAN, 3), "r3")
    result = merged(*logs)

    assert result.notices == ["1/3, 2/3: careful", "3/3: odd"]
    assert result.missing == [missing]
    assert (result.outcome, "node: not run: not here" in result.reason) == (RunOutcome.INCOMPLETE, True)


def test_errors_attempts_quarantine_and_words_of_every_shard_are_kept_once() -> None:
    flaky = e.TestFinished("a", PASSED, attempts=(e.Attempt(FAILED, 0.1, "once"),))
    error = e.CollectionFailed("conftest.py", e.Failure("E", "broken"))
    words = e.HistoryCompared(
        {"c": e.TestHistory("new")}, ("b",), e.EarlierRun("r0", started="2026-01-01T00:00:00Z")
    )
    other = e.BaselineCompared("main", "abc", {"c": "fails"})
    one = [
        *events_of({"b": PASSED}, ["a", "b"], [error])[:-2],
        flaky,
        e.SessionFinished(1),
        e.ProcessExited(1),
    ]
    two = [*events_of({"c": FAILED}, before=[error, e.TestsQuarantined({"c": "later"})]), words, other]
    result = merged(log_of(one, planned(PLAN, 1), "r1"), log_of(two, planned(PLAN, 2), "r2"), ALL[2])

    assert (result.flaky, result.excused, len(result.collection_errors)) == (1, 1, 1)
    assert result.history == words
    assert result.baseline == other
    assert result.outcome is RunOutcome.COLLECTION_ERROR


def test_words_of_two_plans_are_about_the_tests_of_their_own_plan() -> None:
    other = plan_of(["c"], fingerprint="other")
    words = e.HistoryCompared({"c": e.TestHistory("still")})
    two = log_of([*events_of({"c": FAILED}), words], planned(other, 1), "x")
    result = merged(*ALL, two)

    assert result.history == e.HistoryCompared({"c#2": e.TestHistory("still")})


@pytest.mark.parametrize("second", ["c0ffee", "decaf0"])
def test_the_commit_of_all_shards_is_that_of_the_merged_run(second: str) -> None:
    plan = plan_of(["a"], ["b"])
    told = [e.HistoryCompared(checkout=e.CheckedOut(commit, "main")) for commit in ("c0ffee", second)]
    result = merged(
        *(
            log_of([*events_of({shard.tests[0]: PASSED}), words], planned(plan, number), f"r{number}")
            for number, (shard, words) in enumerate(zip(plan.shards, told, strict=True), 1)
        )
    )

    assert result.history is not None
    assert result.history.checkout == (told[0].checkout if second == "c0ffee" else None)


def test_a_test_that_one_shard_leaves_out_and_another_one_runs_is_not_left_out() -> None:
    logs = [
        log_of(
            [*events_of(dict.fromkeys(shard.tests, PASSED), before=[e.TestsDeselected((*"abcde", "never"))])],
            planned(PLAN, number),
            f"r{number}",
        )
        for number, shard in enumerate(PLAN.shards, 1)
    ]

    assert merged(*logs).deselected == ["never"]


def test_paths_of_attached_files_lead_to_the_run_that_has_them() -> None:
    kept = e.File("x.txt", "files/x.txt", 3)
    ended = e.TestFinished("a", PASSED, files=(kept,), testout=e.OutputLink("out", "files/out.txt"))
    log = log_of(
        [
            *events_of({}, ["a"])[:-2],
            e.FileAttached("a", kept),
            ended,
            e.SessionFinished(0),
            e.ProcessExited(0),
        ]
    )
    again = merged_log(recorded("one", log, "/runs/one"))
    for result in (merged(recorded("one", log, "/runs/one")), merged(recorded("two", again, "/elsewhere"))):
        assert [file.path for file in result.tests["a"].files] == ["/runs/one/files/x.txt"]
        assert result.tests["a"].testout == e.OutputLink("out", "/runs/one/files/out.txt")


@pytest.mark.parametrize("records", [ALL, ALL[:2], [*ALL, ALL[0]], [ALL[0][:-200], *ALL[1:]]])
def test_merging_what_was_merged_gives_the_same_run(records: list[bytes]) -> None:
    once = merged_log(*records)
    first, again = merged(*records), merged(once)

    assert (again.outcome, again.reason, again.not_run) == (first.outcome, first.reason, first.not_run)
    assert again.tests == first.tests
    assert again.planned == first.planned
    assert [suite.name for suite in again.suites] == [suite.name for suite in first.suites]


def test_the_share_of_each_shard_is_no_notice_of_the_whole() -> None:
    logs = [
        log_of(
            [
                e.Noticed(f"shard {number} of 3: {len(shard.tests)} of 5 tests; no plan was used"),
                *events_of(dict.fromkeys(shard.tests, PASSED)),
            ],
            planned(PLAN, number, own=True),
            f"r{number}",
        )
        for number, shard in enumerate(PLAN.shards, 1)
    ]

    assert merged(*logs).notices == ["no plan was used"]

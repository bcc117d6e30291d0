"""Recorded runs, replayed: each gets an end, whatever its record lacks."""

from __future__ import annotations

import pytest

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.replay import Replay, cut_short
from proctor.result import RunResult

NO_END = "the stream ends without its final line"


def started(run_id: str = "one") -> e.RunStarted:
    return e.RunStarted(run_id, "pytest", (), "/p", "", "2026-01-01T00:00:00Z")


FACTS: tuple[e.Event, ...] = (
    e.TestsSelected(("a", "b", "c")),
    e.SuiteStarted("pytest", "", 3),
    e.TestStarted("a"),
    e.TestFinished("a", Outcome.PASSED),
    e.TestStarted("b"),
)


class Reader:
    """Keeps the entries and the ticks; fails at the entry with this number."""

    name = "reader"

    def __init__(self, fails_at: int = -1) -> None:
        self.fails_at = fails_at
        self.seen: list[e.Entry] = []
        self.ticks: list[float] = []

    def handle(self, entry: e.Entry, so_far: RunResult) -> None:
        if entry.seq == self.fails_at:
            raise OSError("disk full")
        self.seen.append(entry)

    def tick(self, now: float, so_far: RunResult) -> None:
        self.ticks.append(now)


class Runs:
    """A replay with what came out of it: a reader for each run, and the results."""

    def __init__(self, fails_at: int = -1) -> None:
        self.readers: list[Reader] = []
        self.results: list[RunResult] = []
        self._fails_at = fails_at
        self.replay = Replay(self._new_readers, self.results.append)

    def _new_readers(self) -> list[Reader]:
        self.readers.append(Reader(self._fails_at))
        return self.readers[-1:]

    def take(self, *events: e.Event, suite: int = 0) -> None:
        self.replay.take([e.Entry(0, float(at), suite, event) for at, event in enumerate(events)])


def test_a_whole_run_is_replayed_entry_by_entry_and_needs_no_close() -> None:
    runs = Runs()
    runs.take(started(), *FACTS, e.RunFinished(RunOutcome.INTERRUPTED, 4.0, ("c",), "SIGINT"))

    (result,), (reader,) = runs.results, runs.readers
    assert runs.replay.settled
    assert (result.outcome, result.reason, result.seconds) == (RunOutcome.INTERRUPTED, "SIGINT", 4.0)
    assert [(entry.seq, entry.at) for entry in reader.seen] == [(n, float(n)) for n in range(7)]
    assert reader.ticks == [6.0]
    runs.replay.close()
    assert (len(runs.results), runs.replay.gaps) == (1, [])


def test_a_cut_log_is_incomplete_and_its_reason_counts_what_is_missing() -> None:
    runs = Runs()
    runs.take(started(), *FACTS)
    assert not runs.replay.settled
    runs.replay.close()

    (result,), (reader,) = runs.results, runs.readers
    assert runs.replay.settled
    assert runs.replay.gaps == [NO_END]
    assert result.outcome is result.suites[0].outcome is RunOutcome.INCOMPLETE
    assert result.reason == result.suites[0].reason == f"{NO_END}; 1 of 3 tests have no result"
    assert result.tests["b"].message == f"no result arrived: {NO_END}"
    assert result.not_run == ("c",)
    assert (result.seconds, result.suites[0].seconds) == (5.0, 5.0)
    assert [type(entry.event) for entry in reader.seen[6:]] == [
        e.ChannelBroken,
        e.TestFinished,
        e.SuiteFinished,
        e.RunFinished,
    ]
    assert {entry.at for entry in reader.seen[6:]} == {5.0}
    assert reader.ticks == [5.0]


def test_a_cut_log_of_which_every_test_has_a_result_is_incomplete_all_the_same() -> None:
    runs = Runs()
    tests = [e.TestFinished(test, Outcome.PASSED) for test in "abc"]
    runs.take(started(), *FACTS, *tests, e.SessionFinished(0), e.ProcessExited(0))
    runs.replay.close()

    assert (runs.results[0].outcome, runs.results[0].reason) == (RunOutcome.INCOMPLETE, NO_END)


def test_a_cut_log_of_a_run_that_was_stopped_says_so() -> None:
    runs = Runs()
    runs.take(started(), *FACTS, e.RunStopped(RunOutcome.TIMEOUT))
    runs.replay.close()

    (result,) = runs.results
    assert result.outcome is result.suites[0].outcome is RunOutcome.TIMEOUT
    assert result.tests["b"].outcome is Outcome.TIMEOUT


def test_a_cut_log_keeps_the_suites_that_ended_and_ends_the_others() -> None:
    runs = Runs()
    runs.take(started(), *FACTS, e.SuiteFinished(RunOutcome.CRASHED, 1.0, (), "first"))
    runs.take(e.SuiteEntered("go", "go", (), "/p"), e.SuiteStarted("go", "", 2), suite=1)
    runs.replay.close()

    (result,), (reader,) = runs.results, runs.readers
    assert [(suite.outcome, suite.reason) for suite in result.suites] == [
        (RunOutcome.CRASHED, "first"),
        (RunOutcome.INCOMPLETE, f"{NO_END}; 2 of 2 tests have no result"),
    ]
    assert result.reason == f"{NO_END}; 4 of 5 tests have no result"
    broken = [entry.suite for entry in reader.seen if isinstance(entry.event, e.ChannelBroken)]
    assert broken == [1]


def test_two_runs_in_one_file_have_readers_and_results_of_their_own() -> None:
    runs = Runs()
    ended = e.RunFinished(RunOutcome.INTERRUPTED, 1.0)
    runs.take(started("one"), ended, started("two"), ended)

    assert [result.run.run_id for result in runs.results] == ["one", "two"]
    assert [[entry.seq for entry in reader.seen] for reader in runs.readers] == [[0, 1], [0, 1]]
    assert runs.replay.gaps == []


def test_a_run_that_begins_before_the_end_of_another_cuts_that_one_short() -> None:
    runs = Runs()
    runs.take(started("one"), *FACTS, started("two"), e.RunFinished(RunOutcome.TIMEOUT))

    first, second = runs.results
    reason = "another run begins before the final line of this one"
    assert runs.replay.gaps == [reason]
    assert (first.outcome, first.reason) == (
        RunOutcome.INCOMPLETE,
        f"{reason}; 1 of 3 tests have no result",
    )
    assert (second.outcome, second.run.run_id) == (RunOutcome.TIMEOUT, "two")


def test_a_run_under_way_is_shown_as_far_as_it_got_and_lacks_nothing() -> None:
    runs = Runs()
    runs.take(started(), *FACTS)
    runs.replay.close("it goes on")

    (result,), (reader,) = runs.results, runs.readers
    assert (result.outcome, result.seconds, result.notices) == (RunOutcome.RUNNING, 5.0, ["it goes on"])
    assert list(result.running) == ["b"]
    assert runs.replay.gaps == []
    assert runs.replay.settled
    assert [type(entry.event) for entry in reader.seen[6:]] == [e.Noticed, e.RunFinished]
    assert {entry.at for entry in reader.seen[6:]} == {5.0}


def test_a_log_that_lacks_its_first_line_is_a_run_of_nobody() -> None:
    runs = Runs()
    runs.take(e.TestFinished("a", Outcome.PASSED), e.RunFinished(RunOutcome.PASSED, 1.0))

    (result,) = runs.results
    assert result.run == e.RunStarted("", "", (), "", "", "")
    assert list(result.tests) == ["a"]


def test_entries_keep_their_suite() -> None:
    runs = Runs()
    runs.take(started(), e.SuiteFinished(RunOutcome.PASSED))
    runs.take(e.TestFinished("a", Outcome.PASSED), e.RunFinished(RunOutcome.PASSED), suite=1)

    assert [list(suite.tests) for suite in runs.results[0].suites] == [[], ["a"]]


def test_nothing_is_no_run() -> None:
    runs = Runs()
    runs.replay.tick(1.0)
    runs.replay.close("it goes on")
    runs.replay.check()

    assert (runs.results, runs.readers, runs.replay.gaps) == ([], [], [])


def test_readers_are_ticked_while_a_run_is_open() -> None:
    runs = Runs()
    runs.take(started())
    runs.replay.tick(7.5)

    assert runs.readers[0].ticks == [7.5]


@pytest.mark.parametrize("fails_at", [0, 3, 6])
def test_a_reader_that_fails_makes_the_check_fail_after_the_run_got_its_end(fails_at: int) -> None:
    runs = Runs(fails_at)
    runs.take(started(), *FACTS, e.RunFinished(RunOutcome.TIMEOUT))

    assert runs.results[0].outcome is RunOutcome.TIMEOUT
    with pytest.raises(OSError, match="disk full"):
        runs.replay.check()


def test_the_first_fault_of_all_runs_is_the_one_that_is_raised() -> None:
    runs = Runs()
    runs.take(started(), e.RunFinished(RunOutcome.PASSED))
    runs.replay.check()
    runs._fails_at = 0
    runs.take(started(), e.RunFinished(RunOutcome.PASSED))

    with pytest.raises(OSError, match="disk full"):
        runs.replay.check()


def test_a_record_that_never_counted_its_tests_says_nothing_of_missing_ones() -> None:
    runs = Runs()
    runs.take(started())
    runs.replay.close()

    assert runs.results[0].reason == NO_END


def test_endings_are_made_one_by_one_as_they_are_folded() -> None:
    runs = Runs()
    runs.take(started(), *FACTS)
    relay = runs.replay._relay
    assert relay is not None

    numbers, events = zip(*cut_short(relay.result, 5.0, "cut"), strict=True)
    assert set(numbers) == {0}
    assert events[0] == e.ChannelBroken("cut")
    assert events[-1] == e.RunFinished(RunOutcome.INCOMPLETE, 5.0, (), "cut; 2 of 3 tests have no result")


def test_a_fault_in_a_run_without_its_first_line_makes_the_check_fail_too() -> None:
    runs = Runs(fails_at=0)
    runs.take(e.RunFinished(RunOutcome.PASSED))

    with pytest.raises(OSError, match="disk full"):
        runs.replay.check()

"""What `proctor watch` runs next."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay
from proctor.result import RunResult
from proctor.spec import TARGET_BYTES, Selection
from proctor.watching.rounds import Round, Rounds

ROOT = "/project"
A, B, C = "tests/test_a.py", "tests/test_b.py", "tests/test_c.py"
TESTS = [f"{file}::test_{number}" for file in (A, B, C) for number in (1, 2)]


def run_of(
    tests: Iterable[str],
    failing: Iterable[str] = (),
    broken: Iterable[str] = (),
    events: Iterable[e.Event] = (),
    stop: RunOutcome | None = None,
    only: int | None = None,
) -> RunResult:
    """A run as it would be published. `broken`: files that cannot be collected. `only`: that many tests come
    to an end, and then the process dies, or the run is stopped."""
    chosen, failing = list(tests), set(failing)
    relay = Relay(e.RunStarted("", "pytest", (), ROOT, "", ""), [])
    facts: list[e.Event] = [
        e.TestsSelected(tuple(chosen)),
        e.SuiteStarted("pytest", "", len(chosen)),
        *events,
    ]
    facts += [e.CollectionFailed(file, e.Failure("SyntaxError")) for file in broken]
    for test in chosen[:only]:
        why = e.Failure("AssertionError", "no") if test in failing else None
        end = e.TestFinished(test, Outcome.FAILED if why else Outcome.PASSED, failure=why)
        facts += [e.TestStarted(test), end]
    if stop is not None:
        facts += [e.TestStarted(test) for test in chosen[only:][:1]] + [e.RunStopped(stop)]
    if only is None:
        status = 1 if failing & set(chosen) or list(broken) else 0
        facts += [e.SessionFinished(status)]
        facts += [e.ProcessExited(status)]
    else:
        facts.append(e.ProcessExited(-11, "SIGSEGV"))
    for fact in facts:
        relay.publish(fact, 0.0)
    return relay.close(0.0)


def itself(target: str, root: Path, changed: bool) -> str:
    return target


def nothing(paths: frozenset[str]) -> tuple[str, ...]:
    return ()


def test_files(paths: frozenset[str]) -> tuple[str, ...]:
    """A changed test file is its own; so are those of the module `shop.py`."""
    return tuple(sorted({*(paths & {A, B, C}), *([A, B] if "shop.py" in paths else [])}))


test_files.__test__ = False  # type: ignore[attr-defined]


def rounds_after(result: RunResult, selection: Selection | None = None) -> Rounds:
    """After a first run."""
    rounds = Rounds(selection or Selection(), test_files, itself)
    assert rounds.ended(rounds.begin(), result) is None
    return rounds


def targets(round: Round | None) -> tuple[str, ...]:
    assert round is not None and round.selection is not None
    return round.selection.targets


def test_the_first_round_is_everything_that_was_asked_for() -> None:
    assert Rounds(Selection(), nothing).begin().name == "all tests"
    some = Rounds(Selection(("tests",)), nothing).begin()

    assert (some.name, some.selection) == ("all selected tests", None)


def test_what_failed_comes_first_then_what_the_change_touches_then_everything() -> None:
    rounds = rounds_after(run_of(TESTS, [TESTS[5]]))

    first = rounds.changed(frozenset({"shop.py"}))
    second = rounds.ended(first, run_of([TESTS[5]]))
    assert (first.name, targets(first)) == ("failed tests", (TESTS[5],))
    assert second is not None and (second.name, targets(second)) == ("changed tests", (A, B))
    third = rounds.ended(second, run_of(TESTS[:4]))
    assert third is not None and third.selection is None
    assert not rounds.green

    assert rounds.ended(third, run_of(TESTS)) is None
    assert rounds.green


def test_a_round_that_fails_is_the_last_and_the_change_stays_pending() -> None:
    rounds = rounds_after(run_of(TESTS, [TESTS[5]]))
    first = rounds.changed(frozenset({A}))
    assert rounds.ended(first, run_of([TESTS[5]], [TESTS[5]])) is None

    again = rounds.changed(frozenset({B}))
    assert targets(again) == (TESTS[5],)
    assert targets(rounds.ended(again, run_of([TESTS[5]]))) == (A, B)


def test_a_change_that_touches_nothing_known_runs_everything_at_once() -> None:
    rounds = rounds_after(run_of(TESTS))
    assert rounds.changed(frozenset({"data.json"})).selection is None


def test_a_round_that_would_leave_nothing_out_is_a_run_of_everything() -> None:
    rounds = rounds_after(run_of(TESTS[:4]))
    assert rounds.changed(frozenset({"shop.py"})).selection is None
    only = rounds_after(run_of(TESTS[:1], TESTS[:1]))
    assert only.changed(frozenset({A})).selection is None
    assert targets(only.asked("failed")) == (TESTS[0],)


def test_a_change_during_a_round_is_not_lost_whatever_that_round_still_says() -> None:
    rounds = rounds_after(run_of(TESTS))
    first = rounds.changed(frozenset({A}))
    second = rounds.changed(frozenset({A, B}))
    assert rounds.ended(first, run_of(TESTS[:2])) is None  # it had just ended when it was to be cancelled

    assert targets(second) == (A, B)
    last = rounds.ended(second, run_of(TESTS[:4]))
    assert last is not None and last.selection is None
    rounds.changed(frozenset({C}))
    assert rounds.ended(last, run_of(TESTS)) is None
    assert not rounds.green
    assert targets(rounds.changed(frozenset())) == (C,)


def test_a_run_that_was_stopped_tells_what_ended_and_nothing_else() -> None:
    rounds = rounds_after(run_of(TESTS, TESTS[:3], stop=RunOutcome.CANCELLED, only=2))

    assert targets(rounds.changed(frozenset({"data.json"}))) == tuple(
        TESTS[:2]
    )  # not the third: it was running
    first = rounds.changed(frozenset({C}))
    assert rounds.ended(first, run_of(TESTS[:2], stop=RunOutcome.INTERRUPTED, only=1)) is None
    assert targets(rounds.changed(frozenset())) == (TESTS[1],)


def test_what_a_crash_kept_from_running_counts_as_failed() -> None:
    rounds = rounds_after(run_of(TESTS, only=4))
    assert targets(rounds.changed(frozenset({A}))) == tuple(TESTS[4:])


def test_a_file_that_cannot_be_collected_is_run_as_a_whole_until_it_can_be() -> None:
    rounds = rounds_after(run_of(TESTS[:4], broken=[C]))
    first = rounds.changed(frozenset({"data.json"}))
    assert targets(first) == (C,)

    assert rounds.ended(first, run_of([TESTS[5]], [TESTS[5]])) is None
    assert targets(rounds.changed(frozenset())) == (TESTS[5],)


def test_after_a_limit_of_failures_the_rest_is_not_called_failed() -> None:
    enough = e.SessionInterrupted(e.Failure("maxfail", "stopping after 1 failures"))
    rounds = Rounds(Selection(), test_files, itself)
    assert rounds.ended(rounds.begin(), run_of(TESTS, TESTS[:1], events=[enough], only=1)) is None
    assert targets(rounds.changed(frozenset({B}))) == (TESTS[0],)


def test_a_test_that_is_no_longer_there_makes_no_mistake_of_the_run() -> None:
    gone = {TESTS[0]}

    def still(target: str, root: Path, changed: bool) -> str:
        return "" if target in gone else f"{target}!" if changed else target

    rounds = Rounds(Selection(), test_files, still)
    rounds.ended(rounds.begin(), run_of(TESTS, [TESTS[0], TESTS[2]]))
    assert targets(rounds.changed(frozenset({B}))) == (f"{TESTS[2]}!",)
    gone.add(TESTS[2])
    assert targets(rounds.changed(frozenset())) == (B,)


def test_a_round_that_pytest_refuses_is_followed_by_everything() -> None:
    rounds = rounds_after(run_of(TESTS, TESTS[:1]))
    refused = run_of([], events=[e.StatusExplained(RunOutcome.USAGE_ERROR, "not found: x")])
    assert refused.outcome is RunOutcome.USAGE_ERROR

    first = rounds.changed(frozenset({A}))
    following = rounds.ended(first, refused)
    assert following is not None and following.selection is None
    assert rounds.refused(first) == following
    assert rounds.ended(following, refused) is None
    assert rounds.refused(following) is None


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("tests",), (A,)),
        (("./tests/",), (A,)),
        ((f"{ROOT}/tests",), (A,)),
        ((".",), (A,)),
        ((f"{A}::test_2", B), (f"{A}::test_2",)),
        ((A, f"{A}::test_2"), (A, f"{A}::test_2")),
        (("other", B), ()),
        (("test",), ()),
    ],
)
def test_a_part_is_within_what_the_command_line_asked_for(
    asked: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    rounds = rounds_after(run_of(TESTS), Selection(asked, "not slow", "db"))
    found = rounds.changed(frozenset({A})).selection

    assert found == (Selection(expected, "not slow", "db") if expected else None)


def test_keys_ask_for_rounds_after_which_nothing_follows() -> None:
    rounds = rounds_after(run_of(TESTS, TESTS[:1]), Selection(("tests",), "cart or shop"))
    everything, failed = rounds.asked("all"), rounds.asked("failed")
    matching = rounds.asked("pattern", " cart ")
    assert everything and failed and matching

    assert (everything.name, everything.selection) == ("all selected tests", None)
    assert targets(failed) == (TESTS[0],)
    assert matching.name == "tests matching 'cart'"
    assert matching.selection == Selection(("tests",), "(cart or shop) and (cart)")
    assert rounds.asked("pattern", " ") == everything
    assert rounds.asked("other") is None
    assert rounds.ended(matching, run_of(TESTS[1:2])) is None
    assert not rounds.green
    assert rounds.ended(failed, run_of(TESTS[:1])) is None
    assert rounds.asked("failed") is None
    assert not rounds.green


def test_a_part_says_how_many_tests_it_left_out() -> None:
    rounds = Rounds(Selection(), test_files, itself)
    begun = rounds.begin()
    pattern = rounds.asked("pattern", "x")
    assert pattern is not None
    assert rounds.not_run(pattern, run_of(TESTS[:1])) == "no other tests were run"
    rounds.ended(begun, run_of(TESTS))

    assert rounds.not_run(begun, run_of(TESTS)) == ""
    assert rounds.not_run(pattern, run_of(TESTS[:1])) == "5 other tests were not run"
    assert rounds.not_run(pattern, run_of(TESTS[:5])) == "1 other test was not run"
    assert rounds.not_run(pattern, run_of(TESTS)) == "no other tests were run"


def test_a_test_that_failed_once_since_everything_passed_is_not_made_good_by_a_part() -> None:
    rounds = rounds_after(run_of(TESTS))
    matching = rounds.asked("pattern", "test_1")
    assert rounds.green and matching is not None
    rounds.ended(matching, run_of(TESTS[:1], TESTS[:1]))
    rounds.ended(matching, run_of(TESTS[:1]))
    assert rounds.asked("failed") is None
    assert not rounds.green


def test_a_run_of_everything_that_is_cut_short_forgets_no_test() -> None:
    rounds = rounds_after(run_of(TESTS))
    everything, matching = rounds.asked("all"), rounds.asked("pattern", "x")
    assert everything and matching
    rounds.ended(everything, run_of(TESTS[:1], stop=RunOutcome.CANCELLED, only=0))
    assert rounds.not_run(matching, run_of(TESTS[:1])) == "5 other tests were not run"


def test_a_file_that_has_run_as_a_whole_has_no_other_tests_and_does_not_run_twice() -> None:
    rounds = Rounds(Selection(), test_files, lambda target, root, changed: file_of(target))
    rounds.ended(rounds.begin(), run_of(TESTS, TESTS[:1]))
    first = rounds.changed(frozenset({A}))
    renamed = run_of([f"{A}::test_3"])
    following = rounds.ended(first, renamed)

    assert targets(first) == (A,)
    assert rounds.not_run(first, renamed) == "4 other tests were not run"
    assert following is not None and following.selection is None


def test_failures_that_no_command_line_can_hold_are_run_by_their_files() -> None:
    many = [f"{A}::test_{'x' * 1000}[{number}]" for number in range(TARGET_BYTES // 1000)]
    rounds = rounds_after(run_of([*many, *TESTS], many))
    assert targets(rounds.changed(frozenset())) == (A,)


def test_names_of_tests_may_begin_above_the_project() -> None:
    above = [f"project/{test}" for test in TESTS]
    described = e.SuiteDescribed("/")
    rounds = rounds_after(run_of(above, above[:1], events=[described]))
    assert targets(rounds.changed(frozenset({B}))) == (TESTS[0],)


class AnySequence(RuleBasedStateMachine):
    """A project whose tests break and are mended, a person who presses keys, and runs that end in every way.

    The plain model knows for each test file whether all of its tests have ended since it was last touched.
    """

    @initialize()
    def start(self) -> None:
        self.broken: set[str] = set()
        self.touched: set[str] = set()
        self.known: set[str] = set()  # tests that a run has named
        self.passed = False  # everything, since the last change
        self.rounds = Rounds(Selection(), test_files, itself)
        self.round: Round | None = self.rounds.begin()

    @rule(paths=st.frozensets(st.sampled_from([A, B, C, "shop.py", "data.json"]), min_size=1), data=st.data())
    def change(self, paths: frozenset[str], data: st.DataObject) -> None:
        """The end of the run that it cancels comes before it, after it, or never."""
        order = data.draw(st.sampled_from(["before", "after", "never"])) if self.round else "never"
        before = self.round
        if before and order == "before":
            self.stop(before, data)
        of_files = [test for test in TESTS if file_of(test) in test_files(paths)]
        outdated = run_of(self.of(before), self.broken & set(self.of(before))) if before else None
        if of_files:
            self.broken ^= data.draw(st.sets(st.sampled_from(of_files)))
        self.passed, self.touched = False, self.touched | set(test_files(paths))
        self.round = self.rounds.changed(paths)
        self.check_order(self.round)
        if before and outdated and order == "after":
            assert self.rounds.ended(before, outdated) is None
            self.known |= set(self.of(before))
            self.touched -= self.covered(before) - set(test_files(paths))

    @rule(key=st.sampled_from(["all", "failed", "pattern"]))
    def press(self, key: str) -> None:
        self.round = self.rounds.asked(key, "test_1")

    @precondition(lambda self: self.round)
    @rule(data=st.data())
    def cut(self, data: st.DataObject) -> None:
        assert self.round is not None
        self.stop(self.round, data)
        self.round = None

    @precondition(lambda self: self.round)
    @rule()
    def end(self) -> None:
        assert self.round is not None
        ran, whole, automatic = set(self.of(self.round)), self.round.selection is None, not self.round.by_hand
        self.touched -= self.covered(self.round)
        self.known |= ran
        self.passed = (self.passed and not ran & self.broken) or (whole and not self.broken)
        self.round = self.rounds.ended(self.round, run_of(sorted(ran), self.broken & ran))
        if automatic and not ran & self.broken:
            assert whole or self.round is not None
        else:
            assert self.round is None
        if self.round is not None:
            self.check_order(self.round)

    @precondition(lambda self: self.round)
    @rule()
    def all_the_way(self) -> None:
        """Without another change, a failure is known in the end, or everything has passed."""
        by_hand = self.round is not None and self.round.by_hand
        while self.round is not None:
            self.end()
        assert by_hand or self.rounds.green or self.rounds.asked("failed") is not None

    @invariant()
    def green_is_what_has_passed_as_a_whole_since_the_last_change(self) -> None:
        assert self.rounds.green == self.passed
        assert not (self.rounds.green and self.touched)

    def check_order(self, round: Round) -> None:
        """Before everything comes whatever has not run since it was touched, unless that is everything."""
        failed = self.rounds.asked("failed")
        failing = set(targets(failed)) if failed else set()
        if round.selection is None and self.touched:
            assert all(file_of(test) in self.touched for test in self.known) or self.known <= failing
        elif round.selection is not None and round.name == "changed tests":
            assert self.touched <= set(round.selection.targets)

    def covered(self, round: Round) -> set[str]:
        """Not by a round of failed tests: it may leave out the other tests of a file."""
        return set(map(file_of, self.of(round))) if round.name in ("all tests", "changed tests") else set()

    def of(self, round: Round) -> list[str]:
        if round.selection is None:
            return TESTS
        wanted, word = round.selection.targets, round.selection.keywords
        return [t for t in TESTS if (not wanted or {t, file_of(t)} & set(wanted)) and word in t]

    def stop(self, round: Round, data: st.DataObject) -> None:
        """It is cancelled, interrupted, or its process dies; some of its tests have ended before."""
        ran = self.of(round)
        ended = data.draw(st.integers(0, len(ran) - 1))
        reason = data.draw(st.sampled_from([RunOutcome.CANCELLED, RunOutcome.INTERRUPTED, None]))
        result = run_of(ran, self.broken & set(ran), stop=reason, only=ended)
        self.known |= set(ran)
        whole, bad = round.selection is None, reason is None or self.broken & set(ran[:ended])
        self.passed = self.passed and not (whole or bad)
        assert self.rounds.ended(round, result) is None


def file_of(test: str) -> str:
    return test.partition("::")[0]


def test_nothing_that_was_touched_is_lost_in_any_sequence_of_changes_keys_and_ends() -> None:
    run_state_machine_as_test(AnySequence, settings=settings(max_examples=80, stateful_step_count=25))

"""Which sessions follow one another in a suite, with processes that only exist on paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.processes import Script

from proctor import events as e
from proctor.execute import Executed, Request, execute_with
from proctor.launch import ASKED_VARIABLE, Launch, Session
from proctor.outcome import Outcome, RunOutcome
from proctor.plan_run import RunPlan
from proctor.prepare import Prepared
from proctor.process.deadline import Push
from proctor.process.process import Chunk
from proctor.process.stop import Stop
from proctor.result import RunResult
from proctor.runners.plan import Plan, suites
from proctor.running import Keeping
from proctor.spec import Quarantined, RunSpec

SEGFAULT = -11


def message(**body: object) -> bytes:
    raw = json.dumps(body).encode()
    return b"result %d\n%b" % (len(raw), raw)


def said(**facts: object) -> bytes:
    return message(status="error", partial=True, proctor=facts)


def collected(*tests: str, **suite: object) -> bytes:
    described = said(suite={"root": "/p", **suite})
    return described + said(selected=tests) + said(collection_ended=1.0)


def begun(test: str) -> bytes:
    return message(name=test, status="error", partial=True, file="a.py", line=1)


def passed(test: str, begins: bool = True) -> bytes:
    end = message(name=test, status="pass", proctor={"keywords": [], "passed_in": [0.0, 0.1, 0.0]})
    return (begun(test) if begins else b"") + end


def failed(test: str, words: str = "no") -> bytes:
    phase = {"when": "call", "outcome": "failed", "failure": {"message": words}, "longrepr": words}
    return begun(test) + message(name=test, status="fail", proctor={"phases": [phase]})


def skipped(test: str) -> bytes:
    phase = {"when": "call", "outcome": "skipped", "reason": "not now"}
    return begun(test) + message(name=test, status="skip", proctor={"phases": [phase]})


def ended(status: int = 0, **more: object) -> bytes:
    facts = {"exit_status": status, **more}
    return message(status="pass", partial=False, proctor={"finished": facts})


class Entries:
    name = "entries"

    def __init__(self) -> None:
        self.seen: list[e.Event] = []

    def handle(self, entry: e.Entry, so_far: RunResult) -> None:
        self.seen.append(entry.event)

    def tick(self, now: float, so_far: RunResult) -> None:
        pass

    def of(self, kind: type[e.Event]) -> list[Any]:
        return [event for event in self.seen if isinstance(event, kind)]


class Sessions:
    """A pytest suite whose sessions write what a test says."""

    def __init__(self, root: Path) -> None:
        self._root, self.script, self.entries = root, Script(), Entries()

    def add(self, *written: bytes, code: int = 0, hangs: bool = False, stubborn: bool = False) -> None:
        chunks = [Chunk("control", b"".join(written))]
        self.script.add("pytest", *chunks, code=code, hangs=hangs, stubborn=stubborn)

    def run(self, before: tuple[str, ...] = (), **asked: Any) -> RunResult:
        """`before`: names of suites that come first."""
        names = (*before, "pytest")
        launches = [Launch((f"/{name}",), "/p", name, Session(continues=True)) for name in names]
        found = [suite for launch in launches for suite in suites(launch.name, Plan((launch,)))]
        spec = RunSpec(str(self._root), **asked)
        plan = RunPlan(spec, Prepared(tuple(found)), {}, Keeping(archive=False))
        request = Request(plan, Stop(), [self.entries], finish=self._look)
        return execute_with(self.script, request, "20260101-000000-abcdef").result

    def _look(self, executed: Executed) -> None:
        asked = [json.loads(one.environment.get(ASKED_VARIABLE, "{}")) for one in self.script.launches]
        self.asked = [dict(one, **_listed(one)) for one in asked]


def _listed(asked: dict[str, Any]) -> dict[str, Any]:
    return json.loads(Path(asked["only"]).read_text()) if "only" in asked else {}


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path)


def outcomes(result: RunResult) -> dict[str, str]:
    return {name: str(test.outcome) for name, test in result.tests.items()}


def asked_for(sessions: Sessions) -> list[list[str]]:
    return [asked["tests"] for asked in sessions.asked[1:]]


def test_a_crash_costs_one_test(sessions: Sessions) -> None:
    sessions.add(collected("a", "b", "c", "d"), passed("a"), begun("b"), code=SEGFAULT)
    sessions.add(collected("c", "d"), passed("c"), passed("d"), ended())

    result = sessions.run()

    assert outcomes(result) == {"a": "passed", "b": "crash", "c": "passed", "d": "passed"}
    assert asked_for(sessions) == [["c", "d"]]
    assert (result.outcome, result.not_run, result.restarts) == (RunOutcome.CRASHED, (), 1)
    assert result.tests["b"].session == 1 and result.tests["c"].session == 2
    assert result.restarted


def test_each_culprit_has_its_own_end_and_runs_once(sessions: Sessions) -> None:
    sessions.add(collected("a", "b", "c"), passed("a"), begun("b"), code=SEGFAULT)
    sessions.add(collected("c"), begun("c"), code=0)

    result = sessions.run()

    assert result.tests["b"].message == "SIGSEGV at a.py:1"
    assert result.tests["c"].message == "the process exited with 0 during the test at a.py:1"
    assert (result.outcome, result.restarts) == (RunOutcome.CRASHED, 1)
    assert [event.test for event in sessions.entries.of(e.TestStarted)] == ["a", "b", "c"]


def test_what_is_collected_again_is_counted_once(sessions: Sessions) -> None:
    error = {"id": "bad.py", "failure": {"message": "no"}}
    once = (said(suite={"root": "/p"}), said(collection_errors=[error]), said(deselected=["x"]))
    skip = said(skipped=[{"id": "skip.py", "reason": "no"}])
    sessions.add(*once, skip, collected("a", "b"), begun("a"), code=SEGFAULT)
    sessions.add(*once, skip, collected("b"), passed("b"), ended(1), code=1)

    result = sessions.run()

    assert [found.file for found in result.collection_errors] == ["bad.py"]
    assert result.deselected == ["x"] and set(result.tests) == {"skip.py", "a", "b"}
    assert len(sessions.entries.of(e.SuiteStarted)) == 1


def test_what_a_later_session_does_not_find_is_not_run(sessions: Sessions) -> None:
    sessions.add(collected("a", "b", "c"), begun("a"), code=SEGFAULT)
    sessions.add(collected("c"), passed("c"), ended())

    result = sessions.run()

    assert result.not_run == ("b",) and result.outcome is RunOutcome.CRASHED


def test_two_tests_of_one_name_both_run(sessions: Sessions) -> None:
    sessions.add(collected("a", "a", "b", "a"), passed("a"), begun("a"), code=SEGFAULT)
    sessions.add(collected("b", "a"), passed("b"), passed("a"), ended())

    result = sessions.run()

    assert sessions.asked[1]["tests"] == ["a", "b"] and sessions.asked[1]["skip"] == {"a": 2}
    assert outcomes(result) == {"a": "crash", "b": "passed"}


@pytest.mark.parametrize(
    "ending, code",
    [
        ((said(internal_error={"failure": {"message": "broke"}}), ended(3)), 3),
        ((said(interrupted={"type": "Exit", "message": "enough"}), ended(2)), 2),
        ((said(interrupted={"type": "KeyboardInterrupt", "message": ""}), ended(2)), 2),
        ((), -2),
        ((said(broken="the reporter"),), 0),
    ],
)
def test_a_session_that_was_stopped_is_not_restarted(
    sessions: Sessions, ending: tuple[bytes, ...], code: int
) -> None:
    sessions.add(collected("a", "b"), passed("a"), *ending, code=code)

    result = sessions.run(retries=1)

    assert result.restarts == 0 and result.not_run == ("b",) and result.exit_code > 1


def test_no_session_follows_where_the_limit_of_failures_is_reached(sessions: Sessions) -> None:
    sessions.add(collected("a", "b"), begun("a"), code=SEGFAULT)

    result = sessions.run(maxfail=1, retries=1)

    assert outcomes(result) == {"a": "crash"} and result.not_run == ("b",) and result.restarts == 0


def test_a_limit_of_failures_counts_over_all_sessions(sessions: Sessions) -> None:
    sessions.add(collected("a", "b", "c"), failed("a"), begun("b"), code=SEGFAULT)
    sessions.add(collected("c"), passed("c"), ended())

    sessions.run(maxfail=5)

    assert sessions.asked[1]["maxfail"] == 3


def test_the_projects_own_limit_of_failures_holds_too(sessions: Sessions) -> None:
    sessions.add(collected("a", "b", maxfail=1), begun("a"), code=SEGFAULT)

    assert sessions.run().not_run == ("b",)


def test_a_session_without_progress_is_the_last(sessions: Sessions) -> None:
    sessions.add(collected("a", "b", "c"), begun("a"), code=SEGFAULT)
    sessions.add(code=SEGFAULT)

    result = sessions.run()

    assert result.not_run == ("b", "c") and result.restarts == 1
    assert result.notices == ["the tests that are left were not started: no test came to an end"]


def test_three_sessions_that_die_in_their_first_test_are_enough(sessions: Sessions) -> None:
    names = ["a", "b", "c", "d", "e"]
    for at, name in enumerate(names):
        sessions.add(collected(*names[at:]), begun(name), code=SEGFAULT)

    result = sessions.run()

    assert list(result.tests) == ["a", "b", "c"] and result.not_run == ("d", "e")
    assert "3 sessions in a row died in their first test" in result.notices[0]


def test_deaths_that_do_not_follow_one_another_go_on_to_the_limit(sessions: Sessions) -> None:
    names = [f"t{number}" for number in range(9)]
    for at in range(0, 9, 2):
        sessions.add(
            collected(*names[at:]), passed(names[at]), *map(begun, names[at + 1 : at + 2]), code=SEGFAULT
        )

    result = sessions.run(max_restarts=3)

    assert result.restarts == 3 and result.not_run == ("t8",)
    assert result.notices == ["the tests that are left were not started: max_restarts = 3"]


def test_containment_can_be_turned_off(sessions: Sessions) -> None:
    sessions.add(collected("a", "b"), begun("a"), code=SEGFAULT)

    result = sessions.run(max_restarts=0)

    assert (result.restarts, result.not_run, result.notices) == (0, ("b",), [])


# Tests that take too long


class Clock:
    """Time that passes only while the loop waits."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds + 0.001


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, sessions: Sessions) -> Clock:
    clock = Clock()
    monkeypatch.setattr("proctor.running.time.monotonic", clock.monotonic)
    sessions.script.passes = clock.passes
    return clock


def test_a_test_over_its_limit_is_interrupted_and_the_others_go_on(sessions: Sessions, clock: Clock) -> None:
    sessions.add(collected("a", "b", "c"), passed("a"), begun("b"), hangs=True)
    sessions.add(collected("c"), passed("c"), ended())

    result = sessions.run(test_timeout=3.0)

    assert outcomes(result) == {"a": "passed", "b": "timeout", "c": "passed"}
    assert result.tests["b"].message == "time limit of 3 s reached at a.py:1"
    assert (result.outcome, result.exit_code, result.restarts) == (RunOutcome.TIMEOUT, 2, 1)
    assert sessions.entries.of(e.TestOverdue) == [e.TestOverdue("b", 3.0)]


def test_a_limit_of_its_own_wins(sessions: Sessions, clock: Clock) -> None:
    limits = said(limits={"a": 500.0, "b": 0.0})
    sessions.add(collected("a"), limits, begun("a"), hangs=True)

    sessions.run(test_timeout=1.0)

    assert clock.now > 600 and sessions.entries.of(e.TestOverdue) == [e.TestOverdue("a", 500.0)]


def test_a_test_that_ends_by_itself_after_the_interrupt_is_a_timeout_and_the_session_goes_on(
    sessions: Sessions, clock: Clock
) -> None:
    sessions.add(collected("a", "b"), begun("a"), hangs=True, stubborn=True)
    process = sessions.script._scripts["pytest"][0]

    def react() -> None:
        if process.pushes and process._hangs:
            assert process.pushes == [Push.INTERRUPT]
            process.write(Chunk("control", passed("a", begins=False) + passed("b") + ended()))
            process._hangs = False

    sessions.script.on_wait = react

    result = sessions.run(test_timeout=1.0)

    assert outcomes(result) == {"a": "timeout", "b": "passed"}
    assert (result.outcome, result.restarts) == (RunOutcome.TIMEOUT, 0)


def test_a_test_that_ran_beside_the_one_that_hung_runs_again(sessions: Sessions, clock: Clock) -> None:
    limits = said(limits={"a": 1.0})
    sessions.add(collected("a", "b", "c"), limits, begun("a"), begun("b"), hangs=True)
    sessions.add(collected("b", "c"), passed("b"), passed("c"), ended())

    result = sessions.run()

    assert outcomes(result) == {"a": "timeout", "b": "passed", "c": "passed"}
    assert asked_for(sessions) == [["b", "c"]]


# Tests that run again


def test_a_test_that_passes_when_it_runs_again_is_flaky(sessions: Sessions) -> None:
    sessions.add(collected("a", "b"), failed("a", "first"), passed("b"), ended(1, by_tests=1), code=1)
    sessions.add(collected("a"), passed("a"), ended())

    result = sessions.run(retries=1)

    assert (result.outcome, result.exit_code) == (RunOutcome.PASSED, 0)
    assert (result.counts[Outcome.PASSED], result.flaky, result.restarted) == (1, 1, False)
    assert [one.message for one in result.tests["a"].attempts] == ["first"]
    assert [event.test for event in sessions.entries.of(e.TestFinished)] == ["b", "a"]


def test_a_test_that_fails_each_time_is_failed_with_its_attempts(sessions: Sessions) -> None:
    sessions.add(collected("a", "b"), failed("a", "1"), passed("b"), ended(1, by_tests=1), code=1)
    sessions.add(collected("a"), failed("a", "2"), ended(1, by_tests=1), code=1)
    sessions.add(collected("a"), failed("a", "3"), ended(1, by_tests=1), code=1)

    result = sessions.run(retries=2)

    assert (result.outcome, outcomes(result)) == (RunOutcome.FAILED, {"b": "passed", "a": "failed"})
    assert [one.message for one in result.tests["a"].attempts] == ["1", "2"]
    assert result.tests["a"].message == "3" and result.restarts == 2


def test_a_crash_that_passes_when_it_runs_again_is_flaky(sessions: Sessions) -> None:
    sessions.add(collected("a", "b"), begun("a"), code=SEGFAULT)
    sessions.add(collected("b"), passed("b"), ended())
    sessions.add(collected("a"), passed("a"), ended())

    result = sessions.run(retries=1)

    assert (result.outcome, result.flaky, result.restarts) == (RunOutcome.PASSED, 1, 2)
    assert result.restarted and result.tests["a"].attempts[0].outcome is Outcome.CRASH
    assert asked_for(sessions) == [["b"], ["a"]]


def test_a_crash_of_the_last_test_counts_as_a_restart_when_it_runs_again(sessions: Sessions) -> None:
    sessions.add(collected("a"), begun("a"), code=SEGFAULT)
    sessions.add(collected("a"), passed("a"), ended())

    assert sessions.run(retries=1).restarted


def test_a_skip_takes_no_failure_back(sessions: Sessions) -> None:
    sessions.add(collected("a"), failed("a", "first"), ended(1, by_tests=1), code=1)
    sessions.add(collected("a"), skipped("a"), ended())

    result = sessions.run(retries=1)

    assert (result.outcome, outcomes(result)) == (RunOutcome.FAILED, {"a": "failed"})


def test_the_rest_of_a_round_goes_on_after_a_crash_in_it(sessions: Sessions) -> None:
    sessions.add(collected("a", "b"), failed("a"), failed("b"), ended(1, by_tests=1), code=1)
    sessions.add(collected("a", "b"), begun("a"), code=SEGFAULT)
    sessions.add(collected("b"), passed("b"), ended())

    result = sessions.run(retries=1)

    assert outcomes(result) == {"a": "crash", "b": "passed"} and result.outcome is RunOutcome.CRASHED
    assert asked_for(sessions) == [["a", "b"], ["b"]]


def test_a_round_of_crashes_goes_on_to_its_end(sessions: Sessions) -> None:
    names = [f"t{number}" for number in range(5)]
    sessions.add(collected(*names), *map(failed, names), ended(1, by_tests=1), code=1)
    for at, name in enumerate(names):
        sessions.add(collected(*names[at:]), begun(name), code=SEGFAULT)

    result = sessions.run(retries=1)

    assert set(outcomes(result).values()) == {"crash"} and result.restarts == 5


# Tests in quarantine


def test_a_bad_test_in_quarantine_does_not_count(sessions: Sessions) -> None:
    sessions.add(collected("a", "b"), failed("a"), passed("b"), ended(1, by_tests=1), code=1)

    result = sessions.run(quarantine=(Quarantined("a", "known"),), retries=2, maxfail=1)

    assert (result.outcome, result.excused, result.restarts) == (RunOutcome.PASSED, 1, 0)
    assert outcomes(result) == {"a": "failed", "b": "passed"} and result.quarantined == {"a": "known"}
    assert result.summary()["failed"] == 0 and result.summary()["quarantined"] == 1


def test_a_crash_in_quarantine_does_not_count(sessions: Sessions) -> None:
    sessions.add(collected("a", "b"), begun("a"), code=SEGFAULT)
    sessions.add(collected("b"), passed("b"), ended())

    result = sessions.run(quarantine=(Quarantined("?"),))

    assert (result.outcome, outcomes(result)) == (RunOutcome.PASSED, {"a": "crash", "b": "passed"})
    assert result.excused == 1 and result.restarted


def test_a_status_that_quarantine_does_not_explain_stays_a_failure(sessions: Sessions) -> None:
    sessions.add(collected("a"), failed("a"), ended(1, by_tests=None), code=1)

    result = sessions.run(quarantine=(Quarantined("a"),))

    assert result.outcome is RunOutcome.FAILED and "which no test that counts explains" in result.reason


def test_a_part_of_a_test_in_quarantine_is_in_it_too(sessions: Sessions) -> None:
    part = message(name="a/part", status="fail", note="no")
    sessions.add(collected("a"), begun("a"), part, passed("a", begins=False), ended())

    result = sessions.run(quarantine=(Quarantined("a", "known"),))

    assert (result.outcome, result.excused) == (RunOutcome.PASSED, 1)


def test_an_entry_that_matches_no_test_is_told(sessions: Sessions) -> None:
    sessions.add(collected("a"), passed("a"), ended())

    result = sessions.run(quarantine=(Quarantined("gone"),))

    assert result.notices == ["quarantine: 'gone' matches no test"]


def test_too_many_bad_tests_do_not_run_again(sessions: Sessions) -> None:
    sessions.add(collected("a", "b"), failed("a"), failed("b"), ended(1, by_tests=1), code=1)

    result = sessions.run(retries=1, max_retried=1)

    assert result.outcome is RunOutcome.FAILED and result.restarts == 0
    assert result.notices == [
        "2 tests ended badly: more than max_retried = 1, so none of them ran again",
    ]


@pytest.mark.parametrize("by_tests", [{}, {"by_tests": None}, {"by_tests": 0}])
def test_a_status_that_retried_tests_do_not_explain_stays_a_failure(
    sessions: Sessions, by_tests: dict[str, int | None]
) -> None:
    sessions.add(collected("a"), failed("a"), ended(1, **by_tests), code=1)
    sessions.add(collected("a"), passed("a"), ended())

    result = sessions.run(retries=1)

    assert (result.outcome, result.reason) == (
        RunOutcome.FAILED,
        "exit status 1, which no test that counts explains",
    )
    assert result.flaky == 1


def test_flaky_tests_can_be_failures(sessions: Sessions) -> None:
    sessions.add(collected("a"), failed("a"), ended(1, by_tests=1), code=1)
    sessions.add(collected("a"), passed("a"), ended())

    result = sessions.run(retries=1, flaky_fails=True)

    assert (result.outcome, result.reason, result.exit_code) == (
        RunOutcome.FAILED,
        "flaky tests count as failures",
        1,
    )


def test_a_retry_that_cannot_start_leaves_the_failure(sessions: Sessions) -> None:
    sessions.add(collected("a"), failed("a"), ended(1, by_tests=1), code=1)

    result = sessions.run(retries=1)

    assert outcomes(result) == {"a": "failed"} and result.exit_code > 0


def test_a_log_of_all_that_gives_the_same_result(sessions: Sessions) -> None:
    from proctor.fold import begin, fold
    from proctor.wire.stream import log

    sessions.add(collected("a", "b", "c"), failed("a"), begun("b"), code=SEGFAULT)
    sessions.add(collected("c"), passed("c"), ended())
    sessions.add(collected("a", "b"), passed("a"), failed("b"), ended(1, by_tests=1), code=1)
    result = sessions.run(retries=1)

    again = begin(result.run)
    for seq, event in enumerate(sessions.entries.seen):
        line = log.encode(e.Entry(seq, 0.0, 0, event), result)
        entry = log.decode(line.strip())
        assert entry is not None and entry.event == event
        fold(again, entry)

    assert list(again.tests.items()) == list(result.tests.items())
    assert (again.outcome, again.flaky, again.restarts) == (result.outcome, 1, 2)


def test_a_name_that_another_suite_has_used_is_asked_for_as_its_own_suite_has_it(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    sessions.script.add("first", Chunk("control", collected("a", "b") + passed("a") + passed("b") + ended()))
    sessions.add(collected("a", "b"), begun("a"), code=SEGFAULT)
    sessions.add(collected("b"), passed("b"), ended())

    result = sessions.run(before=("first",))

    assert sessions.asked[2]["tests"] == ["b"]
    assert outcomes(result) == {"a": "passed", "b": "passed", "a#2": "crash", "b#2": "passed"}

"""The loop over a run, with processes that only exist on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.processes import Script

from proctor import events as e
from proctor import execute, running
from proctor.crew import WEAK
from proctor.errors import LaunchError, UsageError
from proctor.execute import BeforeEnd, Executed, Request, execute_with
from proctor.launch import Build, KnownTest, Launch, Lines, Program, Session, Speech, Voice
from proctor.outcome import Outcome, RunOutcome
from proctor.plan_run import RunPlan
from proctor.prepare import Prepared
from proctor.process.deadline import CLEANUP_SECONDS, Push
from proctor.process.process import Chunk
from proctor.process.stop import Stop
from proctor.result import RunResult
from proctor.runners.plan import Plan, Suite, suites
from proctor.running import Keeping
from proctor.spec import RunSpec

PASSES = b"1..1\nok 1 - a\n"
FAILS = b"1..2\nnot ok 1 - a\n"


class Entries:
    name = "entries"

    def __init__(self) -> None:
        self.seen: list[e.Entry] = []

    def handle(self, entry: e.Entry, so_far: RunResult) -> None:
        self.seen.append(entry)

    def tick(self, now: float, so_far: RunResult) -> None:
        pass


def launch(name: str, speech: Speech) -> Launch:
    return Launch((f"/{name}",), "/project", name, speech)


def tap(*names: str) -> list[Suite]:
    return suites("tap", Plan(tuple(launch(name, Lines("tap", f"{name}::")) for name in names)))


def programs(*names: str, **more: object) -> list[Suite]:
    return suites("command", Plan(tuple(launch(name, Program(**more)) for name in names)))  # type: ignore[arg-type]


class Runs:
    """Executes suites in a directory of the test's own."""

    def __init__(self, root: Path) -> None:
        self.script, self.stop, self.entries = Script(), Stop(), Entries()
        self._root = root

    def run(
        self, found: list[Suite], keep: bool = False, before_end: BeforeEnd | None = None, **asked: object
    ) -> Executed:
        spec = RunSpec(str(self._root), **asked)  # type: ignore[arg-type]
        plan = RunPlan(spec, Prepared(tuple(found)), {"PATH": ""}, Keeping(archive=keep))
        request = Request(plan, self.stop, [self.entries], before_end=before_end)
        return execute_with(self.script, request, "20260101-000000-abcdef")


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def outcomes(executed: Executed) -> dict[str, str]:
    return {name: str(test.outcome) for name, test in executed.result.tests.items()}


def test_every_suite_is_entered_and_finished_also_the_only_one(runs: Runs) -> None:
    runs.script.add("one", PASSES)
    executed = runs.run(tap("one"))

    kinds = [type(entry.event) for entry in runs.entries.seen]
    assert kinds[:2] == [e.RunStarted, e.SuiteEntered]
    assert kinds[-2:] == [e.SuiteFinished, e.RunFinished]
    assert [entry.seq for entry in runs.entries.seen] == list(range(len(kinds)))
    assert executed.result.outcome is RunOutcome.PASSED
    assert runs.script.started["one"].closed


def test_what_is_added_before_the_end_comes_before_the_verdict_and_may_fail(runs: Runs) -> None:
    def add(so_far: RunResult, seconds: float) -> Iterator[e.Event]:
        assert list(so_far.tests) == ["one::a"]
        yield e.Noticed(f"{seconds >= 0}")
        raise KeyError("nobody thought of this")

    runs.script.add("one", PASSES)
    executed = runs.run(tap("one"), before_end=add)

    assert executed.result.outcome is RunOutcome.PASSED
    assert executed.result.notices == [
        "True",
        "the comparison with another commit stopped: KeyError: 'nobody thought of this'",
    ]


def test_suites_follow_each_other_and_their_entries_have_their_numbers(runs: Runs) -> None:
    runs.script.add("one", PASSES)
    runs.script.add("two", FAILS, b"ok 2\n", code=1)
    executed = runs.run(tap("one", "two"))

    assert [suite.name for suite in executed.result.suites] == ["one", "two"]
    assert outcomes(executed) == {"one::a": "passed", "two::a": "failed", "two::test 2": "passed"}
    numbers = [
        entry.suite
        for entry in runs.entries.seen
        if isinstance(entry.event, e.SuiteEntered | e.TestFinished | e.ProcessExited | e.SuiteFinished)
    ]
    assert numbers == sorted(numbers) and set(numbers) == {0, 1}


def test_a_name_that_two_suites_use_is_told_apart(runs: Runs) -> None:
    runs.script.add("one", PASSES)
    runs.script.add("two", PASSES)
    found = [suite for name in ("one", "two") for suite in suites("tap", Plan((launch(name, Lines("tap")),)))]

    assert outcomes(runs.run(found)) == {"a": "passed", "a#2": "passed"}


def test_a_first_suite_that_cannot_start_is_no_run(runs: Runs, tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="cannot start one"):
        runs.run(tap("one"), keep=True)

    assert runs.entries.seen == []
    assert not list((tmp_path / ".proctor" / "runs").iterdir())


def test_a_later_suite_that_cannot_start_is_incomplete_and_the_others_count(runs: Runs) -> None:
    runs.script.add("one", PASSES)
    result = runs.run(tap("one", "two")).result

    assert [(suite.name, suite.outcome) for suite in result.suites] == [
        ("one", RunOutcome.PASSED),
        ("two", RunOutcome.INCOMPLETE),
    ]
    assert result.reason == "two: cannot start two: no such file"


def test_a_program_that_cannot_start_is_a_test_that_fails(runs: Runs) -> None:
    runs.script.add("/good")
    executed = runs.run(programs("/good", "/missing"))

    assert outcomes(executed) == {"/good": "passed", "/missing": "error"}
    assert executed.result.outcome is RunOutcome.FAILED


def test_programs_run_as_many_at_once_as_were_asked_for(runs: Runs) -> None:
    for name in ("/a", "/b", "/c"):
        runs.script.add(name, b"x\n")
    executed = runs.run(programs("/a", "/b", "/c"), workers="2")

    assert runs.script.most_at_once == 2
    assert executed.result.counts[Outcome.PASSED] == 3


def test_tests_that_are_known_without_a_process_are_listed_and_nothing_starts(runs: Runs) -> None:
    known = (KnownTest("one::a", "t/one.t", 3),)
    found = suites("tap", Plan((Launch((), "/project", "one", Lines("tap", known=known)),)))
    result = runs.run(found, collect_only=True).result

    assert (list(result.selected), runs.script.started) == (["one::a"], {})
    assert result.outcome is RunOutcome.PASSED


def test_a_process_that_only_prints_is_stopped_at_maxfail_and_nothing_else_starts(
    runs: Runs,
) -> None:
    runs.script.add("one", FAILS, b"ok 2 - b\n# more\n", hangs=True)
    runs.script.add("two", PASSES)
    result = runs.run(tap("one", "two"), maxfail=1).result

    assert runs.script.started["one"].pushes == [Push.INTERRUPT]
    assert "two" not in runs.script.started
    assert (result.outcome, result.notices) == (RunOutcome.FAILED, ["suites that were not run: two"])
    assert result.suites[0].reason == "stopped after 1 failure"


def test_a_run_that_takes_too_long_is_interrupted_and_what_ran_has_its_outcome(runs: Runs) -> None:
    runs.script.add("one", b"1..2\nok 1 - a\n", hangs=True)
    result = runs.run(tap("one", "two"), timeout=1e-9).result

    assert runs.script.started["one"].pushes == [Push.INTERRUPT]
    assert (result.outcome, result.suites[0].outcome) == (RunOutcome.TIMEOUT, RunOutcome.TIMEOUT)
    assert result.notices == ["suites that were not run: two"]


class Clock:
    """Time that only passes while somebody waits, each time for as long as that may take."""

    def __init__(self, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self._runs = 0.0, runs
        runs.script.passes = self._pass
        for module in (running, execute):
            monkeypatch.setattr(module, "time", self)
        self.pushed: dict[Push, float] = {}

    def monotonic(self) -> float:
        self._look()
        return self.now

    def _pass(self, seconds: float) -> None:
        self._look()
        self.now += seconds + 0.05  # the machine is busy

    def _look(self) -> None:
        for process in self._runs.script.started.values():
            for push in process.pushes:
                self.pushed.setdefault(push, self.now)


INTERRUPTED = b'{"status":"error","partial":true,"proctor":{"interrupted":{"type":"KeyboardInterrupt"}}}'


@pytest.mark.parametrize("heard_after", [None, 0.0, 1.0, 1.7])
def test_at_a_time_limit_the_interrupt_comes_at_once_and_the_end_soon_after(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, heard_after: float | None
) -> None:
    """Also if the session hears the interrupt late and then cleans up without end."""
    clock = Clock(runs, monkeypatch)
    runs.script.add("pytest", hangs=True, stubborn=True)
    told: list[float] = []

    def hear() -> None:
        interrupted = clock.pushed.get(Push.INTERRUPT)
        if heard_after is None or interrupted is None or told or clock.now < interrupted + heard_after:
            return
        told.append(clock.now)
        frame = b"result %d\n%b" % (len(INTERRUPTED), INTERRUPTED)
        runs.script.started["pytest"].write(Chunk("control", frame))

    runs.script.on_wait = hear
    result = runs.run(suites("pytest", Plan((launch("pytest", Session()),))), timeout=30.0).result

    assert result.outcome is RunOutcome.TIMEOUT
    assert runs.script.started["pytest"].pushes == [Push.INTERRUPT, Push.ABORT, Push.KILL]
    assert 30.0 <= clock.pushed[Push.INTERRUPT] <= 30.5
    assert clock.now <= 30.0 + 13.0
    if heard_after is not None:  # it has its time to clean up
        assert clock.pushed[Push.ABORT] >= told[0] + CLEANUP_SECONDS - 0.5


def test_a_run_that_is_cancelled_is_killed_at_once(runs: Runs) -> None:
    runs.script.add("one", hangs=True)
    runs.script.on_wait = lambda: runs.stop.ask(RunOutcome.CANCELLED)
    result = runs.run(tap("one")).result

    assert runs.script.started["one"].pushes == [Push.KILL]
    assert result.outcome is RunOutcome.CANCELLED


def test_a_program_has_its_own_time(runs: Runs) -> None:
    runs.script.add("/slow", hangs=True)
    runs.script.add("/next")
    executed = runs.run(programs("/slow", duration=1e-9) + programs("/next"))

    assert outcomes(executed) == {"/slow": "timeout", "/next": "passed"}


@pytest.mark.parametrize(
    ("kind", "outcome"), [(LaunchError, RunOutcome.INCOMPLETE), (UsageError, RunOutcome.USAGE_ERROR)]
)
def test_what_a_build_made_runs_after_it_and_a_plan_that_fails_is_a_suite_that_says_so(
    runs: Runs, kind: type[UsageError], outcome: RunOutcome
) -> None:
    def then(made: object) -> Plan:
        raise kind("nothing to run here")

    build = Suite("build", "cargo", Voice.BUILD, (launch("build", Build("tap")),), then=then)
    runs.script.add("build", b"1..0\n")
    result = runs.run([build]).result

    assert [suite.outcome for suite in result.suites] == [RunOutcome.PASSED, outcome]
    assert result.reason == "cargo: nothing to run here"


def test_it_is_said_once_a_run_that_detached_processes_cannot_be_adopted(runs: Runs) -> None:
    for name in ("/a", "/b"):
        runs.script.add(name, adopts=False)

    assert runs.run(programs("/a", "/b")).result.notices == [WEAK]


def test_a_loop_that_breaks_leaves_no_process_open(runs: Runs) -> None:
    def fail() -> None:
        raise MemoryError

    runs.script.add("one", hangs=True)
    runs.script.on_wait = fail
    with pytest.raises(MemoryError):
        runs.run(tap("one"))

    assert runs.script.started["one"].closed


def test_a_session_that_never_spoke_and_ends_with_pytests_usage_error_is_one(runs: Runs) -> None:
    runs.script.add("pytest", Chunk("stderr", b"ERROR: file not found: x\n"), code=4)
    result = runs.run(suites("pytest", Plan((launch("pytest", Session()),)))).result

    assert (result.outcome, result.reason) == (RunOutcome.USAGE_ERROR, "file not found: x")


def test_a_run_that_is_kept_has_its_document_when_the_caller_gets_it(runs: Runs, tmp_path: Path) -> None:
    runs.script.add("one", PASSES)
    executed = runs.run(tap("one"), keep=True)

    assert executed.directory.path.parent == tmp_path / ".proctor" / "runs"
    assert (executed.directory.path / "result.json").is_file()
    assert executed.faults == []

"""The processes of a run, suite by suite: starts them, reads what they write, and ends what has to end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic

import msgspec

from proctor import events as e
from proctor.errors import LaunchError, UsageError
from proctor.job import Job
from proctor.launch import Artifact, Launch, Lines, Program, Session, Voice, asking
from proctor.listen import listen
from proctor.outcome import MAXFAIL, Outcome, RunOutcome
from proctor.plan_run import RunPlan
from proctor.prepare import Prepared
from proctor.process.process import P, Starter
from proctor.process.stop import Stop
from proctor.result import Session as SessionResult
from proctor.result import SuiteResult
from proctor.runners.plan import Suite, Then, suites
from proctor.running import Running, timestamp
from proctor.spec import RunSpec

if TYPE_CHECKING:
    from proctor.containment import Next
    from proctor.history.first_new import FirstNew

TICK = 0.2  # seconds between two looks at the clock while nothing happens
WEAK = "processes that the tests detach may outlive the run: this system does not let proctor adopt them"


class Crew(Generic[P]):
    """The loop over the processes of a run. On its way out, however that comes, it ends them all."""

    def __init__(
        self,
        run: Running,
        plan: RunPlan,
        stop: Stop,
        prepared: Prepared,
        processes: Starter[P],
        first_new: FirstNew | None,
    ) -> None:
        self._run, self._processes, self._prepared = run, processes, prepared
        self._first_new = first_new
        self._spec, self._order, self._stop = plan.spec, plan.order, stop
        self._suite = 0  # the number of the one under way
        self._jobs: list[Job[P]] = []
        self._waiting: deque[Launch] = deque()
        self._artifacts: tuple[Artifact, ...] = ()  # of the suite under way
        self._handed_over = ""  # why its tests have to run in another way
        self._limit = self._spec.timeout or None  # seconds since the start of the run
        self._read_until = 0.0  # what processes wrote before this moment has been read
        self._at_once = _at_once(self._spec.workers)

    def __enter__(self) -> Crew[P]:
        return self

    def __exit__(self, *_: object) -> None:
        for job in self._jobs:
            job.process.close()

    def perform(self, begun: P | None) -> None:
        """One suite after the other; `begun` is the process of the first."""
        waiting = deque(self._prepared.suites)
        while waiting:
            suite = waiting.popleft()
            self._perform_suite(suite, begun, _following(suite, waiting))
            begun = None
            if suite.then is not None:
                waiting.extendleft(reversed(self._next(suite, suite.then)))
            self._look_at_stop(between=bool(waiting))
            if self._over():
                break
        if waiting:
            names = ", ".join(suite.name for suite in waiting)
            self._run.publish(e.Noticed(f"suites that were not run: {names}"))
        elif why := self._unmatched():
            self._run.publish(e.Noticed(why))

    def _unmatched(self) -> str:
        """A message about a `-k` expression that matched none of the tests."""
        keywords, result = self._spec.selection.keywords, self._run.result
        if not keywords or result.selected or not result.deselected:
            return ""
        from proctor.runners.nearest_tests import unmatched  # only on the way out

        return unmatched(keywords, result.deselected)

    def _next(self, suite: Suite, then: Then) -> list[Suite]:
        """The suites that follow a build. If they cannot be planned, a suite without tests has the error."""
        try:
            plan = then(self._artifacts)
            return suites(suite.runner, plan) if plan.launches or plan.deselected else []
        except UsageError as error:
            failed = isinstance(error, LaunchError)
            outcome = RunOutcome.INCOMPLETE if failed else RunOutcome.USAGE_ERROR
            number = self._run.enter(e.SuiteEntered(suite.runner, suite.runner, (), self._spec.root))
            self._run.publish(e.StatusExplained(outcome, str(error)), number)
            self._run.leave(number)
            return []

    def _perform_suite(self, suite: Suite, begun: P | None, following: int) -> None:
        self._suite = self._run.enter(_entered(suite, self._spec, following))
        self._artifacts = ()
        if suite.deselected:
            self._publish(e.TestsDeselected(suite.deselected))
        if begun is not None:
            self._adopt(suite.launches[0], begun)
        elif is_process(suite):
            self._start_suite(suite.launches[0])
        else:
            self._announce(suite)
        self.work()
        if suite.voice is Voice.CONTROL:
            self._continue(suite.launches[0])
        self._run.leave(self._suite)

    def _continue(self, launch: Launch) -> None:
        """More sessions, until nothing of the suite is left to run."""
        if self._handed_over and launch.instead is not None:
            launch = self._hand_over(launch.instead)
        suite = self._run.result.suites[self._suite]
        if suite.session.finished is not None and not suite.session.overdue and not suite.attempts:
            return  # nearly all
        if not (isinstance(launch.speech, Session) and launch.speech.continues):
            return
        from proctor.containment import Containment  # only for what did not go well

        containment = Containment(self._spec)
        while suite.count is not None and not self._run.stopped and suite.stopped is None:
            if suite.session.died:
                self._run.end_session(self._suite)
            if self._over() or _reached(suite, _maxfail(suite)):
                return
            following = containment.following(suite)
            if containment.notice:
                self._run.publish(e.Noticed(containment.notice))
            if following is None or not self._start_session(launch, following):
                return
            self.work()

    def _hand_over(self, instead: Launch) -> Launch:
        """The tests have to run in another way: what the first process said of its end is no news."""
        reason, self._handed_over = self._handed_over, ""
        self._run.publish(e.Noticed(f"pytest-xdist runs the tests: {reason}"))
        self._start_suite(instead)
        self.work()
        return instead

    def _start_session(self, launch: Launch, following: Next) -> bool:
        suite, shelf = self._run.result.suites[self._suite], self._run.shelf
        number = len(suite.sessions) + 1
        listed = msgspec.json.encode(
            {
                "tests": [self._own_name(test) for test in following.tests],
                "skip": {self._own_name(test): times for test, times in following.skip.items()},
            }
        )
        path = shelf.keep(f"session-{number}.json", listed)
        if path is None:
            fault = shelf.store.fault
            self._run.publish(e.Noticed(f"the tests that are left were not started: {fault}"))
            return False
        more: dict[str, Any] = {"only": path, "session": number, "data_lost": following.data_lost}
        more["reports"] = str(shelf.files.path / f"session-{number}")
        if left := self._failures_left(suite):
            more["maxfail"] = 0 if following.round else left
        self._publish(e.SessionStarted(number, following.died, len(following.tests), following.round))
        self._start_suite(asking(launch, more))
        return True

    def _own_name(self, test: str) -> str:
        return self._run.own_name(test, self._suite)

    def _failures_left(self, suite: SuiteResult) -> int:
        """Until the limit of failures, by the request or by the project's own options; 0: there is none."""
        if self._spec.maxfail:
            return self._spec.maxfail - self._run.result.bad
        return max(0, _maxfail(suite) - suite.bad)

    def _publish(self, event: e.Event) -> None:
        self._run.publish(event, self._suite)

    def _start_suite(self, launch: Launch) -> None:
        try:
            self._adopt(launch, self._processes.start(launch))
        except LaunchError as error:
            self._publish(e.ChannelBroken(str(error)))

    def _adopt(self, launch: Launch, process: P) -> None:
        if not process.adopts and WEAK not in self._run.result.notices:
            self._run.publish(e.Noticed(WEAK))
        limits, seconds = self._prepared.limits, self._spec.test_timeout
        self._jobs.append(Job(process, listen(self._run, self._suite, launch, limits, seconds)))

    def _announce(self, suite: Suite) -> None:
        """Programs are known before they run; the parts that they report on are not."""
        names: list[str] = []
        tags: dict[str, tuple[str, ...]] = {}
        places: dict[str, e.Place] = {}
        toolchain: dict[str, str] = {}
        for launch in suite.launches:
            if isinstance(launch.speech, Program):
                names.append(launch.name)
                toolchain |= launch.speech.toolchain
                if launch.speech.tags:
                    tags[launch.name] = launch.speech.tags
            elif isinstance(launch.speech, Lines):
                names += [test.name for test in launch.speech.known]
                toolchain |= launch.speech.toolchain
                places |= {test.name: e.Place(test.file, test.line) for test in launch.speech.known}
        if toolchain:
            self._publish(e.SuiteDescribed(self._spec.root, toolchain))
        self._publish(e.TestsSelected(tuple(names), tags, places))
        self._publish(e.SuiteStarted(suite.name, timestamp(), len(names)))
        if not self._spec.collect_only:
            programs = [launch for launch in suite.launches if isinstance(launch.speech, Program)]
            self._waiting.extend(self._order.of_programs(programs) if self._order else programs)

    def work(self) -> None:
        while True:
            self._start_more()
            if not self._jobs:
                return
            now = self._run.now()
            self._end_some(now)
            jobs = [job.process for job in self._jobs]
            for process, chunks in self._processes.wait(jobs, self._patience(now)):
                job = next(job for job in self._jobs if job.process is process)
                job.take(chunks)
                if self._session().interrupted is not None:
                    job.heard(now)
                elif job.listener.interrupting and not self._overdue_runs():
                    job.let_go_on()
                if not job.listener.heeds_maxfail and job.ending is None and self._at_maxfail():
                    self._cut(job, now)
            self._read_until = now
            self._run.tick()
            for job in [job for job in self._jobs if job.process.done]:
                self._bury(job)
            if self._at_first_new():
                self._cut_rest(now)

    def _session(self) -> SessionResult:
        return self._run.result.suites[self._suite].session

    def _overdue_runs(self) -> bool:
        """Whether a test that we interrupt still runs."""
        return not self._session().overdue.keys().isdisjoint(self._run.result.suites[self._suite].running)

    def _cut(self, job: Job[P], now: float, limit: str = "") -> None:
        """A process that only prints its results does not know the limit of failures."""
        failures = "failure" if self._spec.maxfail == 1 else "failures"
        limit = limit or f"stopped after {self._spec.maxfail} {failures}"
        self._publish(e.SessionInterrupted(e.Failure(MAXFAIL, limit)))
        job.stop(RunOutcome.FAILED, now)

    def _cut_rest(self, now: float) -> None:
        """What is left of a session after the first new failure. Programs that are running come to their
        end, and so does a session without other tests: it may have reports to write."""
        suite = self._run.result.suites[self._suite]
        if suite.source == Voice.PROGRAM or all(test in suite.tests for test in suite.selected):
            return
        for job in self._jobs:
            if job.ending is None:
                self._cut(job, now, "stopped at the first new failure")

    def _start_more(self) -> None:
        self._look_at_stop()
        while self._waiting and len(self._jobs) < self._at_once and not self._over():
            launch = self._waiting.popleft()
            try:
                self._adopt(launch, self._processes.start(launch))
            except LaunchError as error:
                failure = e.Failure("", str(error))
                self._publish(e.TestStarted(launch.name))
                self._publish(e.TestFinished(launch.name, Outcome.ERROR, message=str(error), failure=failure))

    def _over(self) -> bool:
        """Nothing more is to start: the run has been ended, or too many tests have failed."""
        return self._run.stopped or self._at_maxfail() or self._at_first_new()

    def _at_first_new(self) -> bool:
        return self._first_new is not None and self._first_new.look(self._run.result)

    def _at_maxfail(self) -> bool:
        if self._run.stopped or not self._spec.maxfail:
            return False
        return self._run.result.bad >= self._spec.maxfail

    def _look_at_stop(self, between: bool = False) -> None:
        """`between`: one suite has ended, and others are waiting."""
        if self._run.stopped or not (self._jobs or self._waiting or between):
            return
        living = not self._jobs or any(job.process.exit_status is None for job in self._jobs)
        reason = self._stop.reason
        if reason is None and self._limit is not None and self._run.now() >= self._limit:
            reason = RunOutcome.TIMEOUT
        if reason is not None and living:
            self._run.stop(reason)

    def _end_some(self, now: float) -> None:
        for job in self._jobs:
            left = job.listener.allowance.remaining(now)
            if self._run.result.stopped is not None:
                job.stop(self._run.result.stopped, now)
            elif left is not None and left <= 0:
                job.stop(RunOutcome.TIMEOUT, now)
            elif overdue := job.listener.overdue(self._read_until):
                for event in overdue:
                    self._publish(event)
                job.interrupt_test(now)
            job.push(now, self._stop.hurried)

    def _patience(self, now: float) -> float:
        waits = [TICK, *(job.wait(now) for job in self._jobs)]
        if self._limit is not None and not self._run.stopped:
            waits.append(self._limit - now)
        return max(0.0, min(wait for wait in waits if wait is not None))

    def _bury(self, job: Job[P]) -> None:
        if job.process.cut_off:
            job.listener.lose_channel()
        job.process.close()
        job.listener.end(job.process.exit_status)
        self._artifacts += job.listener.artifacts
        self._handed_over = job.listener.handed_over
        self._jobs.remove(job)


def _at_once(workers: str) -> int:
    """Programs that may run at a time."""
    if not workers:
        return 1
    from proctor.processors import worker_count  # most runs have no workers

    return worker_count(workers)


def _maxfail(suite: SuiteResult) -> int:
    """The limit of failures that the project's own options set."""
    return suite.described.maxfail if suite.described else 0


def _reached(suite: SuiteResult, maxfail: int) -> bool:
    return bool(maxfail) and suite.bad >= maxfail


def _following(suite: Suite, waiting: Iterable[Suite]) -> int:
    """Suites with tests that come after this one; how many a build makes is not known before its end."""
    after = sum(one.voice is not Voice.BUILD for one in waiting)
    return after + sum(one.then is not None for one in (suite, *waiting))


def _entered(suite: Suite, spec: RunSpec, following: int) -> e.SuiteEntered:
    cwd = suite.launches[0].cwd if is_process(suite) else spec.root
    return e.SuiteEntered(
        suite.name, suite.runner, command(suite), cwd, suite.interpreter, suite.voice, following
    )


def is_process(suite: Suite) -> bool:
    """Whether the suite is one process that has to be started."""
    return suite.voice is not Voice.PROGRAM and bool(suite.launches[0].argv)


def command(suite: Suite) -> tuple[str, ...]:
    return suite.launches[0].argv if len(suite.launches) == 1 else ()

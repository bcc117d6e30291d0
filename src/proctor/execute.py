"""Carry out a plan to its verdict: the only place where producers and consumers meet."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import msgspec

from proctor import events as e
from proctor.archive.store import new_run_id
from proctor.errors import LaunchError, UsageError
from proctor.launch import Artifact, Launch, Voice
from proctor.listener import Listener
from proctor.outcome import BAD, ENOUGH, Outcome, RunOutcome
from proctor.prepare import Prepared
from proctor.process.deadline import Ending
from proctor.process.stop import Stop
from proctor.process.supervise import Chunk, Supervised
from proctor.process.watch import Watch
from proctor.relay import Fault, Sink
from proctor.result import Result
from proctor.runners.plan import Suite, Then, suites
from proctor.running import Keeping, ResultLine, Running, Shelf
from proctor.spec import RunSpec

TICK = 0.2  # seconds between two looks at the clock while nothing happens
WEAK = "processes that the tests detach may outlive the run: this system does not let proctor adopt them"


class Answer(msgspec.Struct, frozen=True):
    result: Result
    directory: Path  # of the run's files; gone after the run if it is not kept
    faults: Sequence[Fault] = ()  # readers that could not go on


def execute(
    spec: RunSpec,
    prepared: Prepared,
    sinks: Sequence[Sink],
    stop: Stop,
    environ: Mapping[str, str],
    keeping: Keeping | None = None,
    result_lines: Sequence[ResultLine] = (),
    finish: Callable[[Answer], None] | None = None,
) -> Answer:
    """Start, listen, end, conclude. Returns only when nothing of the run is alive.

    `finish` gets the answer while the run's files are still there, kept or not.
    """
    keeping = keeping or Keeping()
    run_id = new_run_id(datetime.now(UTC))
    since = time.monotonic()
    with Shelf(Path(spec.root), run_id, environ, keeping) as shelf:
        with ExitStack() as living:
            numbers = count(1)

            def start(launch: Launch) -> Supervised:
                return Supervised(launch, f"{run_id}-{next(numbers)}", environ)

            # A suite that cannot be started is no run; a program that cannot is a test that fails.
            first = prepared.suites[0]
            begun = living.enter_context(start(first.launches[0])) if _is_process(first) else None
            run = Running(_started(spec, prepared, run_id), sinks, shelf, result_lines, since)
            for notice in prepared.notices:
                run.publish(e.Noticed(notice))
            crew = living.enter_context(_Crew(run, spec, prepared, stop, start))
            crew.perform(begun)
        result = run.close()
        shelf.finish(result)
        answer = Answer(result, shelf.files, run.faults)
        if finish is not None:
            finish(answer)
        return answer


def _is_process(suite: Suite) -> bool:
    """It is one process, and that has to be started."""
    return suite.voice is not Voice.PROGRAM and bool(suite.launches[0].argv)


def _command(suite: Suite) -> tuple[str, ...]:
    return suite.launches[0].argv if len(suite.launches) == 1 else ()


def _started(spec: RunSpec, prepared: Prepared, run_id: str) -> e.RunStarted:
    return e.RunStarted(
        run_id,
        prepared.runner,
        _command(prepared.suites[0]) if prepared.single else (),
        spec.root,
        prepared.interpreter,
        _timestamp(),
        spec.selection.everything and not spec.arguments,
        spec.collect_only,
        prepared.suites[0].voice if prepared.single else Voice.SUITES,
    )


def _timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class _Job:
    """A process that is running, and what is understood of it."""

    def __init__(self, process: Supervised, listener: Listener, reads_lines: bool) -> None:
        self.process, self.listener, self.reads_lines = process, listener, reads_lines
        self.ending: Ending | None = None

    def take(self, chunks: list[Chunk], now: float, interrupted: bool) -> None:
        for chunk in sorted(chunks, key=lambda chunk: chunk.stream == "control"):
            self.listener.take(chunk)
        if self.listener.deaf:
            self.process.stop_hearing()
        self.process.diversion = self.listener.diversion
        if self.ending is not None and interrupted:
            self.ending.heard(now)

    def stop(self, reason: RunOutcome, now: float) -> None:
        """What ended by itself cannot be stopped."""
        if self.ending is None and self.process.exit_status is None:
            self.listener.stopped = reason
            self.ending = Ending(now)

    def push(self, now: float, hurried: bool) -> None:
        if self.ending is not None:
            if hurried:
                self.ending.hurry(now)
            if push := self.ending.due(now):
                self.process.push(push)

    def wait(self, now: float) -> float | None:
        """Seconds until something has to happen."""
        return self.ending.wait(now) if self.ending else self.listener.allowance.remaining(now)


class _Crew:
    """The loop: start, read, tell, and end what has to end."""

    def __init__(
        self,
        run: Running,
        spec: RunSpec,
        prepared: Prepared,
        stop: Stop,
        start: Callable[[Launch], Supervised],
    ) -> None:
        self._run, self._spec, self._prepared, self._stop, self._start = run, spec, prepared, stop, start
        self._jobs: list[_Job] = []
        self._waiting: deque[Launch] = deque()
        self._artifacts: tuple[Artifact, ...] = ()  # of the present suite
        self._watch = Watch(stop)
        self._limit = spec.timeout or None  # seconds since the start of the run
        self._at_once = (os.cpu_count() or 1) if spec.workers == "auto" else int(spec.workers or 1)

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for job in self._jobs:
            job.process.close()

    def perform(self, begun: Supervised | None) -> None:
        """One suite after the other; `begun` is the process of the first."""
        if self._prepared.single:
            self._perform_suite(self._prepared.suites[0], begun)
            return
        waiting = deque(self._prepared.suites)
        while waiting:
            suite = waiting.popleft()
            self._run.enter(_entered(suite, self._spec))
            self._perform_suite(suite, begun)
            self._run.leave()
            begun = None
            if suite.then is not None:
                waiting.extendleft(reversed(self._next(suite, suite.then)))
            self._look_at_stop(between=bool(waiting))
            if self._enough():
                break
        if waiting:
            names = ", ".join(suite.name for suite in waiting)
            self._run.publish(e.Noticed(f"suites that were not run: {names}"))

    def _next(self, suite: Suite, then: Then) -> list[Suite]:
        """What follows a build. That nothing can is the fault of a suite that has no tests yet."""
        try:
            plan = then(self._artifacts)
            return suites(suite.runner, plan) if plan.launches or plan.deselected else []
        except UsageError as error:
            self._run.enter(e.SuiteEntered(suite.runner, suite.runner, (), self._spec.root))
            self._run.publish(e.ChannelBroken(str(error)))
            self._run.leave()
            return []

    def _perform_suite(self, suite: Suite, begun: Supervised | None) -> None:
        self._artifacts = ()
        if suite.deselected:
            self._run.publish(e.TestsDeselected(suite.deselected))
        if begun is not None:
            self._adopt(suite.launches[0], begun)
        elif _is_process(suite):
            self._start_suite(suite.launches[0])
        else:
            self._announce(suite)
        self.work()

    def _start_suite(self, launch: Launch) -> None:
        try:
            self._adopt(launch, self._start(launch))
        except LaunchError as error:
            self._run.publish(e.ChannelBroken(str(error)))

    def _adopt(self, launch: Launch, process: Supervised) -> None:
        if not process.adopts and WEAK not in self._run.result.notices:
            self._run.publish(e.Noticed(WEAK))
        listener = Listener(self._run, launch, self._prepared.limits)
        self._jobs.append(_Job(process, listener, launch.voice is Voice.LINES))

    def _announce(self, suite: Suite) -> None:
        """Programs are known before they run; the parts that they report on are not."""
        programs = [launch for launch in suite.launches if launch.voice is Voice.PROGRAM]
        known = [test for launch in suite.launches for test in launch.known]
        names = (*(launch.name for launch in programs), *(test.name for test in known))
        tags = {launch.name: launch.tags for launch in programs if launch.tags}
        places = {test.name: e.Place(test.file, test.line) for test in known}
        toolchain = {name: version for launch in suite.launches for name, version in launch.toolchain.items()}
        if toolchain:
            self._run.publish(e.SuiteDescribed(self._spec.root, toolchain))
        self._run.publish(e.TestsSelected(names, tags, places))
        self._run.publish(e.SuiteStarted(suite.name, _timestamp(), len(names)))
        if not self._spec.collect_only:
            self._waiting.extend(programs)

    def work(self) -> None:
        while True:
            self._start_more()
            if not self._jobs:
                return
            now = self._run.now()
            self._end_some(now)
            for process, chunks in self._watch.wait([job.process for job in self._jobs], self._patience(now)):
                job = next(job for job in self._jobs if job.process is process)
                job.take(chunks, now, self._run.result.interrupted is not None)
                if job.reads_lines and job.ending is None and self._enough() and not self._run.stopped:
                    self._cut(job, now)
            self._run.tick()
            for job in [job for job in self._jobs if job.process.done]:
                self._bury(job)

    def _cut(self, job: _Job, now: float) -> None:
        """What only prints its results has not been told how many may fail."""
        limit = f"stopped after {self._spec.maxfail} {'failure' if self._spec.maxfail == 1 else 'failures'}"
        self._run.publish(e.SessionInterrupted(e.Failure(ENOUGH, limit)))
        job.stop(RunOutcome.FAILED, now)

    def _start_more(self) -> None:
        self._look_at_stop()
        while self._waiting and len(self._jobs) < self._at_once and not self._enough():
            launch = self._waiting.popleft()
            try:
                self._adopt(launch, self._start(launch))
            except LaunchError as error:
                self._run.publish(e.TestStarted(launch.name))
                failure = e.Failure("", str(error))
                self._run.publish(
                    e.TestFinished(launch.name, Outcome.ERROR, message=str(error), failure=failure)
                )

    def _enough(self) -> bool:
        """The run has been ended, or as many tests failed as were allowed to."""
        failed = sum(self._run.result.counts[outcome] for outcome in BAD)
        return self._run.stopped or bool(self._spec.maxfail and failed >= self._spec.maxfail)

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
            job.push(now, self._stop.hurried)

    def _patience(self, now: float) -> float:
        waits = [TICK, *(job.wait(now) for job in self._jobs)]
        if self._limit is not None and not self._run.stopped:
            waits.append(self._limit - now)
        return max(0.0, min(wait for wait in waits if wait is not None))

    def _bury(self, job: _Job) -> None:
        if job.process.cut_off:
            job.listener.lose_channel()
        job.process.close()
        job.listener.end(job.process.exit_status)
        self._artifacts += job.listener.artifacts
        self._jobs.remove(job)


def _entered(suite: Suite, spec: RunSpec) -> e.SuiteEntered:
    cwd = suite.launches[0].cwd if _is_process(suite) else spec.root
    return e.SuiteEntered(suite.name, suite.runner, _command(suite), cwd, suite.interpreter, suite.voice)

"""Gives the shards of a run to an engine, and takes the answer of each into the run, once."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any

import msgspec

from proctor import events as e
from proctor.errors import ProctorError
from proctor.outcome import MAXFAIL, RunOutcome
from proctor.plan_run import Asked
from proctor.process.stop import Stop
from proctor.running import Running
from proctor.shards.engines import LOCAL, Engine
from proctor.shards.lease import Lease
from proctor.shards.part import planned
from proctor.shards.plan import Plan
from proctor.shards.preview import Preview
from proctor.shards.project import Shipping
from proctor.shards.returned import Taking, entries_of
from proctor.shards.submitting import Submitting
from proctor.shards.task import Task, decode_answer, encode_task
from proctor.shards.tries import Tries, Try

TICK = 0.1  # seconds between two looks at the clock
NO_WORKER = 60.0  # seconds without a worker after which the run gives up
_LOOK = 1.0  # seconds between two questions for workers
_CANCEL = 1.0  # seconds for shards to end by themselves, once they were recalled
_ABANDON = 20.0  # seconds after which a recalled shard is not waited for any more; its supervisor has 25
_HURRY = 3.0  # likewise, after a second Ctrl-C


class Beside(msgspec.Struct, frozen=True):
    """What the listing of the tests says of a suite, and no shard will: they get only the tests to run."""

    runner: str
    deselected: tuple[str, ...] = ()
    skipped: tuple[e.TestFinished, ...] = ()  # modules that skipped themselves


class Dispatched(msgspec.Struct, frozen=True):
    """What a run over an engine needs to know."""

    engine: Engine
    executor: Executor  # the first one
    plan: Plan
    asked: Asked
    timeout: float = 0.0  # seconds that the run may take; 0: no limit
    force: bool = False
    no_worker: float = NO_WORKER
    listed: tuple[Beside, ...] = ()


class Dispatch:
    """One run over many workers. It is what `execute` calls instead of starting processes here."""

    def __init__(self, what: Dispatched, stop: Stop) -> None:
        self._what, self._stop, self._shards = what, stop, what.plan.shards
        self._shipping = Shipping(what.asked.root, os.environ, what.engine.name != LOCAL)
        self._tries = Tries([number for number, shard in enumerate(self._shards, 1) if shard.tests])
        self._futures: dict[str, Future[dict[str, Any]]] = {}
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()  # what other threads tell
        self._needs_executor = False
        self._maxfail = ""  # why nothing more starts
        self._recalled: float | None = None  # when shards under way were told to end
        self._cancelled = False
        self._worker_seen = self._looked = 0.0

    def __call__(self, run: Running) -> None:
        self._run, self._lease = run, Lease()
        self._preview = Preview(run, self._what.plan)
        self._submitting = Submitting(self._what.engine, self._what.executor, self._tell_submitted)
        try:
            run.publish(planned(self._what.plan, 0))
            self._publish_listed()
            self._live = self._what.engine.listen(self._tell_live)
            self._worker_seen = run.now()
            self._work()
        finally:
            self._lease.end(RunOutcome.CANCELLED)
            self._submitting.close()
            self._what.engine.close()
            self._lease.close()

    def _publish_listed(self) -> None:
        run = self._run
        for beside in self._what.listed:
            name = f"{beside.runner} listing"
            suite = run.enter(e.SuiteEntered(name, beside.runner, (), str(self._what.asked.root)))
            run.publish(e.TestsDeselected(beside.deselected), suite)
            run.publish(e.SuiteStarted(name, run.result.run.started, 0), suite)
            run.publish_all(beside.skipped, suite)
            run.publish(e.StatusExplained(RunOutcome.PASSED, ""), suite)
            run.leave(suite)

    def _work(self) -> None:
        while self._tries.left or self._tries.under_way:
            for one in self._tries.start():
                self._submit(one)
            self._hear()
            self._look_at_stop()
            self._look_at_maxfail()
            self._look_at_workers()
            self._look_at_recalled()
            self._run.tick(self._preview.result(self._tries.under_way, self._tries.left))

    # What other threads tell, in the order in which it comes.

    def _tell_submitted(self, attempt: str, found: Future[dict[str, Any]] | BaseException) -> None:
        self._inbox.put(lambda: self._submitted(attempt, found))

    def _tell_live(self, attempt: str, lines: str) -> None:
        self._inbox.put(lambda: self._preview.take(attempt, lines))

    def _hear(self) -> None:
        try:
            self._inbox.get(timeout=TICK)()
            while True:
                self._inbox.get_nowait()()
        except queue.Empty:
            pass

    # One try after the other.

    def _submit(self, one: Try) -> None:
        run, what, left = self._run, self._what, 0.0
        try:
            project = self._shipping.project(with_files=one.shipped)
        except ProctorError as error:
            self._settle(one)
            self._give_up(one.shard, str(error))
            return
        if what.timeout:
            left = max(TICK, what.timeout - run.now())
        task = Task(
            run.result.run.run_id,
            one.id,
            one.shard,
            len(self._shards),
            msgspec.structs.replace(what.plan, shards=(self._shards[one.shard - 1],), commit=""),
            msgspec.structs.replace(what.asked, timeout=left),
            project,
            what.force,
            self._live,
            self._lease.path,
            self._lease.secret,
        )
        fresh, self._needs_executor = self._needs_executor, False
        self._submitting.submit(one.id, encode_task(task), fresh)

    def _submitted(self, attempt: str, found: Future[dict[str, Any]] | BaseException) -> None:
        if attempt not in self._tries.under_way:
            return  # nobody waits for it any more
        if isinstance(found, BaseException):
            self._lose(self._tries.under_way[attempt], found, began=False)
            return
        self._futures[attempt] = found
        found.add_done_callback(lambda _: self._inbox.put(lambda: self._returned(attempt)))

    def _returned(self, attempt: str) -> None:
        one, future = self._tries.under_way.get(attempt), self._futures.pop(attempt, None)
        if one is None or future is None:
            return
        error: BaseException | None = CancelledError() if future.cancelled() else future.exception()
        if error is not None:
            self._lose(one, error, began=self._may_have_begun(one))
            return
        tests = self._shards[one.shard - 1].tests
        try:
            answer = decode_answer(future.result())
            if answer.attempt != one.id:
                raise ProctorError("it is the answer to another try")
            has_run = not (answer.error or answer.needs_project)
            entries = entries_of(answer, tests) if has_run else []
        except Exception as garbage:  # noqa: BLE001  whatever comes back is no answer of ours
            self._lose(one, ProctorError(f"its answer is not valid: {_told(garbage)}"))
            return
        if answer.needs_project and not one.shipped:
            self._tries.settle(one)
            self._submit(self._tries.ship(one))
        elif has_run:
            self._settle(one)
            label, tries = self._label(one.shard), self._tries.count[one.shard]
            Taking(self._run, answer, self._maxfail).take(entries, label, tries)
        else:
            self._settle(one)
            self._give_up(one.shard, answer.error or "the project is not there", answer.worker)

    def _settle(self, one: Try) -> None:
        self._tries.settle(one)
        self._preview.forget(one.id)

    def _may_have_begun(self, one: Try) -> bool:
        """If any try has left its name with the lease, every one does."""
        return bool(self._lease.worker(one.id)) or not self._lease.is_used

    def _lose(self, one: Try, error: BaseException, began: bool = True) -> None:
        broken = isinstance(error, BrokenExecutor)
        self._needs_executor = self._needs_executor or broken
        worker = self._lease.worker(one.id) or self._preview.worker(one.id)
        self._preview.forget(one.id)
        if self._tries.lose(one, broken, began, final=self._recalled is not None):
            if began:
                lost = f"worker {worker} was lost" if worker else "a worker was lost"
                text = f"shard {self._label(one.shard)} starts again: {lost}: {_told(error)}"
                self._run.publish(e.Noticed(text))
        else:
            self._give_up(one.shard, _told(error), worker)

    def _label(self, shard: int) -> str:
        return f"{shard}/{len(self._shards)}"

    def _give_up(self, shard: int, reason: str = "", worker: str = "") -> None:
        """Suites of tests that were not run."""
        run, label = self._run, self._label(shard)
        where = f" (worker {worker})" if worker else ""
        for runner, tests in self._shards[shard - 1].by_runner():
            name = runner or run.result.run.runner
            tries = max(1, self._tries.count[shard])
            entered = e.SuiteEntered(f"{name} {label}", name, (), str(self._what.asked.root), tries=tries)
            suite = run.enter(entered)
            run.publish(e.TestsSelected(tests), suite)
            run.publish(e.SuiteStarted(entered.name, run.result.run.started, len(tests)), suite)
            if self._maxfail:
                run.publish(e.SessionInterrupted(e.Failure(MAXFAIL, self._maxfail)), suite)
            elif not run.stopped:
                run.publish(e.ChannelBroken(f"shard {label} did not run: {reason}{where}"), suite)
            run.leave(suite)

    # The end before its time.

    def _look_at_stop(self) -> None:
        reason, limit = self._stop.reason, self._what.timeout
        if reason is None and limit and self._run.now() >= limit:
            reason = RunOutcome.TIMEOUT
        if reason is not None and not self._run.stopped:
            self._run.stop(reason)
            self._recall(reason)

    def _look_at_maxfail(self) -> None:
        most = self._what.asked.maxfail
        if not most or self._maxfail or self._run.stopped:
            return
        if self._run.result.bad + self._preview.bad >= most:
            self._maxfail = f"stopped after {most} {'failure' if most == 1 else 'failures'}"
            self._recall(RunOutcome.CANCELLED)

    def _recall(self, reason: RunOutcome) -> None:
        """Nothing more begins; what is under way ends, and returns what it has."""
        self._recalled = self._run.now() if self._recalled is None else self._recalled
        self._lease.end(reason)
        self._drop_left()

    def _drop_left(self) -> None:
        for shard in self._tries.drop_left():
            self._give_up(shard)

    def _look_at_recalled(self) -> None:
        if self._recalled is None:
            return
        waited = self._run.now() - self._recalled
        if waited >= _CANCEL and not self._cancelled:
            self._cancelled = True
            for future in [*self._futures.values()]:
                future.cancel()
        if waited >= (_HURRY if self._stop.hurried else _ABANDON):
            self._abandon("it did not end when it was told to")

    def _look_at_workers(self) -> None:
        now = self._run.now()
        if self._recalled is not None or now - self._looked < min(_LOOK, self._what.no_worker):
            return
        self._looked = now
        if self._what.engine.workers() != 0:
            self._worker_seen = now
        elif now - self._worker_seen >= self._what.no_worker:
            reason = f"{self._what.engine.name} has had no worker for {self._what.no_worker:g} s"
            self._recalled = now
            for shard in self._tries.drop_left():
                self._give_up(shard, reason)
            self._abandon(reason)

    def _abandon(self, reason: str) -> None:
        """Waits no longer for what is under way."""
        for one in [*self._tries.under_way.values()]:
            if (future := self._futures.pop(one.id, None)) is not None:
                future.cancel()
            self._settle(one)
            self._give_up(one.shard, reason, self._lease.worker(one.id))


def _told(error: BaseException) -> str:
    """What an engine raised, in a line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, ProctorError) else f"{type(error).__name__}: {text}".rstrip(": ")

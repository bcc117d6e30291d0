"""Gives the shards of a run to an engine, and takes the answer of each into the run, once."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any

import msgspec

from proctor import events as e
from proctor.engines.answers import NotRun, Publisher, checked, publish_deselected, publish_not_run
from proctor.engines.engine import LOCAL, Engine
from proctor.engines.lease import Lease
from proctor.engines.preview import Preview
from proctor.engines.project import Shipping
from proctor.engines.recall import Recall, Step
from proctor.engines.submitting import Submitting
from proctor.engines.task import Task, encode_task
from proctor.engines.tries import Tries, Try
from proctor.engines.waiting import Waiting
from proctor.errors import ProctorError
from proctor.outcome import RunOutcome
from proctor.plan_run import Asked
from proctor.process.stop import Stop
from proctor.running import Running
from proctor.shards.part import planned
from proctor.shards.plan import Plan

TICK = 0.1  # seconds between two looks at the clock
NO_WORKER = 60.0  # seconds without a worker, or an answer of the engine, after which the run gives up


class Dispatched(msgspec.Struct, frozen=True):
    """What a run over an engine needs to know."""

    engine: Engine
    executor: Executor  # the first one
    plan: Plan
    asked: Asked
    timeout: float = 0.0  # seconds that the run may take; 0: no limit
    force: bool = False
    no_worker: float = NO_WORKER
    deselected: dict[str, tuple[str, ...]] = {}  # by runner: no shard knows of these tests
    tell: Callable[[str], None] | None = None  # called once, with what the run waits for


class Dispatch:
    """One run over many workers. It is what `execute` calls instead of starting processes here."""

    def __init__(self, what: Dispatched, stop: Stop) -> None:
        self._what, self._stop, self._shards = what, stop, what.plan.shards
        self._shipping = Shipping(what.asked.root, os.environ, what.engine.name != LOCAL)
        self._tries = Tries(
            [number for number, shard in enumerate(self._shards, 1) if shard.tests or shard.files]
        )
        self._futures: dict[str, Future[dict[str, Any]]] = {}
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()  # from other threads
        self._needs_executor = False
        self._maxfail = ""  # why nothing more starts
        self._recall = Recall()
        self._heard = False  # the engine has asked shards to end
        self._waiting = Waiting(what.engine, what.no_worker, what.tell)

    def __call__(self, run: Running) -> None:
        self._run, self._lease = run, Lease()
        self._preview = Preview(run, self._what.plan)
        self._submitting = Submitting(self._what.engine, self._what.executor, self._post_submitted)
        try:
            run.publish(planned(self._what.plan, 0))
            for runner, tests in self._what.deselected.items():
                publish_deselected(run, runner, tests, str(self._what.asked.root))
            self._live = self._what.engine.listen(self._post_live)
            self._waiting.start(run.now())
            self._work()
        finally:
            self._lease.end(RunOutcome.CANCELLED)
            self._submitting.close()
            try:
                self._what.engine.close()
            finally:
                self._lease.close()

    def _work(self) -> None:
        while self._tries.left or self._tries.under_way:
            for one in self._tries.start():
                self._submit(one)
            self._hear()
            self._look_at_stop()
            self._look_at_maxfail()
            self._look_at_workers()
            self._look_at_recall()
            waiting = "" if self._recall.begun else self._waiting.text(self._run.now())
            self._run.tick(self._preview.result(self._tries.under_way, self._tries.left, waiting))

    # Messages of other threads, in the order in which they come.

    def _post_submitted(self, attempt: str, found: Future[dict[str, Any]] | BaseException) -> None:
        self._inbox.put(lambda: self._submitted(attempt, found))

    def _post_live(self, attempt: str, lines: str) -> None:
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
        if self._recall.begun:
            self._cancel_unseen()

    def _returned(self, attempt: str) -> None:
        one, future = self._tries.under_way.get(attempt), self._futures.pop(attempt, None)
        if one is None or future is None:
            return
        error = _error_of(future)
        if error is not None:
            self._lose(one, error, began=self._may_have_begun(one))
            return
        try:
            answer, entries = checked(future.result(0), one.id, self._shards[one.shard - 1].tests)
        except Exception as garbage:  # noqa: BLE001  whatever comes back is no answer of ours
            self._lose(one, ProctorError(f"its answer is not valid: {_told(garbage)}"))
            return
        if answer.needs_project and not one.shipped:
            self._tries.settle(one)
            self._submit(self._tries.ship(one))
        elif entries:
            self._settle(one)
            label, tries = self._label(one.shard), self._tries.count[one.shard]
            Publisher(self._run, answer, self._maxfail).publish_run(entries, label, tries)
        else:
            self._settle(one)
            self._give_up(one.shard, answer.error or "the worker does not have the project", answer.worker)

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
        if self._tries.lose(one, broken, began, final=self._recall.begun):
            if began:
                why = _by_worker(_told(error), worker)
                self._run.publish(e.Noticed(f"shard {self._label(one.shard)} starts again: {why}"))
        else:
            self._give_up(one.shard, _told(error), worker)

    def _label(self, shard: int) -> str:
        return f"{shard}/{len(self._shards)}"

    def _give_up(self, shard: int, reason: str = "", worker: str = "") -> None:
        why = _by_worker(reason, worker)
        label, tries, root = self._label(shard), self._tries.count[shard], str(self._what.asked.root)
        publish_not_run(self._run, NotRun(self._shards[shard - 1], label, root, tries, why, self._maxfail))

    # The end before its time.

    def _look_at_stop(self) -> None:
        reason, limit = self._stop.reason, self._what.timeout
        if reason is None and limit and self._run.now() >= limit:
            reason = RunOutcome.TIMEOUT
        if reason is not None and not self._run.stopped:
            self._run.stop(reason)
            self._end_early(reason)

    def _look_at_maxfail(self) -> None:
        most = self._what.asked.maxfail
        if not most or self._maxfail or self._run.stopped:
            return
        if self._run.result.bad + self._preview.bad >= most:
            self._maxfail = f"stopped after {most} {'failure' if most == 1 else 'failures'}"
            self._end_early(RunOutcome.CANCELLED)

    def _end_early(self, reason: RunOutcome) -> None:
        """Nothing more begins; what is under way ends, and returns what it has."""
        self._recall.begin(self._run.now())
        self._lease.end(reason)
        self._heard = self._what.engine.recall(reason)
        self._give_up_left()
        self._cancel_unseen()

    def _cancel_unseen(self) -> None:
        """Those that have not begun, and those that nothing else tells to end."""
        self._cancel(attempt for attempt in self._futures if not self._returns(attempt))

    def _returns(self, attempt: str) -> bool:
        """Whether it ends by itself, once it was recalled."""
        seen = self._heard and bool(self._preview.worker(attempt))
        return seen or bool(self._lease.worker(attempt))

    def _cancel(self, attempts: Iterable[str]) -> None:
        for attempt in [*attempts]:
            self._futures[attempt].cancel()

    def _give_up_left(self, reason: str = "") -> None:
        for shard in self._tries.drop_left():
            self._give_up(shard, reason)

    def _look_at_recall(self) -> None:
        match self._recall.step(self._run.now(), self._stop.hurried):
            case Step.CANCEL:
                self._cancel(self._futures)
            case Step.ABANDON:
                self._abandon("it did not stop in time")

    def _look_at_workers(self) -> None:
        now = self._run.now()
        if not self._recall.begun and (reason := self._waiting.look(now)):
            self._recall.begin(now)
            self._give_up_left(reason)
            self._abandon(reason)

    def _abandon(self, reason: str) -> None:
        """Waits no longer for what is under way."""
        for one in [*self._tries.under_way.values()]:
            if (future := self._futures.pop(one.id, None)) is not None:
                future.cancel()
            self._settle(one)
            self._give_up(one.shard, reason, self._lease.worker(one.id))


def _error_of(future: Future[dict[str, Any]]) -> BaseException | None:
    """Never waits: an engine may say too early that it is done."""
    try:
        return CancelledError() if future.cancelled() else future.exception(0)
    except Exception as error:  # noqa: BLE001  it may be of the engine's own class
        return error


def _by_worker(reason: str, worker: str) -> str:
    """With the name of the worker, unless that is in it already."""
    return f"{reason} (worker {worker})" if worker and worker not in reason else reason


def _told(error: BaseException) -> str:
    """What an engine raised, in a line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, ProctorError) else f"{type(error).__name__}: {text}".rstrip(": ")

"""Gives the shards of a run to an engine, and takes each answer into the run, once."""

from __future__ import annotations

import base64
import os
import uuid
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any

import msgspec

from proctor import events as e
from proctor.outcome import RunOutcome
from proctor.plan_run import Asked
from proctor.process.stop import Stop
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.running import Running
from proctor.shards.engines import Engine
from proctor.shards.joining import Joining
from proctor.shards.lease import Lease
from proctor.shards.part import planned
from proctor.shards.plan import Plan
from proctor.shards.project import Project, packed
from proctor.shards.run_shard import run_shard
from proctor.shards.task import Answer, Task, decode_answer, encode_task
from proctor.wire.reports.any_report import AnyReport

TICK = 0.1  # seconds between two looks at the clock
MOST_TRIES = 3  # of a shard whose worker dies


class Dispatch:
    """One run over many workers. It is what `execute` calls instead of starting processes here."""

    def __init__(
        self, engine: Engine, plan: Plan, asked: Asked, stop: Stop, limit: float, force: bool
    ) -> None:
        """`limit`: seconds that the run may take; 0: no limit."""
        self._engine, self._plan, self._asked, self._stop, self._limit = engine, plan, asked, stop, limit
        self._force = force
        self._project = Project(str(asked.root), plan.tree)
        self._tries = dict.fromkeys(range(1, len(plan.shards) + 1), 0)
        self._pending: dict[Future[dict[str, Any]], int] = {}

    def __call__(self, run: Running) -> None:
        lease = Lease()
        try:
            run.publish(planned(self._plan, 0))
            executor = self._engine.executor()
            for number, shard in enumerate(self._plan.shards, 1):
                if shard.tests:
                    self._submit(executor, number, run, lease)
            while self._pending:
                done, _ = wait(self._pending, TICK, FIRST_COMPLETED)
                for future in done:
                    self._take(future, self._pending.pop(future), executor, run, lease)
                run.tick()
                self._look_at_stop(run, lease)
        finally:
            lease.close()
            self._engine.close()

    def _submit(
        self, executor: Executor, number: int, run: Running, lease: Lease, again: bool = False
    ) -> None:
        """`again`: the last try has not begun for lack of the project, which goes with it this time."""
        self._tries[number] += not again
        shard = msgspec.structs.replace(self._plan, shards=(self._plan.shards[number - 1],), commit="")
        task = Task(
            run.result.run.run_id,
            uuid.uuid4().hex,
            number,
            len(self._plan.shards),
            shard,
            self._asked,
            packed(self._project) if again else self._project,
            self._force,
            lease=lease.path,
            secret=lease.secret,
        )
        self._pending[executor.submit(run_shard, encode_task(task))] = number

    def _take(
        self, future: Future[dict[str, Any]], number: int, executor: Executor, run: Running, lease: Lease
    ) -> None:
        try:
            answer = decode_answer(future.result())
        except Exception as error:  # noqa: BLE001  whatever an engine raises: its worker is gone
            if run.stopped or self._tries[number] >= MOST_TRIES:
                self._give_up(number, f"{type(error).__name__}: {error}", run)
            else:
                self._submit(executor, number, run, lease)
            return
        if answer.needs_project:
            self._submit(executor, number, run, lease, again=True)
        elif answer.error:
            self._give_up(number, answer.error, run)
        else:
            self._join(number, answer, run)

    def _join(self, number: int, answer: Answer, run: Running) -> None:
        for path, data in answer.files.items():
            run.shelf.keep(os.path.basename(path), base64.b64decode(data))
        joining = Joining(_Joined(run), f"{number}/{len(self._plan.shards)}", self._tries[number])
        results: list[RunResult] = []
        replay = Replay(lambda: [joining], results.append)
        for entries in _entries(answer.log):
            replay.take(entries)
        replay.close()

    def _give_up(self, number: int, reason: str, run: Running) -> None:
        """A suite of tests that were not run."""
        tests, label = self._plan.shards[number - 1].tests, f"{number}/{len(self._plan.shards)}"
        runner = run.result.run.runner
        entered = e.SuiteEntered(
            f"{runner} {label}", runner, (), str(self._asked.root), tries=self._tries[number]
        )
        suite = run.enter(entered)
        run.publish(e.TestsSelected(tests), suite)
        run.publish(e.SuiteStarted(entered.name, run.result.run.started, len(tests)), suite)
        run.publish(e.ChannelBroken(f"shard {label} did not run: {reason}"), suite)
        run.leave(suite)

    def _look_at_stop(self, run: Running, lease: Lease) -> None:
        """Whoever works for us sees it by the lease."""
        reason = self._stop.reason
        if reason is None and self._limit and run.now() >= self._limit:
            reason = RunOutcome.TIMEOUT
        if reason is not None and not run.stopped:
            run.stop(reason)
            lease.close()
            for future in self._pending:
                future.cancel()


class _Joined:
    def __init__(self, run: Running) -> None:
        self._run = run

    def enter(self, suite: e.SuiteEntered, at: float) -> int:
        del at
        return self._run.enter(suite)

    def publish(self, event: e.Event, at: float, suite: int) -> None:
        del at
        self._run.publish(event, suite)


def _entries(log: str) -> Iterator[list[e.Entry]]:
    reader = AnyReport("the log of a shard", "events")
    yield reader.feed(log.encode())
    yield reader.close()

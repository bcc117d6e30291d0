"""Executors that only exist in tests, answers that no test process has given, and runs over them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from proctor import events as e
from proctor.engines.dispatch import Dispatch, Dispatched
from proctor.engines.engine import Engine, PlainEngine
from proctor.engines.host import PlainHost
from proctor.engines.shard_log import ShardLog
from proctor.engines.task import Answer, Task, decode_task, encode_answer
from proctor.outcome import Outcome
from proctor.plan_run import Asked
from proctor.process.stop import Stop
from proctor.relay import Relay, Sink
from proctor.result import RunResult
from proctor.running import Keeping, Running, Shelf
from proctor.shards.plan import Plan, Shard
from support.streams import STARTED

Work = Callable[[dict[str, Any]], dict[str, Any]]


def plan_of(*shards: str | Sequence[str], runner: str = "pytest") -> Plan:
    """`a b` is a shard with two tests, a and b."""
    parts = [tuple(tests.split() if isinstance(tests, str) else tests) for tests in shards]
    return Plan(shards=tuple(Shard(tests, 0.0, {runner: len(tests)} if tests else {}) for tests in parts))


def facts(task: Task, outcomes: dict[str, Outcome] | None = None) -> list[e.Event]:
    """What a session reports that runs the tests of a shard."""
    tests = task.plan.shards[0].tests
    ends = [e.TestFinished(test, (outcomes or {}).get(test, Outcome.PASSED)) for test in tests]
    failed = any(end.outcome is not Outcome.PASSED for end in ends)
    return [
        e.TestsPlanned(tests),
        e.SuiteEntered("pytest", "pytest", (), "/p"),
        e.TestsSelected(tests),
        e.SuiteStarted("pytest", "", len(tests)),
        *ends,
        e.SessionFinished(int(failed), len(tests)),
        e.ProcessExited(int(failed)),
    ]


def answer_of(task: Task, events: list[e.Event], **more: Any) -> dict[str, Any]:
    """As `run_shard` would return it, if that had happened."""
    log = ShardLog(task.attempt, PlainHost())
    relay = Relay(STARTED, [log])
    for event in events:
        relay.publish(event, 0.0)
    relay.close(1.0)
    return encode_answer(Answer(task.attempt, "w1", log.pack(), **more))


def passes(data: dict[str, Any]) -> dict[str, Any]:
    task = decode_task(data)
    return answer_of(task, facts(task))


class Inline(Executor):
    """Does the work when it is given, whatever the function: `work` gets the task and returns an answer."""

    def __init__(self, work: Work | None = passes) -> None:
        """None: what was asked for."""
        self._work = work

    def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        del more
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result((self._work or function)(*arguments))
        except BaseException as error:  # noqa: BLE001  as an Executor does
            future.set_exception(error)
        return future


class Never(Executor):
    """Futures that never complete."""

    def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        del function, arguments, more
        return Future()


def dispatched(
    plan: Plan,
    factory: Callable[[], Executor],
    root: Path,
    sinks: tuple[Sink, ...] = (),
    stop: Stop | None = None,
    engine: Engine | None = None,
    asked: Asked | None = None,
    look: Callable[[Running], None] = lambda run: None,
    **more: Any,
) -> RunResult:
    """The run that `--engine` makes of these shards; `root` is the project. `look` sees it with its files."""
    engine = engine or PlainEngine("made", factory)
    asked = asked or Asked(root=root, archive=False, history=False)
    what = Dispatched(engine, engine.executor(), plan, asked, **more)
    own = stop or Stop()
    try:
        with Shelf(root, STARTED.run_id, {}, Keeping(archive=False)) as shelf:
            run = Running(STARTED, sinks, shelf, [], time.monotonic())
            Dispatch(what, own)(run)
            look(run)
            return run.close()
    finally:
        if stop is None:
            own.close()


def ends_of(result: RunResult) -> dict[str, str]:
    return {test: str(ended.outcome) for test, ended in result.tests.items()}

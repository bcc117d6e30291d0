"""The work of one shard, wherever an engine runs it: behind proctor's own supervisor, like any other run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from proctor import config
from proctor.errors import LaunchError, ProctorError
from proctor.execute import Executed, Request, execute
from proctor.outcome import RunOutcome
from proctor.process.stop import Stop
from proctor.shards import project
from proctor.shards.environment import checked, with_interpreter
from proctor.shards.host import Host, host
from proctor.shards.lease import Watched
from proctor.shards.part import Taking, take
from proctor.shards.returned_files import Returned
from proctor.shards.shard_log import ShardLog
from proctor.shards.task import Answer, Task, decode_task, encode_answer

_LOOK = 0.2  # seconds between two looks at whether somebody still wants the answer
_GENTLE = 0.8  # seconds for tests to end by themselves, once nobody does


def run_shard(data: dict[str, Any]) -> dict[str, Any]:
    """Runs one shard. `data` is a Task, and what is returned an Answer."""
    task = decode_task(data)
    worker = host(task.live)
    lease = Watched(task.lease, task.secret)
    lease.begin(task.attempt, worker.name)
    try:
        with _deaf_to_interrupts(lease.known), _watched(lease, worker) as stop:
            answer = _answer(task, worker, lease.known, stop)
        if worker.is_unwanted():
            raise LaunchError(f"the worker {worker.name} gave the shard up")  # no answer: it was ended early
        return encode_answer(answer)
    finally:
        if lease.orphaned:
            _leave()
        lease.close()


def _answer(task: Task, worker: Host, same_machine: bool, stop: Stop) -> Answer:
    answer = Answer(task.attempt, worker.name)
    try:
        with project.found(task.project, os.environ, same_machine) as root:
            if root is None:
                return msgspec.structs.replace(answer, needs_project=True)
            return _run(task, root, answer, ShardLog(task.attempt, worker), stop)
    except ProctorError as error:
        return msgspec.structs.replace(answer, error=str(error))


def _run(task: Task, root: Path, answer: Answer, log: ShardLog, stop: Stop) -> Answer:
    asked = msgspec.structs.replace(task.asked, root=root)
    asked, settings = with_interpreter(asked, config.load(root))
    taking = Taking(task.plan, 1, fresh=True, force=task.force)
    plan = checked(take(asked, taking, settings, os.environ, stop), task.plan.fingerprint, task.force)
    returned = Returned(os.uname().nodename)

    def finish(executed: Executed) -> None:
        returned.take(executed.result, executed.directory)

    execute(Request(plan, stop, [log], finish=finish))
    return msgspec.structs.replace(answer, log=log.pack(), files=returned.files, kept=returned.kept)


@contextmanager
def _watched(lease: Watched, worker: Host) -> Iterator[Stop]:
    """A request to stop, which comes when nobody wants the answer any more."""
    stop, over = Stop(), threading.Event()

    def unwanted() -> RunOutcome | None:
        return lease.ended() or (RunOutcome.CANCELLED if worker.is_unwanted() else None)

    def watch() -> None:
        while not over.wait(_LOOK):
            if (reason := unwanted()) is not None:
                stop.ask(reason)
                if not over.wait(_GENTLE):
                    stop.ask(reason)
                return

    watchdog = threading.Thread(target=watch, name="proctor-watchdog", daemon=True)
    watchdog.start()
    try:
        yield stop
    finally:
        over.set()
        watchdog.join()
        stop.close()


@contextmanager
def _deaf_to_interrupts(sees_lease: bool) -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal; the one that asked for the shard ends it by the lease, so
    that what was done by then is returned."""
    own = sees_lease and multiprocessing.parent_process() is not None
    if not own or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: None)  # not SIG_IGN, which the tests would inherit
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave() -> None:
    """Who asked is dead. A process of its pool would wait forever for more work."""
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid != os.getppid():
        os._exit(1)

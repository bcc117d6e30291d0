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
from proctor.engines import project
from proctor.engines.host import Host, host
from proctor.engines.lease import Watched
from proctor.engines.orphans import end_with, leave
from proctor.engines.shard_files import ShardFiles
from proctor.engines.shard_log import ShardLog
from proctor.engines.task import Answer, Task, decode_task, encode_answer
from proctor.errors import LaunchError, ProctorError, UsageError
from proctor.execute import Executed, Request, execute
from proctor.outcome import RunOutcome
from proctor.plan_run import Asked, RunPlan
from proctor.process.stop import Stop
from proctor.shards.checkout import fingerprint
from proctor.shards.part import Taking, take

_LOOK = 0.2  # seconds between two looks at whether somebody still wants the answer
_GENTLE = 0.8  # seconds for tests to end by themselves, once nobody does


def run_shard(data: dict[str, Any]) -> dict[str, Any]:
    """Runs one shard. `data` is a Task, and what is returned an Answer."""
    task = decode_task(data)
    worker = host(task.live)
    lease = Watched(task.lease, task.secret)
    lease.begin(task.attempt, worker.name)
    if multiprocessing.parent_process() is not None:
        end_with(task.lease, task.secret)
    try:
        with _deaf_to_interrupts(lease.known), _watched(lease, worker) as stop:
            answer = _answer(task, worker, lease.known, stop)
        if worker.is_unwanted():
            raise LaunchError(f"the worker {worker.name} gave the shard up")  # no answer: it was ended early
        return encode_answer(answer)
    finally:
        leave(lease)
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
    asked, settings = _with_interpreter(asked, config.load(root))
    taking = Taking(task.plan, 1, fresh=True, force=task.force)
    plan = _checked(take(asked, taking, settings, os.environ, stop), task.plan.fingerprint, task.force)
    returned = ShardFiles(os.uname().nodename)

    def finish(executed: Executed) -> None:
        returned.take(executed.result, executed.directory)

    execute(Request(plan, stop, [log], finish=finish))
    return msgspec.structs.replace(answer, log=log.pack(), files=returned.files, kept=returned.kept)


def _with_interpreter(asked: Asked, settings: config.Settings) -> tuple[Asked, config.Settings]:
    """Where the path of an interpreter is not on this machine, the one that a run here would choose."""
    named = asked.python or settings.python
    if not named or os.sep not in named or os.path.exists(asked.root / os.path.expanduser(named)):
        return asked, settings
    return msgspec.structs.replace(asked, python=None), msgspec.structs.replace(settings, python=None)


def _checked(run: RunPlan, listed_with: str, force: bool) -> RunPlan:
    """The run; if other packages are installed here, with a notice. Raises UsageError without `force`.

    `listed_with`: the fingerprint of the plan. A shard may need fewer interpreters than all tests together.
    """
    here = fingerprint(run.prepared.installed)
    if not listed_with or set(here.split("; ")) <= {"", *listed_with.split("; ")}:
        return run
    difference = f"the tests were listed with {listed_with}, but this worker has {here}"
    if not force:
        raise UsageError(f"{difference}; use --force to run them anyway")
    return run.with_notices(difference)


@contextmanager
def _watched(lease: Watched, worker: Host) -> Iterator[Stop]:
    """A request to stop, which comes when nobody wants the answer any more."""
    stop, over = Stop(), threading.Event()

    def unwanted() -> RunOutcome | None:
        told = lease.ended() or worker.recalled()
        return told or (RunOutcome.CANCELLED if worker.is_unwanted() else None)

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

"""The work of one shard, wherever an engine runs it: behind proctor's own supervisor, like any other run."""

from __future__ import annotations

import base64
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from proctor import config
from proctor.archive.inside import Folder, read_inside
from proctor.errors import ProctorError
from proctor.events import Entry
from proctor.execute import Executed, Request, execute
from proctor.outcome import RunOutcome
from proctor.process.stop import Stop
from proctor.result import RunResult
from proctor.shards.lease import Watched
from proctor.shards.part import Taking, take
from proctor.shards.task import Answer, Task, decode_task, encode_answer
from proctor.wire.stream import log

_LOOK = 0.25  # seconds between two looks at whether somebody still wants the answer


def run_shard(data: dict[str, Any]) -> dict[str, Any]:
    """Runs one shard. `data` is a Task, and what is returned an Answer."""
    task, attempt = decode_task(data), uuid.uuid4().hex
    answer = Answer(attempt, os.uname().nodename)
    try:
        with _watched(task) as stop:
            return encode_answer(_run(task, answer, stop))
    except ProctorError as error:
        return encode_answer(Answer(attempt, answer.host, error=str(error)))


def _run(task: Task, answer: Answer, stop: Stop) -> Answer:
    settings = config.load(task.asked.root)
    taking = Taking(task.plan, 1, fresh=True, force=task.force)
    plan = take(task.asked, taking, settings, os.environ, stop)
    kept = _Log()
    files: dict[str, str] = {}
    execute(Request(plan, stop, [kept], finish=lambda executed: files.update(_files(executed))))
    return Answer(answer.attempt, answer.host, log=b"".join(kept.lines).decode(), files=files)


class _Log:
    name = "the log of a shard"

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        self.lines.append(log.encode(entry, so_far))

    def tick(self, now: float, so_far: RunResult) -> None:
        del now, so_far


def _files(executed: Executed) -> Iterator[tuple[str, str]]:
    """What tests attached."""
    for test in executed.result.tests.values():
        for file in test.files:
            yield file.path, base64.b64encode(_read(executed.directory, file.path)).decode()


def _read(folder: Folder, path: str) -> bytes:
    return read_inside(folder, path)


@contextmanager
def _watched(task: Task) -> Iterator[Stop]:
    """A request to stop, which comes when nobody wants the answer any more."""
    stop, lease, over = Stop(), Watched(task.lease, task.secret), threading.Event()

    def watch(is_over: Callable[[], bool]) -> None:
        while not over.wait(_LOOK):
            if is_over():
                stop.ask(RunOutcome.CANCELLED)
                return

    watchdog = threading.Thread(target=watch, args=(lease.is_over,), daemon=True)
    watchdog.start()
    try:
        yield stop
    finally:
        over.set()
        watchdog.join()
        lease.close()
        stop.close()

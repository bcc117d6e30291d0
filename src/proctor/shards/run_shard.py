"""The work of one shard, wherever an engine runs it: behind proctor's own supervisor, like any other run."""

from __future__ import annotations

import base64
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from proctor import config
from proctor.archive.inside import Folder, read_inside
from proctor.errors import ProctorError
from proctor.events import Entry
from proctor.execute import Executed, Request, execute
from proctor.outcome import RunOutcome
from proctor.process.stop import Stop
from proctor.result import RunResult
from proctor.shards import project
from proctor.shards.host import Host, host
from proctor.shards.lease import Watched
from proctor.shards.part import Taking, take
from proctor.shards.task import Answer, Task, decode_task, encode_answer
from proctor.wire.stream import log

_LOOK = 0.25  # seconds between two looks at whether somebody still wants the answer
_BATCH = (0.25, 200)  # seconds and lines after which live events are sent


def run_shard(data: dict[str, Any]) -> dict[str, Any]:
    """Runs one shard. `data` is a Task, and what is returned an Answer."""
    task = decode_task(data)
    worker = host(task.live)
    answer = Answer(task.attempt, worker.name)
    try:
        root = project.found(task.project)
        if root is None:
            answer = msgspec.structs.replace(answer, needs_project=True)
        else:
            with _watched(task, worker) as stop:
                answer = _run(task, root, answer, _Log(task.attempt, worker), stop)
    except ProctorError as error:
        answer = msgspec.structs.replace(answer, error=str(error))
    return encode_answer(answer)


def _run(task: Task, root: Path, answer: Answer, kept: _Log, stop: Stop) -> Answer:
    asked = msgspec.structs.replace(task.asked, root=root)
    settings = config.load(root)
    taking = Taking(task.plan, 1, fresh=True, force=task.force)
    plan = take(asked, taking, settings, os.environ, stop)
    files: dict[str, str] = {}
    execute(Request(plan, stop, [kept], finish=lambda executed: files.update(_files(executed))))
    return msgspec.structs.replace(answer, log=b"".join(kept.lines).decode(), files=files)


class _Log:
    """A reader that keeps all lines, and sends them in batches."""

    name = "the log of a shard"

    def __init__(self, attempt: str, worker: Host) -> None:
        self.lines: list[bytes] = []
        self._attempt, self._worker = attempt, worker
        self._sent, self._at, self._sends = 0, time.monotonic(), True

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        self.lines.append(log.encode(entry, so_far))
        if len(self.lines) - self._sent >= _BATCH[1]:
            self._send()

    def tick(self, now: float, so_far: RunResult) -> None:
        del now, so_far
        if len(self.lines) > self._sent and time.monotonic() - self._at >= _BATCH[0]:
            self._send()

    def _send(self) -> None:
        lines = b"".join(self.lines[self._sent :]).decode()
        self._sent, self._at = len(self.lines), time.monotonic()
        if self._sends:
            try:
                self._worker.send(self._attempt, lines)
            except Exception:  # noqa: BLE001  they are for display: the answer has all of them
                self._sends = False


def _files(executed: Executed) -> Iterator[tuple[str, str]]:
    """What tests attached."""
    for test in executed.result.tests.values():
        for file in test.files:
            yield file.path, base64.b64encode(_read(executed.directory, file.path)).decode()


def _read(folder: Folder, path: str) -> bytes:
    return read_inside(folder, path)


@contextmanager
def _watched(task: Task, worker: Host) -> Iterator[Stop]:
    """A request to stop, which comes when nobody wants the answer any more."""
    stop, lease, over = Stop(), Watched(task.lease, task.secret), threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK):
            if lease.is_over() or worker.is_unwanted():
                stop.ask(RunOutcome.CANCELLED)
                return

    watchdog = threading.Thread(target=watch, daemon=True)
    watchdog.start()
    try:
        yield stop
    finally:
        over.set()
        watchdog.join()
        lease.close()
        stop.close()

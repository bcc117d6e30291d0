"""A worker of dask, seen by a shard that runs on it."""

from __future__ import annotations

from collections.abc import Iterator

from distributed import get_worker
from distributed.utils import sync

from proctor.engines.dask_names import ATTEMPT, LINES, OF, WorkerLost, name_of
from proctor.engines.host import DASK_WORD
from proctor.outcome import RunOutcome

MOST = 1 << 16  # characters of one message: dask's scheduler keeps the last thousand of them
LONGEST = 1 << 20  # characters of a line that goes in a message of its own
_WANTED = ("executing", "long-running")  # states of a task
_ALIVE = ("running", "paused", "closing_gracefully")  # of a worker; one that closes reports no result


_recalled: dict[str, RunOutcome] = {}  # runs whose shards have to end on this worker


def recall(word: str, reason: str) -> None:
    """Called in each worker, by the client of the run: shards of the run end."""
    _recalled[word] = RunOutcome(reason)


class DaskHost:
    def __init__(self, word: str) -> None:
        """`word`: what the engine's `listen` returned. To be called by the thread of the task."""
        self._word, self._topic = word, word.removeprefix(DASK_WORD)
        self._worker = get_worker()
        self._key = str(self._worker.get_current_task())
        self.name = name_of(self._worker.name, self._worker.address)
        self._begin()

    def _begin(self) -> None:
        """Raises WorkerLost if another worker has begun with this task. When a worker dies, dask gives its
        tasks to others without telling the client; but the client counts the tries, and starts the next."""
        topic = f"{self._topic}{OF}{self._key}"
        others = sync(self._worker.loop, self._worker.scheduler.events, topic=topic)
        if others:
            raise WorkerLost(f"the worker {others[0][1]} is gone")
        self._worker.log_event(topic, self.name)

    def send(self, attempt: str, lines: str) -> None:
        for part in pieces(lines):
            self._worker.log_event(self._topic, {ATTEMPT: attempt, LINES: part})

    def recalled(self) -> RunOutcome | None:
        return _recalled.get(self._word)

    def is_unwanted(self) -> bool:
        """The worker knows: the scheduler tells it when a client cancels or is gone; when the scheduler is
        gone, it closes."""
        task = self._worker.state.tasks.get(self._key)
        return task is None or task.state not in _WANTED or self._worker.status.name not in _ALIVE


def pieces(lines: str) -> Iterator[str]:
    """Whole lines, as many as a message holds. One that is far too long is left out: the answer has it."""
    piece = ""
    for text in lines.removesuffix("\n").split("\n"):
        line = f"{text}\n"
        if len(line) > LONGEST:
            continue
        if piece and len(piece) + len(line) > MOST:
            yield piece
            piece = ""
        piece += line
    if piece:
        yield piece

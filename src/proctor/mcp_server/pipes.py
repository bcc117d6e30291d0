"""stdin, stdout and stderr of the server: whole lines; a slow reader holds up nothing else."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

_PIECE = 1 << 16  # bytes
_PAUSE = 0.005  # seconds between two looks at a queue
_BACKLOG = 16 << 20  # bytes that wait to be written before answers wait as well
_TALK = 1 << 20  # bytes that wait for stderr before more is dropped


def taken(descriptor: int, instead: int) -> int:
    """A copy of a standard stream, whose place another one takes: what a library or a child writes or reads
    there does not get between messages."""
    own = os.dup(descriptor)
    os.dup2(instead, descriptor)
    return own


class Writer:
    """Writes to a descriptor in a thread of its own. Takes no lock: a signal may come at any time."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._queue: SimpleQueue[bytes] = SimpleQueue()
        self._put = self._written = 0
        self.failure: OSError | None = None
        threading.Thread(target=self._work, daemon=True).start()

    @property
    def pending(self) -> int:
        """Bytes that are not written yet."""
        return 0 if self.failure else self._put - self._written

    def write(self, data: bytes) -> None:
        self._put += len(data)
        self._queue.put(data)

    async def send(self, line: bytes) -> None:
        """Raises an OSError if the reader has closed its end."""
        if self.failure is not None:
            raise self.failure
        self.write(line + b"\n")
        while self.pending > _BACKLOG:
            await asyncio.sleep(_PAUSE)

    def flush(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self.pending and time.monotonic() < deadline:
            time.sleep(_PAUSE)

    def _work(self) -> None:
        while True:
            data = self._queue.get()
            view = memoryview(data)
            while view and self.failure is None:
                try:
                    view = view[os.write(self._file, view) :]
                except BlockingIOError:
                    select.select([], [self._file], [])
                except OSError as error:
                    self.failure = error
            self._written += len(data)


class Talk(logging.Handler):
    """The log, for stderr. Unread lines hold up nothing; too many are dropped."""

    def __init__(self, file: int) -> None:
        super().__init__()
        self.writer = Writer(file)

    def emit(self, record: logging.LogRecord) -> None:
        if self.writer.pending <= _TALK:
            self.writer.write(self.format(record).encode("utf-8", "backslashreplace") + b"\n")


async def pieces(file: int) -> AsyncIterator[bytes]:
    """What arrives at a descriptor, until its end. The thread that waits for it cannot be asked to stop."""
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1)
    while piece := await loop.run_in_executor(thread, _read, file):
        yield piece


def _read(file: int) -> bytes:
    while True:
        try:
            return os.read(file, _PIECE)
        except BlockingIOError:
            select.select([file], [], [])
        except OSError:
            return b""

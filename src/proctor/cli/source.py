"""The input of `proctor show`: a file, the log of a run or stdin, which may still grow."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.archive.inside import Folder
from proctor.archive.read_log import open_log, under_way
from proctor.archive.store import LockState, lock_state
from proctor.errors import UsageError

_PIECE = 1 << 16
_SILENCE = 0.2  # seconds after which readers get a look at the clock


class Source:
    """Where bytes come from, and how to wait for more."""

    def __init__(self, file: int, directory: Folder | None) -> None:
        self._file = file
        self.directory = directory  # of the files that a log refers to
        self.under_way = under_way(directory) if directory is not None else ""  # before it is read

    @property
    def identity(self) -> tuple[int, int]:
        """Equal where two names are those of one file."""
        found = os.fstat(self._file)
        return found.st_dev, found.st_ino

    def pieces(self, may_grow: Callable[[], bool]) -> Iterator[bytes]:
        """To the end, and beyond it while it may grow. An empty piece means: nothing new for a moment."""
        while True:
            ready, _, _ = select.select([self._file], [], [], _SILENCE)
            if not ready:
                yield b""
            elif piece := os.read(self._file, _PIECE):
                yield piece
            elif may_grow():
                yield b""
                time.sleep(_SILENCE)  # that a file has grown is not an event one can wait for
            elif piece := os.read(self._file, _PIECE):
                yield piece  # written before we asked
            else:
                return


@contextmanager
def opened(where: Path | Folder | None) -> Iterator[Source]:
    """A file, the log in the directory of a run, or stdin."""
    if where is None:
        yield Source(0, None)
        return
    try:
        if isinstance(where, Folder):
            file, directory = open_log(where), where
        else:
            file, directory = os.open(where, os.O_RDONLY | os.O_CLOEXEC), Folder(where.parent)
    except OSError as error:
        raise UsageError(f"{where} cannot be read: {error.strerror}") from None
    try:
        yield Source(file, directory)
    finally:
        os.close(file)


def abandoned(directory: Folder | None) -> bool:
    """Whether the process that writes this run has ended: no more bytes will arrive."""
    return directory is not None and lock_state(directory) is LockState.FREE

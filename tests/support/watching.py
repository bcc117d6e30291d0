"""`proctor watch` as a process without a terminal, and what it has written so far."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from support.projects import GUARD, clean_environment, command, processes_with, project_python

MARK = "WATCHED_BY_A_TEST"  # a variable of all its processes
_TITLE = re.compile(r"^--- \d\d:\d\d:\d\d (.*) ---$", re.M)


class Watched:
    """Waits for output, never for time."""

    def __init__(self, process: subprocess.Popen[bytes], err: IO[bytes], mark: str) -> None:
        self.process, self._err, self._mark = process, err, mark
        self.out = ""

    @property
    def titles(self) -> list[str]:
        return _TITLE.findall(self.out)

    @property
    def last(self) -> str:
        """What was written about the last run."""
        return re.split(_TITLE, self.out)[-1]

    @property
    def err(self) -> str:
        self._err.seek(0)
        return self._err.read().decode()

    def wait(self, wanted: Callable[[Watched], object]) -> None:
        latest = time.monotonic() + GUARD
        while not wanted(self):
            assert time.monotonic() < latest, f"it never came: {self.out}\n{self.err}"
            assert self._read() or wanted(self), f"it ended before that: {self.out}\n{self.err}"

    def wait_for(self, text: str, title: str = "") -> None:
        """In what is written about a run of this title, the last one."""
        self.wait(lambda so_far: text in so_far.last and title in so_far.titles[-1])

    def end(self, number: int = signal.SIGTERM) -> int:
        """Its exit code, and nothing that it has started is alive."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        while self._read():
            pass
        code = self.process.wait(GUARD)
        assert processes_with(MARK, self._mark) == []
        return code

    def _read(self) -> bool:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        ready, _, _ = select.select([descriptor], [], [], 0.2)  # what is waited for may be in a file
        data = os.read(descriptor, 1 << 16) if ready else b""
        self.out += data.decode()
        return bool(data) or not ready


@contextmanager
def watched(root: Path, *arguments: str, **environ: str) -> Iterator[Watched]:
    mark = os.urandom(8).hex()
    with TemporaryFile() as err:
        process = subprocess.Popen(
            command("watch", "--python", project_python(), *arguments),
            cwd=root,
            env=clean_environment(**{MARK: mark}) | environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=err,
        )
        try:
            yield Watched(process, err, mark)
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

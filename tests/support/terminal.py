"""proctor at a terminal of its own, and what a person sees there."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyte

from support.projects import GUARD, clean_environment, command


class Terminal:
    """A process at a real pseudo-terminal, which `pyte` draws."""

    def __init__(self, process: subprocess.Popen[bytes], ours: int, columns: int, rows: int) -> None:
        self.process, self.descriptor = process, ours
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""

    @property
    def lines(self) -> list[str]:
        """What is on the screen, without empty lines at its end."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip().split("\n")

    @property
    def cursor_hidden(self) -> bool:
        return bool(self._screen.cursor.hidden)

    def styles(self, word: str) -> set[str]:
        """How the characters of a word on the screen look: colours, `bold`."""
        for row, line in enumerate(self._screen.display):
            if (column := line.find(word)) >= 0:
                cells = [self._screen.buffer[row][column + offset] for offset in range(len(word))]
                return {cell.fg for cell in cells} | {"bold" for cell in cells if cell.bold}
        raise AssertionError(f"{word!r} is not in {self.lines}")

    def wait(self, wanted: Callable[[list[str]], object]) -> list[str]:
        """The lines of the first screen that is as wanted; it has to come."""
        latest = time.monotonic() + GUARD
        while not wanted(self.lines):
            assert time.monotonic() < latest, f"it never came: {self.lines}"
            assert self._read(), f"the end came before what was waited for: {self.lines}"
        return self.lines

    def wait_for(self, text: str) -> list[str]:
        return self.wait(lambda lines: any(text in line for line in lines))

    def end(self) -> list[str]:
        """The last screen."""
        while self._read():
            pass
        self.process.wait(GUARD)
        return self.lines

    def press(self, keys: bytes) -> None:
        os.write(self.descriptor, keys)

    def resize(self, columns: int, rows: int) -> None:
        """The kernel sends SIGWINCH itself."""
        _set_size(self.descriptor, columns, rows)
        self._screen.resize(rows, columns)

    def _read(self) -> bool:
        ready, _, _ = select.select([self.descriptor], [], [], GUARD)
        assert ready, f"nothing came any more: {self.lines}"
        try:
            data = os.read(self.descriptor, 1 << 16)
        except OSError:  # nobody is left at the other end
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)


def _set_size(descriptor: int, columns: int, rows: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


@contextmanager
def at_terminal(
    root: Path,
    *arguments: str,
    columns: int = 80,
    rows: int = 24,
    program: Sequence[str] = (),
    **environ: str,
) -> Iterator[Terminal]:
    """`proctor ARGUMENTS`, or a program, at a terminal of this size that controls it: ^C interrupts it."""
    ours, theirs = pty.openpty()
    _set_size(theirs, columns, rows)
    process = subprocess.Popen(
        program or command(*arguments),
        cwd=root,
        env=clean_environment(TERM="xterm-256color") | environ,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours, columns, rows)
    finally:
        process.kill()
        process.wait()
        os.close(ours)

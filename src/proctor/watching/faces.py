"""What `proctor watch` shows beside its runs: on a terminal, or in lines where nobody looks at one."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable

from proctor.errors import ProctorError
from proctor.render.neutral import neutral

_CLEAR = "\x1b[H\x1b[2J"
_ERASE_LINE = "\r\x1b[K"
_DIM, _YELLOW, _PLAIN = "\x1b[2m", "\x1b[33m", "\x1b[0m"
#: The last line: the first that fits.
_KEYS = (
    "waiting for a change (Enter: all tests, f: failed tests, p: pattern, q: quit)",
    "Enter: all, f: failed, p: pattern, q: quit",
    "waiting",
)
_NO_KEYS = ("waiting for a change (Ctrl-C: quit)", "waiting")


class Lines:
    """A line between the texts of two runs."""

    def __init__(self, write: Callable[[str], None], output: int) -> None:
        """`write` flushes; it writes to the descriptor `output`."""
        self._write = write
        self._reader = select.poll()
        self._reader.register(output, 0)

    def begin(self, title: str) -> None:
        self._write(f"--- {_now()} {neutral(title)} ---\n")

    def say(self, line: str) -> None:
        self._write(f"{neutral(line)}\n")

    def refuse(self, error: ProctorError) -> None:
        _refuse(error)

    def rest(self) -> None:
        pass

    def ask(self, typed: str) -> None:
        pass

    def gone(self) -> bool:
        return any(event & (select.POLLERR | select.POLLNVAL) for _, event in self._reader.poll(0))


class Screen:
    """A run has the whole screen; the last line says what can be done."""

    def __init__(self, write: Callable[[str], None], colours: bool, keys: bool) -> None:
        """`write` flushes. `keys`: somebody reads them."""
        self._write, self._colours = write, colours
        self._help = _KEYS if keys else _NO_KEYS
        self._rests = False  # the last line is the one about keys, or what is typed
        self._said = ""  # on the line above
        self._shown = ""  # on the last line

    def begin(self, title: str) -> None:
        self._rests, self._said = False, ""
        self._write(_CLEAR + self._toned(f"{_now()} {neutral(title)}", _DIM) + "\n")

    def say(self, line: str) -> None:
        rests = self._rests
        if rests and line == self._said:
            return
        self._said = line
        self.leave()
        self._write(self._toned(neutral(line), _YELLOW) + "\n")
        if rests:
            self._show(self._shown)

    def refuse(self, error: ProctorError) -> None:
        self.leave()
        _refuse(error)

    def rest(self) -> None:
        room = _columns() - 1
        self._show(self._toned(next((text for text in self._help if len(text) <= room), ""), _DIM))

    def ask(self, typed: str) -> None:
        before = "only tests matching: "
        room = max(1, _columns() - len(before) - 1)
        self._show(before + neutral(typed)[-room:])

    def leave(self) -> None:
        """The line about keys is gone."""
        if self._rests:
            self._write(_ERASE_LINE)
        self._rests = False

    def gone(self) -> bool:
        return False  # a terminal that is closed sends a signal

    def _show(self, line: str) -> None:
        self._write(_ERASE_LINE + line)
        self._rests, self._shown = True, line

    def _toned(self, text: str, tone: str) -> str:
        return f"{tone}{text}{_PLAIN}" if self._colours else text


def _columns() -> int:
    try:
        return max(2, os.get_terminal_size(sys.stdout.fileno()).columns)
    except OSError:
        return 80


def _now() -> str:
    return time.strftime("%H:%M:%S")


def _refuse(error: ProctorError) -> None:
    print(f"proctor: {error} [{error.slug}]", file=sys.stderr, flush=True)

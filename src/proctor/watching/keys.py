"""The keys that a person presses, one at a time. The terminal gets its modes back, whatever happens."""

from __future__ import annotations

import codecs
import os
import select
import signal
import termios
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

from proctor.watching.prompt import keys_of

_LOOK = 0.5  # seconds between two looks at whether this process is in the foreground
_LOCAL = 3  # the place of the local modes in what `tcgetattr` returns
_SHOW_CURSOR = b"\x1b[?25h"


class Keys:
    """Reads the terminal in a thread of its own, as long as this process is in its foreground.

    To be entered and left in the main thread: it handles Ctrl-Z.
    """

    def __init__(self, terminal: int, tell: Callable[[str], None], resumed: Callable[[], None]) -> None:
        """`tell` is called with each key, `resumed` when the process goes on after Ctrl-Z."""
        self._terminal, self._tell, self._resumed = terminal, tell, resumed
        self._modes = termios.tcgetattr(terminal)
        self._changed = threading.RLock()  # of the modes; the handler may interrupt whoever holds it
        self._over = self._suspended = False
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Keys:
        self._before = signal.signal(signal.SIGTSTP, self._suspend)
        self._take()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._over = True
        os.write(self._wake_write, b".")
        self._thread.join()
        signal.signal(signal.SIGTSTP, self._before)
        self._give_back()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _take(self) -> None:
        """Keys come at once and are not shown. Ctrl-C and Ctrl-Z stay signals."""
        with self._changed:
            if self._over or self._suspended or not self._in_foreground():
                return
            modes = termios.tcgetattr(self._terminal)
            unwanted = termios.ECHO | termios.ICANON
            if modes[_LOCAL] & unwanted:
                modes[_LOCAL] &= ~unwanted
                termios.tcsetattr(self._terminal, termios.TCSANOW, modes)

    def _give_back(self) -> None:
        try:
            if self._in_foreground():
                termios.tcsetattr(self._terminal, termios.TCSANOW, self._modes)
        except termios.error:
            pass  # the terminal is gone

    def _in_foreground(self) -> bool:
        """Otherwise the system would stop whoever reads the terminal or changes its modes."""
        try:
            return os.tcgetpgrp(self._terminal) == os.getpgrp()
        except OSError:
            return False

    def _suspend(self, _number: int, _frame: FrameType | None) -> None:
        """Ctrl-Z: stop with the terminal as it was, and go on as before."""
        self._suspended = True
        self._give_back()
        os.write(self._terminal, _SHOW_CURSOR)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._suspend)
        self._suspended = False
        self._take()
        self._resumed()

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        poll.register(self._terminal, select.POLLIN)
        elsewhere = select.poll()
        elsewhere.register(self._wake_read, select.POLLIN)
        while not self._over:
            if not self._in_foreground():
                elsewhere.poll(_LOOK * 1000)
                continue
            try:
                self._take()
                if self._terminal not in dict(poll.poll(_LOOK * 1000)) or not self._in_foreground():
                    continue
                pressed = os.read(self._terminal, 1024)
            except (OSError, termios.error):
                return  # the terminal is gone
            if not pressed:
                return
            for key in keys_of(decoder.decode(pressed)):
                self._tell(key)

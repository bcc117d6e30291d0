"""stdin, stdout and stderr where they are not as one expects: closed, full, or without a reader."""

from __future__ import annotations

import errno
import os
import select
import sys

from proctor.outcome import INTERRUPTING

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_STDERR = 2


def open_missing() -> None:
    """One that was closed before we began must not become the next file that we open."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)  # the least number that is free
            os.set_inheritable(nothing, True)
            setattr(sys, name, open(nothing, mode, errors="backslashreplace"))  # noqa: SIM115


def is_full(error: OSError) -> bool:
    """Whether it is a write that failed, for want of room: such errors name no file."""
    return error.errno in _FULL and error.filename is None


def forget_stdout() -> None:
    """What is still held back goes nowhere: Python must not complain about it once more at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def announce_interrupt() -> None:
    """Tell on stderr that Ctrl-C was heard. For a signal handler: it does not wait for a reader."""
    try:
        poll = select.poll()
        poll.register(_STDERR, select.POLLOUT)
        if any(event & select.POLLOUT for _, event in poll.poll(0)):
            os.write(_STDERR, f"proctor: {INTERRUPTING}\n".encode())
    except OSError:
        pass  # nobody is there

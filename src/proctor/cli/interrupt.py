"""The answer to Ctrl-C where no live terminal gives it."""

from __future__ import annotations

import os
import select

from proctor.outcome import INTERRUPTING

_STDERR = 2


def announce_interrupt() -> None:
    """Tell on stderr that Ctrl-C was heard. For a signal handler: it does not wait for a reader."""
    try:
        poll = select.poll()
        poll.register(_STDERR, select.POLLOUT)
        if any(event & select.POLLOUT for _, event in poll.poll(0)):
            os.write(_STDERR, f"proctor: {INTERRUPTING}\n".encode())
    except OSError:
        pass  # nobody is there

"""A child process, without `subprocess`: its import alone takes as long as the start of a supervisor."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence

_LONGEST_PAUSE = 0.05  # seconds between two looks at whether it has ended


class Spawned:
    """Has a session of its own, and of our descriptors those that are named."""

    def __init__(
        self,
        argv: Sequence[str],
        descriptors: Sequence[int],
        environ: Mapping[str, str],
        stdin: int | None = None,
    ) -> None:
        """`descriptors` become 1, 2, 3 and so on; none of those that we have may be one of these. Without
        `stdin`, its input is empty."""
        nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        actions = [
            nothing if stdin is None else (os.POSIX_SPAWN_DUP2, stdin, 0),
            *((os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in enumerate(descriptors, 1)),
        ]
        self.returncode: int | None = None
        self.pid = os.posix_spawn(
            argv[0],
            list(argv),
            environ,
            file_actions=actions,
            setsid=True,
            setsigdef=[signal.SIGCHLD],  # ignored, as some parents have it, it hides how children end
        )

    def send_signal(self, number: int) -> None:
        if self._poll() is None:
            os.kill(self.pid, number)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended by then."""
        until = time.monotonic() + seconds
        pause = 0.0005
        while self._poll() is None:
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
        self._poll(0)

    def _poll(self, flags: int = os.WNOHANG) -> int | None:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, flags)
            except ChildProcessError:  # other code has waited for it
                self.returncode = -1
            else:
                self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

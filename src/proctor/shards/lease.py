"""A file that is locked while somebody waits for an answer: who works for them can see when they are gone.

The system unlocks it with the death of its holder, whatever that was. It works on one machine alone.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import tempfile


class Lease:
    """Held until it is closed."""

    def __init__(self) -> None:
        self.secret = secrets.token_hex(16)
        self._file, self.path = tempfile.mkstemp(prefix="proctor-lease-")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        os.write(self._file, self.secret.encode())

    def close(self) -> None:
        if self._file >= 0:
            os.unlink(self.path)
            os.close(self._file)
            self._file = -1


class Watched:
    """The lease of somebody else."""

    def __init__(self, path: str, secret: str) -> None:
        self._file = -1
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return  # of another machine, or over
        if os.read(self._file, 64) != secret.encode():
            self.close()

    @property
    def known(self) -> bool:
        """Whether it can be seen from here."""
        return self._file >= 0

    def is_over(self) -> bool:
        if self._file < 0:
            return False
        try:
            fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

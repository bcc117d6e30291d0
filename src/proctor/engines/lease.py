"""A lock that a run holds while it waits for its shards: shards on the same machine see when it ends.

The system releases the lock when the run's process dies, however that happens. Beside the lock, in the same
directory, each try that has begun leaves the name of its worker.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import weakref

from proctor.archive.scratch import Scratch
from proctor.outcome import RunOutcome

_LOCK = "lock"
_held: weakref.WeakSet[Lease] = weakref.WeakSet()


class Lease:
    """Held until it is closed."""

    def __init__(self) -> None:
        self.secret = secrets.token_hex(16)
        self._folder = Scratch("proctor-lease-")
        self.path = self._folder.path
        self._file = os.open(os.path.join(self.path, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        os.write(self._file, f"{self.secret}\n".encode())
        _held.add(self)

    def worker(self, attempt: str) -> str:
        """Who runs this try or has run it; empty: it has not begun, or not on this machine."""
        try:
            with open(os.path.join(self.path, attempt), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    @property
    def is_used(self) -> bool:
        """Some try has begun on this machine."""
        return len(os.listdir(self.path)) > 1

    def end(self, reason: RunOutcome) -> None:
        """Shards end, and return what they have done by now."""
        if self._file >= 0:
            os.write(self._file, reason.encode())
            self.let_go()

    def let_go(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def close(self) -> None:
        self.let_go()
        self._folder.close()


def _let_go() -> None:
    """A fork, such as a worker of a process pool, would hold the lock after the death of its parent."""
    for lease in _held:
        lease.let_go()


os.register_at_fork(after_in_child=_let_go)


def held() -> list[Lease]:
    """Those of this process, or of the one that it was forked from."""
    return list(_held)


class Watched:
    """The lease of a run, as its shards see it."""

    def __init__(self, path: str, secret: str) -> None:
        self._path, self._file = path, -1
        self._secret = f"{secret}\n".encode()
        try:
            self._file = os.open(os.path.join(path, _LOCK), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return  # of another machine, or over
        if os.read(self._file, len(self._secret)) != self._secret:
            self.close()

    @property
    def known(self) -> bool:
        """Whether it can be seen from here."""
        return self._file >= 0

    def begin(self, attempt: str, worker: str) -> None:
        """Leaves the name of the worker for the holder."""
        if self.known:
            try:
                with open(os.path.join(self._path, attempt), "w", encoding="utf-8") as file:
                    file.write(worker)
            except OSError:
                pass  # to the holder, the try looks like one that has not begun

    def ended(self) -> RunOutcome | None:
        """Why the answer is not wanted any more; None: it is."""
        if self._file < 0:
            return None
        try:
            fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        fcntl.flock(self._file, fcntl.LOCK_UN)
        word = os.pread(self._file, 64, len(self._secret)).decode()
        return RunOutcome(word) if word else RunOutcome.CANCELLED

    @property
    def orphaned(self) -> bool:
        """The holder died: it did not say why it ended."""
        return self.ended() is not None and not os.pread(self._file, 1, len(self._secret))

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

"""Temporary directories, locked while they are in use: a later one removes what killed processes left."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time

from proctor.archive.inside import remove

_NEW = 60.0  # seconds in which a directory may not have its lock yet


class Scratch:
    """A directory of this process, until it is closed."""

    def __init__(self, prefix: str) -> None:
        """`prefix`: how its name begins; directories of dead processes with the same one are removed."""
        _tidy(prefix)
        self.path = tempfile.mkdtemp(prefix=prefix)
        self._lock = -1
        try:
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(self._lock, fcntl.LOCK_SH)
        except OSError:  # no descriptor is left, or no lock on this file system
            self._let_go()

    def close(self) -> None:
        self._let_go()
        remove(self.path)

    def _let_go(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _tidy(prefix: str) -> None:
    try:
        found = [one for one in os.scandir(tempfile.gettempdir()) if one.name.startswith(prefix)]
    except OSError:
        return
    for one in found:
        if _is_left(one.path):
            remove(one.path)


def _is_left(path: str) -> bool:
    """Whether it is a directory of this user that nobody uses."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        about = os.fstat(folder)
        if about.st_uid != os.getuid() or time.time() - about.st_mtime < _NEW:
            return False
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False  # somebody has it
    finally:
        os.close(folder)

"""Reads a project's files. Only regular files are read: a pipe or a device could block forever."""

from __future__ import annotations

import errno
import os
from stat import S_ISREG


def read_bytes(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """All of the file, or its first bytes. Raises OSError, also for what is no regular file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        return file.read(most)


def read_text(path: str | os.PathLike[str], errors: str = "strict") -> str:
    """As UTF-8, with the line endings that the file has turned into plain ones."""
    text = read_bytes(path).decode("utf-8", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text

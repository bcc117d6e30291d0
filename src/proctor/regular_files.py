"""Reads files, only regular ones: a pipe or a device could block forever. Replaces files of a cache."""

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


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """As a whole, so that nobody reads half of it. Makes its directory."""
    from tempfile import TemporaryDirectory  # what is kept is seldom written

    folder, name = os.path.split(path)
    os.makedirs(folder, exist_ok=True)
    with TemporaryDirectory(dir=folder) as scratch:
        fresh = os.path.join(scratch, name)
        with open(fresh, "wb") as file:
            file.write(data)
        os.replace(fresh, path)

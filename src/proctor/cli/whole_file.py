"""Files that are written completely, or not changed at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from proctor.errors import OutputError


@contextmanager
def output_file(path: str | None) -> Iterator[IO[bytes]]:
    """The file that `-o FILE` names; None: stdout. Raises OutputError if the file cannot be written."""
    if path is None:
        yield sys.stdout.buffer
        return
    try:
        with whole_file(path) as file:
            yield file
    except OSError as error:
        raise OutputError(f"-o {path}", error) from None


@contextmanager
def whole_file(output: str | None) -> Iterator[IO[bytes]]:
    """The file to write to; None: stdout."""
    if output is None:
        with open(sys.stdout.fileno(), "wb", closefd=False) as file:
            yield file
        return
    path = os.path.realpath(output)
    temporary = f"{path}.{os.getpid()}.part"
    made = None
    there = os.path.exists(path)
    if not there or (os.path.isfile(path) and os.access(path, os.W_OK)):  # no pipe, no device
        with suppress(OSError):  # the directory may not be writable, and the file be so
            made = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    if made is None:
        with open(output, "wb") as file:
            yield file
        return
    try:
        with os.fdopen(made, "wb") as file:
            if there:
                os.fchmod(made, os.stat(path).st_mode & 0o7777)
            yield file
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise

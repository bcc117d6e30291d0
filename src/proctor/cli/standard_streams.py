"""Handles stdin, stdout and stderr that are closed, on a full disk, or without a reader."""

from __future__ import annotations

import errno
import os
import sys

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def open_missing() -> None:
    """Opens /dev/null for a stream that was closed, so that no file opened later takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)  # the least number that is free
            os.set_inheritable(nothing, True)
            setattr(sys, name, open(nothing, mode, errors="backslashreplace"))  # noqa: SIM115


def is_full(error: OSError) -> bool:
    """Whether it is a write that failed, for want of room: such errors name no file."""
    return error.errno in _FULL and error.filename is None


def forget_stdout() -> None:
    """Discards buffered output, so that Python does not report the error again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

"""What is left of stdout when it takes no more."""

from __future__ import annotations

import errno
import os

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def is_full(error: OSError) -> bool:
    """Whether it is a write that failed, for want of room: such errors name no file."""
    return error.errno in _FULL and error.filename is None


def forget() -> None:
    """What is still held back goes nowhere: Python must not complain about it once more at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

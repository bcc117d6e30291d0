"""What can go wrong below sqlite: a process that dies at a write, a disk that is full, no shared memory.

sqlite itself has a table of the system calls that it makes, and lets one replace them.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import errno
import os
import signal
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

_NO_METHOD = ctypes.c_void_p


class _Vfs(ctypes.Structure):
    pass


_SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Vfs), ctypes.c_char_p, ctypes.c_void_p)
_GET = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Vfs), ctypes.c_char_p)
_Vfs._fields_ = [
    ("version", ctypes.c_int),
    ("size", ctypes.c_int),
    ("longest", ctypes.c_int),
    ("next", ctypes.c_void_p),
    ("name", ctypes.c_char_p),
    ("data", ctypes.c_void_p),
    *((f"method_{number}", _NO_METHOD) for number in range(13)),
    ("set_call", _SET),
    ("get_call", _GET),
]

_WRITE = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, use_errno=True
)
_TRUNCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64, use_errno=True)
_UNLINK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, use_errno=True)
_CALLS = {b"pwrite": _WRITE, b"pwrite64": _WRITE, b"ftruncate": _TRUNCATE, b"unlink": _UNLINK}
_replaced: list[Any] = []  # what sqlite calls must not be collected


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(_sqlite3.__file__)
    try:
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    except AttributeError:
        pytest.skip("this Python has a sqlite of its own")
    return library


def _replace(wrap: Callable[[bytes, Any], Callable[..., int]]) -> None:
    vfs = _library().sqlite3_vfs_find(None)
    for name, kind in _CALLS.items():
        found = vfs.contents.get_call(vfs, name)
        if found:
            call = kind(wrap(name, kind(found)))
            _replaced.append(call)
            vfs.contents.set_call(vfs, name, ctypes.cast(call, ctypes.c_void_p))


def die_at(number: int, torn: bool = False) -> None:
    """From now on: this process is killed when it changes a file for the so-manieth time. `torn`: half of
    what it would have written is there."""
    left = number

    def wrap(name: bytes, real: Any) -> Callable[..., int]:
        def deadly(*given: Any) -> int:
            nonlocal left
            left -= 1
            if left == 0:
                if torn and len(given) == 4:
                    real(given[0], given[1], given[2] // 2, given[3])
                os.kill(os.getpid(), signal.SIGKILL)
            return int(real(*given))

        return deadly

    _replace(wrap)


def full_at(number: int) -> None:
    """From now on: the disk is full when a file is written for the so-manieth time, and remains so."""
    left = number

    def wrap(name: bytes, real: Any) -> Callable[..., int]:
        def refusing(*given: Any) -> int:
            nonlocal left
            if len(given) == 4:
                left -= 1
                if left <= 0:
                    ctypes.set_errno(errno.ENOSPC)
                    return -1
            return int(real(*given))

        return refusing

    _replace(wrap)


def without_shared_memory() -> None:
    """From now on: files are on a file system that has none, so that there can be no write-ahead log."""
    library = _library()
    library.sqlite3_vfs_find.argtypes = [ctypes.c_char_p]
    library.sqlite3_vfs_register(library.sqlite3_vfs_find(b"unix-dotfile"), 1)


def in_child(action: Callable[[], object]) -> int:
    """Its end, in a process of its own: 0, or the negative number of the signal; 1 if it raised."""
    sqlite3.connect(":memory:").close()  # the library is initialized before
    child = os.fork()
    if child == 0:
        code = 1
        try:
            action()
            code = 0
        except BaseException as error:  # noqa: BLE001  the child ends here
            os.write(2, f"{error!r}\n".encode())
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

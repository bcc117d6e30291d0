"""Opens files of a run's directory, or removes it, and nothing outside it, whatever a test has put there."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_inside(directory: Path, relative: str) -> int:
    """A descriptor for reading. Raises an OSError for a link, a path to the outside, or a pipe."""
    *folders, name = relative.split("/")
    if any(part in ("", ".", "..") for part in (*folders, name)) or "\0" in relative:
        raise OSError(errno.EPERM, "not a path below the run's directory")
    here = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = os.open(folder, _READ | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
        file = os.open(name, _READ | os.O_NONBLOCK, dir_fd=here)  # a pipe would wait for its other end
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise OSError(error.errno, "a link, or below one") from None
        raise
    finally:
        os.close(here)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "not a regular file")
    return file


def read_inside(directory: Path, relative: str) -> bytes:
    with os.fdopen(open_inside(directory, relative), "rb") as file:
        return file.read()


def remove(directory: str | Path) -> None:
    """A directory with its content, or a file, as far as possible. (shutil takes long to import.)"""
    try:
        os.unlink(directory)
    except FileNotFoundError:
        return
    except OSError:
        pass  # it is a directory
    else:
        return
    try:
        for _, folders, files, here in os.fwalk(directory, topdown=False, onerror=None):
            for name in (*files, *folders):  # a link to a folder is among the folders
                try:
                    os.unlink(name, dir_fd=here)
                except OSError:
                    _remove_folder(name, here)
    except OSError:
        pass  # nor can it be looked into
    _remove_folder(os.fspath(directory), None)


def _remove_folder(name: str, here: int | None) -> None:
    try:
        os.rmdir(name, dir_fd=here)
    except OSError:
        pass

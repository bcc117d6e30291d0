"""Opens files of a run's directory, or removes it, and touches none outside it: a test could have put
anything there."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_inside(directory: Path, relative: str) -> int:
    """A descriptor for reading. A link, a way out, a pipe are refused with an OSError that says so."""
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
    """The directory with all that is in it, or what is there in its place; what cannot be removed stays.
    shutil would take long to load."""
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

"""Reaches directories and files of the archive, and nothing outside it, whatever a test has put there.

Each part of a path is opened relative to the descriptor of the part before it, and no link is followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_LINK = "is a link, which is not followed"


class Folder(msgspec.Struct, frozen=True):
    """A directory below `base`. A link below that is never followed, wherever it leads."""

    base: Path  # as its owner named it: links up to here are theirs
    below: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return self.base.joinpath(*self.below)

    @property
    def name(self) -> str:
        return self.path.name

    def __str__(self) -> str:
        return str(self.path)

    def folder(self, name: str) -> Folder:
        return Folder(self.base, (*self.below, name))

    @property
    def parent(self) -> Folder:
        return Folder(self.base, self.below[:-1]) if self.below else Folder(self.base.parent)

    def open(self, make: bool = False) -> int:
        """A descriptor of it, which the caller closes; `make`: what is missing below the base is made.

        Raises an OSError that names the part which is a link or no directory.
        """
        here = os.open(self.base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for number, name in enumerate(self.below, 1):
            try:
                below = open_folder(name, here, make)
            except OSError as error:
                part = self.base.joinpath(*self.below[:number])
                raise OSError(error.errno, error.strerror, str(part)) from None
            finally:
                os.close(here)
            here = below
        return here


def open_folder(name: str, within: int, make: bool = False) -> int:
    """A descriptor of a directory in another one. Raises an OSError, ELOOP for a link."""
    if make:
        try:
            os.mkdir(name, dir_fd=within)
        except FileExistsError:
            pass
    try:
        return os.open(name, _READ | os.O_DIRECTORY, dir_fd=within)
    except OSError as error:  # ENOTDIR, ELOOP: systems differ
        if is_link(name, within):
            raise OSError(errno.ELOOP, _LINK) from None
        raise error


def is_link(name: str, within: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)
    except OSError:
        return False


def open_inside(folder: Folder, relative: str) -> int:
    """A descriptor for reading. Raises an OSError for a link, a path to the outside, a pipe or a device.

    A path that begins with that of the directory is one in it: those of a merged run are absolute.
    """
    relative = relative.removeprefix(f"{folder.path}/")
    *folders, name = relative.split("/")
    if any(part in ("", ".", "..") for part in (*folders, name)) or "\0" in relative:
        raise OSError(errno.EPERM, "not a path below the run's directory")
    here = Folder(folder.base, (*folder.below, *folders)).open()
    try:
        return open_file(name, here)
    finally:
        os.close(here)


def open_file(name: str, within: int, flags: int = os.O_RDONLY) -> int:
    """A file that is there. Raises an OSError if it is anything but a regular file with this one name."""
    try:
        safe = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would wait for its other end
        file = os.open(name, flags | safe, dir_fd=within)
    except OSError as error:
        if is_link(name, within):
            raise OSError(errno.ELOOP, _LINK) from None
        raise error
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "is not a regular file")
    if found.st_nlink > 1:  # another name of a file that may be anywhere
        os.close(file)
        raise OSError(errno.EMLINK, "has another name elsewhere (a hard link)")
    return file


def new_file(name: str, within: int, flags: int = os.O_WRONLY) -> int:
    """A file that was not there before. Raises an OSError if there is anything of that name."""
    safe = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags | safe, 0o644, dir_fd=within)


def read_inside(folder: Folder, relative: str) -> bytes:
    with os.fdopen(open_inside(folder, relative), "rb") as file:
        return file.read()


def replace_inside(within: int, name: str, write: Callable[[int], None]) -> None:
    """All of the new content or all of the old, never a part; whatever a test has put there."""
    temporary = f".{name}.{os.getpid()}"
    remove(temporary, within)
    file = new_file(temporary, within)
    try:
        write(file)
    except BaseException:
        os.unlink(temporary, dir_fd=within)
        raise
    finally:
        os.close(file)
    try:
        os.replace(temporary, name, src_dir_fd=within, dst_dir_fd=within)
    except IsADirectoryError:
        remove(name, within)
        os.replace(temporary, name, src_dir_fd=within, dst_dir_fd=within)


def remove(name: str, within: int | None = None) -> None:
    """A directory with its content, or a file, as far as possible. (shutil takes long to import.)"""
    try:
        os.unlink(name, dir_fd=within)
    except FileNotFoundError:
        return
    except OSError:
        pass  # it is a directory
    else:
        return
    try:
        folder = os.open(name, _READ | os.O_DIRECTORY, dir_fd=within)
    except OSError:
        pass  # it cannot be looked into
    else:
        empty(folder)
        os.close(folder)
    _remove_folder(name, within)


def empty(folder: int) -> None:
    """Removes what is in a directory, as far as possible.

    Directories in its directories are moved up first: however deep they are, two descriptors are enough.
    """
    moved = 0
    progress = True
    while progress:
        progress = False
        for name in _names(folder):
            if _unlinked(name, folder):
                continue
            try:
                below = os.open(name, _READ | os.O_DIRECTORY, dir_fd=folder)
            except OSError:
                progress |= _remove_folder(name, folder)
                continue
            for inner in _names(below):
                if not _unlinked(inner, below):
                    moved += 1
                    progress |= _moved(inner, below, f".removed-{os.getpid()}-{moved}", folder)
            os.close(below)
            _remove_folder(name, folder)


def _names(folder: int) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _unlinked(name: str, within: int) -> bool:
    try:
        os.unlink(name, dir_fd=within)
    except OSError:
        return False
    return True


def _moved(name: str, source: int, new_name: str, target: int) -> bool:
    try:
        os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
    except OSError:
        return False
    return True


def _remove_folder(name: str, within: int | None) -> bool:
    try:
        os.rmdir(name, dir_fd=within)
    except OSError:
        return False
    return True

"""Stores files that tests send, in one flat directory. The name that a test gives is never used as a path."""

from __future__ import annotations

import os
import re
import stat

from proctor.events import OWN_FILES, File

FOLDER = "files"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_SHOWN = 60  # characters of the original name that stay readable on disk


class FileStore:
    """The directory of a run's files. They are numbered, so two names can never meet on disk."""

    def __init__(self, directory: int) -> None:
        """`directory` is a descriptor of the run's directory, of which it keeps a copy."""
        self._directory: int | None = None
        self._folder: int | None = None
        self._count = 0
        self.fault: OSError | None = None
        try:
            self._directory = os.dup(directory)
        except OSError as error:  # for lack of descriptors: no file can be kept
            self.fault = error

    def create(self, name: str) -> tuple[str, int | None]:
        """The path of a new file, relative to the run's directory, and its descriptor, if it can be had."""
        self._count += 1
        safe = _UNSAFE.sub("_", name.rpartition("/")[2])[-_SHOWN:].lstrip(".") or "file"
        numbered = f"{self._count:06d}-{safe}"
        try:
            if self._folder is None:
                self._folder = self._make_folder()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            return f"{FOLDER}/{numbered}", os.open(numbered, flags, 0o644, dir_fd=self._folder)
        except OSError as error:
            if not name.endswith(OWN_FILES):  # those no test has sent
                self.fault = error
            return f"{FOLDER}/{numbered}", None

    def _make_folder(self) -> int:
        """Held open: a test that puts a link in its place cannot send our bytes elsewhere."""
        if self._directory is None:  # which would mean the current one
            raise self.fault or OSError("no directory")
        try:
            os.mkdir(FOLDER, dir_fd=self._directory)
        except FileExistsError:
            pass
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(FOLDER, flags, dir_fd=self._directory)

    def move_to(self, directory: int) -> None:
        """With the files that are there already, as far as they are."""
        source, self._folder = self._folder, None
        if self._directory is not None:
            os.close(self._directory)
        self._directory = os.dup(directory)
        if source is None:
            return
        try:
            self._folder = self._make_folder()
            with os.scandir(source) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:  # no other name of another file
                        self._copy(entry.name, source, self._folder)
        except OSError as error:
            self.fault = error
        finally:
            os.close(source)

    def _copy(self, name: str, source: int, target: int) -> None:
        flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(name, os.O_RDONLY | flags, dir_fd=source), "rb") as file:
            copy = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, 0o644, dir_fd=target)
            try:
                while (piece := file.read(1 << 20)) and self.write(copy, piece):
                    pass
            finally:
                os.close(copy)

    def write(self, descriptor: int, data: bytes) -> bool:
        """Whether all of it is there."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(descriptor, view) :]
        except OSError as error:
            self.fault = error
            return False
        return True

    def close(self) -> None:
        for descriptor in (self._folder, self._directory):
            if descriptor is not None:
                os.close(descriptor)
        self._folder = self._directory = None


class Attachments:
    """The files of one process: bytes in, `File` records out."""

    def __init__(self, store: FileStore) -> None:
        self._store = store
        self._open: tuple[str | None, File] | None = None
        self._left = 0
        self._taken: dict[str | None, list[File]] = {}
        self.descriptor: int | None = None  # of the file that is arriving

    def open(self, result: str | None, name: str, length: int) -> None:
        path, self.descriptor = self._store.create(name)
        self._open = result, File(name, path, length)
        self._left = length

    def write(self, data: bytes) -> None:
        if self.descriptor is not None and not self._store.write(self.descriptor, data):
            self.close()
        self.went_by(len(data))

    def went_by(self, count: int) -> None:
        """Counts bytes that are in the file, written here or by another process."""
        self._left -= count

    def whole(self) -> tuple[str | None, File] | None:
        """The file that has just arrived whole, returned once, with the name of its result."""
        if self._open is None or self._left:
            return None
        self.close()
        (result, file), self._open = self._open, None
        self._taken.setdefault(result, []).append(file)
        return result, file

    @property
    def waiting(self) -> bool:
        """There are files of results that are not complete."""
        return bool(self._taken)

    def take(self, result: str | None) -> tuple[File, ...]:
        """The files of a result that is complete now."""
        return tuple(self._taken.pop(result, ()))

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

"""Files that a test sends, in one flat directory. A name never decides where bytes go."""

from __future__ import annotations

import os
import re
from pathlib import Path

from proctor.events import File

FOLDER = "files"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_SHOWN = 60  # characters of the original name that stay readable on disk


class Attachments:
    """Bytes in, `File` records out. Files are numbered, so two names can never meet on disk."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._folder: int | None = None
        self._count = 0
        self._descriptor: int | None = None
        self._current: dict[str | None, list[File]] = {}
        self.fault: OSError | None = None

    def open(self, result: str | None, name: str, length: int) -> None:
        self._close()
        self._count += 1
        safe = _UNSAFE.sub("_", name.rpartition("/")[2])[-_SHOWN:].lstrip(".") or "file"
        numbered = f"{self._count:06d}-{safe}"
        self._current.setdefault(result, []).append(File(name, f"{FOLDER}/{numbered}", length))
        try:
            if self._folder is None:
                self._folder = self._make_folder()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(numbered, flags, 0o644, dir_fd=self._folder)
        except OSError as error:
            self.fault = error

    def _make_folder(self) -> int:
        """Held open: a test that puts a link in its place cannot send our bytes elsewhere."""
        path = self._directory / FOLDER
        path.mkdir(exist_ok=True)
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def write(self, data: bytes) -> None:
        if self._descriptor is None:
            return
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError as error:
            self.fault = error
            self._close()

    def take(self, result: str | None) -> tuple[File, ...]:
        """The files of a result that is complete now."""
        self._close()
        return tuple(self._current.pop(result, ()))

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def close(self) -> None:
        self._close()
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None

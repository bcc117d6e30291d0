"""Files of a shard's run: those that fit are returned with its answer, the others stay where they are."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Iterator

from proctor.archive.inside import Folder, new_file, open_inside
from proctor.result import RunResult

MOST_OF_ONE, MOST_OF_ALL = 8 << 20, 32 << 20  # bytes
_PIECE = 1 << 20


class ShardFiles:
    """What becomes of the files of a run that is over."""

    def __init__(self, host: str, most_of_one: int = MOST_OF_ONE, most_of_all: int = MOST_OF_ALL) -> None:
        self.files: dict[str, str] = {}  # by their paths: Base64
        self.kept: dict[str, str] = {}  # by their paths: where they stay, HOST:PATH
        self._host, self._most_of_one, self._left = host, most_of_one, most_of_all
        self._keep = ""  # the directory for what stays

    def take(self, result: RunResult, folder: Folder) -> None:
        """To be called before the run's directory is removed."""
        for path in dict.fromkeys(_paths(result)):
            try:
                with os.fdopen(open_inside(folder, path), "rb") as file:
                    size = os.fstat(file.fileno()).st_size
                    if size <= min(self._most_of_one, self._left):
                        self._left -= size
                        self.files[path] = base64.b64encode(file.read()).decode()
                    else:
                        self.kept[path] = self._stay(os.path.basename(path), file.fileno())
            except OSError:
                continue  # it was not kept: the run says so

    def _stay(self, name: str, file: int) -> str:
        """In the system's temporary directory, which systems clean up in their own time."""
        self._keep = self._keep or tempfile.mkdtemp(prefix="proctor-files-")
        folder = os.open(self._keep, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.fdopen(new_file(name, folder), "wb") as copy:
                while piece := os.read(file, _PIECE):
                    copy.write(piece)
        finally:
            os.close(folder)
        return f"{self._host}:{os.path.join(self._keep, name)}"


def _paths(result: RunResult) -> Iterator[str]:
    for test in result.tests.values():
        yield from (file.path for file in test.files)
        if test.testout is not None:
            yield test.testout.path

"""What files contain, as far as it takes to tell whether a write has changed anything."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from proctor.digest import blake2b

_MOST = 20_000  # files that are read before the first change
_LARGEST = 4 << 20  # bytes of a file that is read; of a larger one, size and time must do
_GONE = ""


class Contents:
    """Of the files below a directory, by their relative paths. For one thread."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._known: dict[str, str] = {}

    def learn(self, paths: Iterable[str], before: int) -> None:
        """Read files that were last changed before a moment. What changed later is news, whatever it is."""
        for path, _ in zip(paths, range(_MOST), strict=False):
            content, changed = self._look(path)
            if content and changed < before:
                self._known.setdefault(path, content)

    def changed(self, paths: Iterable[str]) -> dict[str, int]:
        """Those that contain something else than at the last look, and when they were changed. What nobody
        has seen before is changed, unless it is gone again."""
        found = {}
        for path in paths:
            content, changed = self._look(path)
            if content != self._known.get(path, None if content else _GONE):
                found[path] = changed
            self._known[path] = content
        return found

    def files(self, paths: Iterable[str], skip: Callable[[str], bool]) -> set[str]:
        """The paths, with the files below those that are directories, or were, instead of the directories."""
        found: set[str] = set()
        for path in paths:
            full = os.path.join(self._root, path)
            if not os.path.isdir(full) or os.path.islink(full):
                gone = not os.path.lexists(full)
                found |= {path, *(known for known in self._known if gone and known.startswith(f"{path}/"))}
                continue
            for directory, directories, names in os.walk(full):
                at = os.path.relpath(directory, self._root)
                directories[:] = [name for name in directories if not skip(f"{at}/{name}")]
                found |= {f"{at}/{name}" for name in names}
                if len(found) > _MOST:
                    return found
        return found

    def _look(self, path: str) -> tuple[str, int]:
        """What stands for the content, and when that was written, in nanoseconds."""
        full = os.path.join(self._root, path)
        try:
            about = os.lstat(full)
            if stat.S_ISLNK(about.st_mode):
                return f"-> {os.readlink(full)}", about.st_ctime_ns
            if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
                return f"{about.st_ino} {about.st_size} {about.st_mtime_ns}", about.st_ctime_ns
            with open(full, "rb") as file:
                mode = "x" if about.st_mode & stat.S_IXUSR else "-"
                return mode + blake2b(file.read(), digest_size=16).hexdigest(), about.st_ctime_ns
        except OSError:
            return _GONE, time.time_ns()

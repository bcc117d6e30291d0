"""Packages that a project wants to be preloaded and that cannot be, and why: kept in the user's cache.

A cache is never worth an error: what cannot be read is empty, and what cannot be written is known to this
process alone. Of two processes that write at once one is forgotten, and learns it again.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from proctor import decoding
from proctor.digest import blake2b
from proctor.process.standby import Key
from proctor.regular_files import read_bytes, replace_file
from proctor.text import first_line

FILE = "preloads-1.json"
KEPT_SECONDS = 24 * 3600.0  # then the package is tried again: the reason may have been the machine's
_MOST = 200  # entries that are kept, the newest
_LARGEST = 1 << 20  # bytes of the file
_LONGEST = 300  # characters of a reason


class Dropped(msgspec.Struct, frozen=True):
    """One package. `key` stands for everything that it may depend on, `project` for the part without the
    environment."""

    package: str
    why: str
    key: str
    project: str
    at: float  # seconds since 1970


class Preloads:
    """What is known of them; any thread may ask."""

    def __init__(self, cache: Path | None, now: Callable[[], float] = time.time) -> None:
        """`cache`: a directory, if there is one to write to."""
        self._file, self._now = cache / FILE if cache else None, now
        self._own: list[Dropped] = []
        self._writing = threading.Lock()

    def dropped(self, key: Key) -> frozenset[str]:
        digest = _digest(key)
        return frozenset(entry.package for entry in self._known() if entry.key == digest)

    def drop(self, key: Key, package: str, why: str) -> None:
        project = _project(key.cwd, key.argv[0], key.ahead.installed)
        entry = Dropped(package, first_line(why, _LONGEST), _digest(key), project, self._now())
        with self._writing, contextlib.suppress(OSError, UnicodeError):
            self._own = [*self._own, entry][-_MOST:]
            if self._file is not None:
                replace_file(self._file, msgspec.json.encode(self._known()[-_MOST:]))

    def of_project(self, cwd: str, python: str, installed: tuple[str, ...]) -> dict[str, str]:
        """The packages, and the last word on each, in any environment."""
        project = _project(cwd, python, installed)
        return {entry.package: entry.why for entry in self._known() if entry.project == project}

    def _known(self) -> list[Dropped]:
        """Oldest first; of two about the same package, the newer one."""
        latest: dict[tuple[str, str], Dropped] = {}
        for entry in sorted((*self._read(), *self._own), key=lambda entry: entry.at):
            latest.pop((entry.key, entry.package), None)
            latest[entry.key, entry.package] = entry
        now = self._now()
        return [entry for entry in latest.values() if abs(now - entry.at) < KEPT_SECONDS]

    def _read(self) -> list[Dropped]:
        if self._file is None:
            return []
        try:
            return decoding.decode(read_bytes(self._file, _LARGEST), list[Dropped])
        except (OSError, msgspec.DecodeError, UnicodeError):
            return []


def _digest(key: Key) -> str:
    project = _project(key.cwd, key.argv[0], key.ahead.installed)
    return _digest_of([project, key.argv, key.memory, key.interpreter, sorted(key.environment)])


def _project(cwd: str, python: str, installed: tuple[str, ...]) -> str:
    return _digest_of([cwd, python, installed])


def _digest_of(value: object) -> str:
    return blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

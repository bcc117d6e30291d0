"""Packages that a project wants to be preloaded and that cannot be, and why: kept in the user's cache."""

from __future__ import annotations

import contextlib
import os
from hashlib import blake2b
from pathlib import Path

import msgspec

from proctor.process.standby import Key

FILE = "preloads-1.json"
_MOST = 200  # entries that are kept, the newest


class Dropped(msgspec.Struct, frozen=True):
    """One package. `key` stands for everything that it may depend on."""

    package: str
    why: str
    key: str
    python: str
    cwd: str
    installed: tuple[str, ...]


class Preloads:
    """What is known of them; any thread may ask."""

    def __init__(self, cache: Path | None) -> None:
        """`cache`: a directory, if there is one to write to."""
        self._file = cache / FILE if cache else None
        self._known = self._read()

    def dropped(self, key: Key) -> frozenset[str]:
        digest = _digest(key)
        return frozenset(entry.package for entry in self._known if entry.key == digest)

    def drop(self, key: Key, package: str, why: str) -> None:
        entry = Dropped(package, why, _digest(key), key.argv[0], key.cwd, key.ahead.installed)
        self._known = [*self._known, entry]
        if self._file is None:
            return
        others = [each for each in self._read() if (each.key, each.package) != (entry.key, package)]
        with contextlib.suppress(OSError, UnicodeError):  # a cache is never worth an error
            fresh = self._file.with_name(f"{FILE}.{os.getpid()}")
            fresh.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_bytes(msgspec.json.encode([*others, entry][-_MOST:]))
            os.replace(fresh, self._file)

    def of_project(self, cwd: str, python: str, installed: tuple[str, ...]) -> list[Dropped]:
        """The last word on each package, in any environment."""
        found = {
            entry.package: entry
            for entry in self._known
            if (entry.cwd, entry.python, entry.installed) == (cwd, python, installed)
        }
        return list(found.values())

    def _read(self) -> list[Dropped]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=list[Dropped]) if self._file else []
        except (OSError, msgspec.DecodeError, UnicodeError):
            return []


def _digest(key: Key) -> str:
    parts = [repr(key.argv), repr(key.ahead.installed), key.cwd, str(key.memory), repr(key.interpreter)]
    return blake2b(repr([*parts, *sorted(key.environment)]).encode("utf-8", "surrogatepass")).hexdigest()[:32]

"""What the files that a session read say of its results: whether it ran the code of the other commit."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from proctor.baseline.paths import Trees, below

_MODULE = re.compile(r"(?P<name>[^./]+)(?:\.[^/]*)?\.(?:pyc?|so|pyd)\Z")
_METADATA = re.compile(r"\.(?:egg|dist)-info(?:/|\Z)")  # of an editable install: read wherever it lies
#: What test tools write beside the tests, and look for in the next run.
_WRITTEN = frozenset({"__pycache__", ".pytest_cache", ".hypothesis", ".proctor", ".coverage"})
_MOST = 200  # files about which git is asked
_DONE = {"read": "read", "wrote": "written"}
INJECTED = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "inject"))


class Evidence(msgspec.Struct, frozen=True):
    """Reasons not to trust results; empty where there are none."""

    elsewhere: str = ""  # against every result: other code than that of the commit had a part in it
    lacking: str = ""  # against failures: the commit's tree lacks files that the user's has


class Known(msgspec.Struct, frozen=True):
    """What the facts of a session are held against."""

    trees: Trees
    places: list[str]  # of the other tree, in which its modules are
    filtered: frozenset[str]  # files of the other tree that git did not make what they should be
    scratch: str  # a directory of our own
    tracked: Callable[[list[str]], Iterable[str]]  # those of these files of the user's tree that git has


def read(log: str, known: Known) -> Evidence:
    facts = list(_facts(log))
    if not facts:
        return Evidence("the session does not tell which files it reads (Python 3.7 cannot)")
    session = facts[0][1]
    judge = _Judge(known, [os.path.realpath(prefix) for prefix in session["prefixes"]], session["path"])
    elsewhere = next(filter(None, map(judge.elsewhere, facts)), "")
    return Evidence(elsewhere, "" if elsewhere else judge.lacking(facts))


def _facts(log: str) -> Iterator[list[Any]]:
    try:
        with open(log, encoding="ascii") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)  # ours, with paths that no UTF-8 may have
    except OSError:
        return


class _Judge:
    def __init__(self, known: Known, prefixes: list[str], path: list[str]) -> None:
        self._known, self._trees = known, known.trees
        # An environment in the project, and not a project in the environment.
        self._environments = [prefix for prefix in prefixes if below(prefix, known.trees.here)]
        self._path = sorted({os.path.realpath(entry) for entry in path if entry}, key=len, reverse=True)

    def elsewhere(self, fact: list[Any]) -> str:
        kind = fact[0]
        if kind == "full":
            return "the tests read too many files to tell which code they ran"
        if kind == "escaped":
            return f"a test starts {fact[1]} without PYTHONPATH, which may import the working tree"
        if kind not in _DONE:
            return ""
        file = os.path.realpath(str(fact[1]))
        if below(file, self._known.scratch) is not None and self._trees.from_there(file) is None:
            return ""
        inside = self._trees.from_there(file)
        if inside is not None:
            if kind == "read" and _source(inside) in self._known.filtered:
                return f"{_source(inside)} is only right after a filter of git's, and none was run"
            return ""
        mine = self._trees.from_here(file)
        if mine is not None and not self._is_installed(file):
            if below(file, INJECTED) is not None or _METADATA.search(mine):
                return ""
            return f"{mine if kind == 'wrote' else _source(mine)} of the working tree was {_DONE[kind]}"
        return self._installed_copy(file) if kind == "read" else ""

    def _is_installed(self, file: str) -> bool:
        return any(below(file, prefix) is not None for prefix in self._environments)

    def _installed_copy(self, file: str) -> str:
        """A module of the commit that was read from an installed copy, or from any other place."""
        found = _MODULE.search(file)
        entry = next((entry for entry in self._path if below(file, entry) is not None), None)
        if found is None or entry is None or _is_library(file):
            return ""
        parts = _source(below(file, entry) or "").split(os.sep)
        parts[-1] = found["name"]
        if any(_has(place, parts) for place in self._known.places):
            return f"{'.'.join(part for part in parts if part != '__init__')} was imported from {file}"
        return ""

    def lacking(self, facts: list[list[Any]]) -> str:
        wanted: dict[str, None] = {}  # files of the user's tree
        for fact in facts:
            if fact[0] == "sought":
                inside = self._trees.from_there(os.path.normpath(str(fact[1])))
                if not inside or _WRITTEN.intersection(inside.split(os.sep)):
                    continue
                if os.path.exists(os.path.join(self._trees.here, inside)):
                    wanted[inside] = None
            elif fact[0] == "missing":
                _, name, places = fact
                wanted |= dict.fromkeys(file for place in places for file in self._own_modules(place, name))
        if not wanted:
            return ""
        asked = list(wanted)[:_MOST]
        kept = set(self._known.tracked(asked))
        for file in asked:
            if file not in kept and not any(name.startswith(f"{file}/") for name in kept):
                return f"{file} is in the working tree but not in git"
        return ""

    def _own_modules(self, place: str, name: str) -> list[str]:
        """Files or directories of the user's tree that have the module which the other one lacks."""
        inside = self._trees.from_there(os.path.realpath(place))
        if inside is None:
            return []
        mine = os.path.join(self._trees.here, inside)
        try:
            entries = os.listdir(mine)
        except OSError:
            return []
        return [
            os.path.join(inside, entry)
            for entry in entries
            if (entry == name and _has_more_than_bytecode(os.path.join(mine, entry)))
            or (entry.startswith(f"{name}.") and _MODULE.search(entry))
        ]


def _source(file: str) -> str:
    """Of bytecode, the file that it was made of."""
    folder, name = os.path.split(file)
    if os.path.basename(folder) == "__pycache__" and name.endswith(".pyc"):
        return os.path.join(os.path.dirname(folder), f"{name.partition('.')[0]}.py")
    return file


def _is_library(file: str) -> bool:
    """Whether a file is the standard library's, by its path."""
    parts = file.split(os.sep)
    lib = [at for at, part in enumerate(parts) if re.fullmatch(r"(?:python|pypy)\d[\d.]*t?", part)]
    return bool(lib) and not {"site-packages", "dist-packages"}.intersection(parts[lib[-1] :])


def _has(place: str, parts: list[str]) -> bool:
    """Whether a directory has this module, or the package that it would be in."""
    *packages, name = parts
    for package in packages:
        place = os.path.join(place, package)
        if os.path.isfile(os.path.join(place, "__init__.py")):
            return True
    return os.path.isfile(os.path.join(place, f"{name}.py"))


def _has_more_than_bytecode(directory: str) -> bool:
    try:
        return any(name != "__pycache__" for name in os.listdir(directory))
    except OSError:
        return False

"""Which test files a change touches: those that import a changed file, directly or through others.

By what the last session has imported, and by the import statements of the project's files as they are now. A
hint about what to run first, and no proof: nothing of the project is run, and everything follows anyway.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from proctor.imported import Imported, read_imported
from proctor.watching.import_statements import Import, imports_in, is_whole

_CONFTEST, _PACKAGE = "conftest.py", "__init__.py"
_TEST_NAME = re.compile(r"test.*\.py|.*_tests?\.py")


def affected(changed: frozenset[str], root: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Test files that are there, relative to the root like `changed`. What no test file imports touches the
    tests of the folders whose conftest.py imports it. If a change touches most of them, then those that
    import it without the help of a package's `__init__.py`, if there are any: the nearer ones say more."""
    project = _project(os.path.realpath(root))
    project.learn(read_imported(root, environ))
    return project.touched_by(changed)


@cache
def _project(root: str) -> Project:
    return Project(root)


class Project:
    """The files of a project and what they import; files are paths relative to its root."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._modules: dict[str, str] = {}  # by name: files, as sessions have seen them
        self._tests: dict[str, None] = {}
        self._places: dict[str, None] = {}  # folders in which modules are looked for by their whole names
        self._imports: dict[str, tuple[tuple[int, ...], frozenset[Import]]] = {}  # by file, with its stat
        # For one question:
        self._changed: frozenset[str] = frozenset()
        self._listings: dict[str, frozenset[str]] = {}
        self._tops: dict[str, list[str]] = {}  # by the first part of a module's name: in which places it is

    def learn(self, imported: Imported) -> None:
        """From a session; it may have been one of few tests, so that nothing is forgotten."""
        start = len(self._root) + 1
        for name, file in imported.modules.items():
            file = file[start:]
            self._modules[name] = file
            if (place := _place(name, file)) is not None:
                self._places[place] = None
        self._tests |= dict.fromkeys(file[start:] for file in imported.tests)

    def touched_by(self, changed: frozenset[str]) -> tuple[str, ...]:
        self._listings, self._tops, self._changed = {}, {}, changed
        for place in self._places:
            start = f"{place}/" if place else ""
            gone = {file[len(start) :].partition("/")[0] for file in changed if file.startswith(start)}
            for name in {entry.partition(".")[0] for entry in self._listing(place) | gone}:
                self._tops.setdefault(name, []).append(place)
        importers = self._importers(changed)
        tests = {file for file in (*self._tests, *changed) if self._is_test(file)}
        touched = _reachable(changed, importers)
        if 2 * len(tests & touched) > len(tests):  # by a package that imports all of its modules, say
            nearer = _reachable(changed, importers, through_packages=False)
            touched = nearer if nearer & tests else touched
        below = {os.path.dirname(file) for file in changed if os.path.basename(file) == _CONFTEST}
        if not below and not touched & tests:
            below = {os.path.dirname(file) for file in touched if os.path.basename(file) == _CONFTEST}
        return tuple(
            sorted(file for file in tests if file in touched or any(map(below.__contains__, _up(file))))
        )

    def _is_test(self, file: str) -> bool:
        """Of new files, whose names look like it; a module that a session has imported is not new."""
        if not self._is_there(file):
            return False
        looks_like_it = _TEST_NAME.fullmatch(os.path.basename(file)) and file not in self._modules.values()
        return file in self._tests or bool(looks_like_it)

    def _importers(self, changed: Iterable[str]) -> dict[str, set[str]]:
        """By file, those that import it. Begins with what sessions have seen and follows the statements."""
        found: dict[str, set[str]] = {}
        conftests = {os.path.join(folder, _CONFTEST) for test in self._tests for folder in _up(test)}
        known = {*self._modules.values(), *self._tests, *changed, *filter(self._is_there, conftests)}
        left = [file for file in known if file.endswith(".py")]
        while left:
            file = left.pop()
            for needed in self._needed(file):
                found.setdefault(needed, set()).add(file)
                if needed not in known:
                    known.add(needed)
                    left.append(needed)
        return found

    def _needed(self, file: str) -> Iterator[str]:
        """The files that it imports, also those that are gone; and the packages that it is in."""
        folder = os.path.dirname(file)
        for statement in self._statements(file):
            if statement.level:
                start = folder
                for _ in range(statement.level - 1):
                    start = os.path.dirname(start)
                yield from self._below([start], statement.name)
            else:
                yield from self._by_name(statement.name)
        if os.path.basename(file) == _PACKAGE:
            folder = os.path.dirname(folder)
        if folder and self._is_there(package := os.path.join(folder, _PACKAGE)):
            yield package

    def _by_name(self, name: str) -> Iterator[str]:
        for part in _prefixes(name):
            if part in self._modules:
                yield self._modules[part]
        yield from self._below(self._tops.get(name.partition(".")[0], ()), name)

    def _below(self, folders: Iterable[str], name: str) -> Iterator[str]:
        """The module of this name and the packages on the way, as far as they are there or were known."""
        for folder in folders:
            for part in _prefixes(name) if name else [""]:
                path = os.path.join(folder, *part.split(".")) if part else folder
                for file in (f"{path}.py", os.path.join(path, _PACKAGE)):
                    if file in self._changed or file in self._imports or self._is_there(file):
                        yield file

    def _statements(self, file: str) -> frozenset[Import]:
        """Read again if the file has changed. One that is broken, or gone, imports what it did before."""
        before, known = self._imports.get(file, ((), frozenset()))
        path = os.path.join(self._root, file)
        try:
            seen = os.stat(path)
            stat = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
            if stat == before:
                return known
            with open(path, "rb") as opened:
                source = opened.read()
        except OSError:
            return known
        found = imports_in(source, os.path.basename(file) == _CONFTEST)
        if before and not is_whole(source):
            found |= known
        self._imports[file] = (stat, found)
        return found

    def _is_there(self, file: str) -> bool:
        folder, name = os.path.split(file)
        return name in self._listing(folder)

    def _listing(self, folder: str) -> frozenset[str]:
        known = self._listings.get(folder)
        if known is None:
            try:
                known = frozenset(os.listdir(os.path.join(self._root, folder)))
            except OSError:
                known = frozenset()
            self._listings[folder] = known
        return known


def _reachable(
    changed: Iterable[str], importers: Mapping[str, set[str]], through_packages: bool = True
) -> set[str]:
    found, left = set(changed), list(changed)
    while left:
        fresh = importers.get(left.pop(), set()) - found
        if not through_packages:
            fresh = {file for file in fresh if os.path.basename(file) != _PACKAGE}
        found |= fresh
        left += fresh
    return found


def _place(name: str, file: str) -> str | None:
    """The folder in which the name of a module leads to its file; None if it does not."""
    path = file.removesuffix(".py").removesuffix(f"/{os.path.splitext(_PACKAGE)[0]}")
    ending = name.replace(".", "/")
    if path == ending:
        return ""
    return path.removesuffix(f"/{ending}") if path.endswith(f"/{ending}") else None


def _prefixes(name: str) -> Iterator[str]:
    """`a`, `a.b` and `a.b.c` of `a.b.c`."""
    at = name.find(".")
    while at > 0:
        yield name[:at]
        at = name.find(".", at + 1)
    yield name


def _up(file: str) -> Iterator[str]:
    """The folders that a file is in."""
    while file:
        file = os.path.dirname(file)
        yield file

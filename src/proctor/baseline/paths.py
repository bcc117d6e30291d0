"""From the user's tree to another commit's: the same places there, and where its modules are found."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

import msgspec

from proctor.process.modules import Modules, find

_MOST_NAMES = 1000  # of modules in a directory that are asked for
_NOT_IMPORTED = frozenset({"setup", "conftest"})
_INIT = "__init__.py"


class CannotPlace(Exception):
    """Why the other commit's modules would not be those that are imported, to be shown to the user."""


class Trees(msgspec.Struct, frozen=True):
    """Two directories with the files of one repository; both without links in their paths."""

    here: str  # the user's
    there: str  # the other commit's

    def moved(self, text: str) -> str:
        """The same text with the paths of the other tree."""
        return re.sub(re.escape(self.here) + r"(?![\w.-])", lambda _: self.there, text)

    def back(self, text: str) -> str:
        return text.replace(self.there, self.here)

    def from_here(self, path: str) -> str | None:
        """Relative to the top of the user's tree; None if it is elsewhere."""
        return None if below(path, self.there) is not None else below(path, self.here)

    def from_there(self, path: str) -> str | None:
        return below(path, self.there)


def below(path: str, top: str) -> str | None:
    """Relative to `top`; None if it is elsewhere."""
    if path == top:
        return ""
    return path[len(top) + 1 :] if path.startswith(top + os.sep) else None


class Interpreter(msgspec.Struct, frozen=True):
    """The one that runs the tests, and for how long it may be asked."""

    python: str
    environ: Mapping[str, str]
    seconds: Callable[[], float]  # that are left

    def find(self, names: Mapping[str, str], path: list[str]) -> Modules:
        known = find(self.python, names, with_path(self.environ, path), max(self.seconds(), 0.1))
        if known.fault:
            raise CannotPlace(known.fault)
        return known

    def installs_in(self, place: str) -> bool:
        """Whether it is in the environment, which may lie in the project."""
        return below(place, os.path.realpath(os.path.dirname(os.path.dirname(self.python)))) is not None


def module_path(trees: Trees, root: str, interpreter: Interpreter) -> list[str]:
    """Directories of the other tree in which Python has to look for modules first.

    Those that the interpreter looks into in the user's tree, and those of modules that it finds elsewhere,
    installed or in another worktree. `root`: the project's directory, relative to both trees. Raises
    CannotPlace where the interpreter would still find other modules.
    """
    asked = _places(usual_places(trees, root))
    known = interpreter.find(asked, [])
    looked_into = [*known.path, *(os.path.dirname(place) for place in _named_alike(known.editable))]
    path = [
        there
        for place in map(os.path.realpath, looked_into)
        if trees.from_here(place) is not None and not interpreter.installs_in(place)
        if os.path.isdir(there := trees.moved(place))
    ]
    path += [place for name, place in asked.items() if name in known.found or _installed(name, place, known)]
    path = list(dict.fromkeys(path))
    if path:
        _check(path, asked, known, interpreter)
    return path


def usual_places(trees: Trees, root: str) -> list[str]:
    """Where the modules of a project are: in its directory or in `src`, there or at the repository's top."""
    tops = [os.path.join(trees.there, root) if root else trees.there, trees.there]
    sources = [os.path.join(top, "src") for top in tops]
    return list(dict.fromkeys([*(s for s in sources if not os.path.exists(os.path.join(s, _INIT))), *tops]))


def _named_alike(editable: Mapping[str, str]) -> list[str]:
    return [
        place
        for name, place in editable.items()
        if os.path.splitext(os.path.basename(place))[0] == name.rpartition(".")[2]
    ]


def _installed(name: str, place: str, known: Modules) -> bool:
    """Whether a part of a namespace package in this place is installed, too."""
    own = set(modules_in(os.path.join(place, name)))
    return any(own.intersection(modules_in(other)) for other in known.namespaces.get(name, ()))


def _check(path: list[str], asked: Mapping[str, str], known: Modules, interpreter: Interpreter) -> None:
    names = _places(path)
    if more := {name: place for name, place in names.items() if name not in asked}:
        known = interpreter.find({**asked, **more}, [])
    for name in known.standard:
        if name in names:
            raise CannotPlace(f"{os.path.join(names[name], name)} would hide the standard library's {name}")
    after = interpreter.find(names, path)
    for name, place in after.found.items():
        if not os.path.realpath(place).startswith(tuple(f"{entry}{os.sep}" for entry in path)):
            raise CannotPlace(f"{name} would still be imported from {place}")


def with_path(environ: Mapping[str, str], path: list[str]) -> dict[str, str]:
    before = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    entries = [*path, *(entry for entry in before if entry not in path)]
    return {**environ, "PYTHONPATH": os.pathsep.join(entries)} if entries else dict(environ)


def _places(directories: list[str]) -> dict[str, str]:
    """The modules and packages in these directories; the first that has one counts."""
    return {name: place for place in reversed(directories) for name in modules_in(place, namespaces=True)}


def modules_in(directory: str, namespaces: bool = False) -> list[str]:
    """Names of the modules and packages in a directory; with those that may be namespace packages."""
    try:
        entries = sorted(os.listdir(directory))
    except OSError:
        return []
    found = []
    for entry in entries:
        name, ending = os.path.splitext(entry)
        if not name.isidentifier() or name in _NOT_IMPORTED:
            continue
        inside = os.path.join(directory, name)
        is_package = os.path.isfile(os.path.join(inside, _INIT)) or (namespaces and modules_in(inside))
        if ending == ".py" or (not ending and is_package):
            found.append(name)
    return found[:_MOST_NAMES]

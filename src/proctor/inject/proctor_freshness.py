"""Whether what was imported is still what would be imported now. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else.
"""

import os
import site
import sys
from importlib.machinery import all_suffixes
from importlib.util import find_spec

SLACK = 20_000_000  # nanoseconds by which a file system's clock may be behind
CUSTOM = ("sitecustomize", "usercustomize")  # imported by Python itself if they are there


def can_import(name):
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class Places:
    """Directories that belong to the interpreter: its library, and where packages are installed."""

    def __init__(self):
        self.library = os.path.dirname(os.path.abspath(os.__file__))
        self.sites = list(getattr(site, "getsitepackages", list)())
        if site.ENABLE_USER_SITE:
            self.sites.append(site.getusersitepackages())
        home = os.path.dirname(os.path.abspath(__file__))
        self._ours = os.path.join(home, "path")

    def has(self, entry):
        return (
            entry in self.sites or entry == self._ours or (entry + os.sep).startswith(self.library + os.sep)
        )


class Seen:
    """What was there when everything had been imported."""

    def __init__(self, places, ours, started):
        """`ours`: files that are not in `sys.modules`; `started`: when the process was started."""
        self._places = places
        self._path = sys.path[:]
        self._names = _top_level(self._path)
        self._stats = {path: _stat(path) for path in self._paths(ours)}
        self._too_new = next(
            (path for path, seen in self._stats.items() if seen and max(seen[:2]) > started - SLACK), ""
        )

    def _paths(self, ours):
        yield from ours
        for module in list(sys.modules.values()):
            spec = getattr(module, "__spec__", None)
            if spec is not None and spec.has_location:
                yield spec.origin
                for directory in spec.submodule_search_locations or ():
                    yield directory
        yield os.path.join(sys.prefix, "pyvenv.cfg")
        yield self._places.library
        for place in self._places.sites:
            yield place
            for name in _listed(place):
                if name.endswith(".pth"):
                    yield os.path.join(place, name)

    def stale(self, cwd):
        """Why a run in `cwd` must not begin from here; empty: it may."""
        if self._too_new:
            return "%s changed while it was imported" % self._too_new
        stat = os.stat
        for path, seen in self._stats.items():
            try:
                now = stat(path)
            except OSError:
                now = None
            if (now and (now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino)) != seen:
                return "%s has changed" % path
        try:
            if not os.path.samestat(stat(cwd), stat(".")):
                return "%s is another directory now" % cwd
        except OSError as error:
            return "%s: %s" % (cwd, error)
        return self._shadowed(cwd)

    def _shadowed(self, cwd):
        """About a module that would now be found in another place, one that nobody looked at."""
        for number, place in enumerate([cwd, *self._path]):
            if place in self._stats:
                continue
            for name in _listed(place or cwd):
                module = name.partition(".")[0]
                if self._names.get(module, 0) > number and _is_module(os.path.join(place, name)):
                    return "%s hides what was imported" % os.path.join(place, name)
            sys.path_importer_cache.pop(place, None)
        return ""


def _top_level(path):
    """Where on the path modules were found: names, and how many entries come before that; with the current
    directory before all of them."""
    numbers = {os.path.abspath(place): number for number, place in reversed(list(enumerate(path, 1)))}
    found = dict.fromkeys(CUSTOM, len(path) + 1)
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if "." in name or spec is None or not spec.has_location:
            continue  # nothing on the path hides one that is built in or frozen
        where = os.path.dirname(os.path.abspath(spec.origin))
        if spec.submodule_search_locations is not None:
            where = os.path.dirname(where)
        found[name] = numbers.get(where, len(path) + 1)
    return found


def _is_module(path):
    if path.endswith(tuple(all_suffixes())):
        return True
    return "." not in os.path.basename(path) and any(name.startswith("__init__.") for name in _listed(path))


def _listed(place):
    try:
        return os.listdir(place)
    except OSError:
        return []


def _stat(path):
    try:
        now = os.stat(path)
    except OSError:
        return None
    return now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino

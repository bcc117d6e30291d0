"""Whether what was imported is still what would be imported now. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Where it is
not sure, the answer is no: then the run begins in a new process, which is slower and never wrong.

Three questions. Have the files and directories changed that Python has read? Would a module now be found in
another place? Can the clock tell: had nothing changed for a while when it was read?
"""

import os
import site
import sys
import time
from importlib.machinery import PathFinder, all_suffixes
from importlib.util import find_spec
from operator import attrgetter
from types import ModuleType

SLACK = 20000000  # nanoseconds by which the clock of a file system may be behind
COARSE = 2000000000  # the same, where it counts whole seconds
CUSTOM = ("sitecustomize", "usercustomize")  # imported by Python itself if they are there
STARTED_BY = (".pth", ".start")  # files of a site directory that Python reads when it starts
MOST_DATA = 3000  # files of a package beside its modules; with more of them it is out of date
MOST_DIRECTORIES = 20000  # of a project: to look at more takes as long as to start anew
SUFFIXES = frozenset(all_suffixes())

_vars = ModuleType.__dict__["__dict__"].__get__  # type: ignore[index]  # whatever a module makes of its own
#: Of a file: no edit leaves all of them as they are.
facts = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino")


def can_import(name):
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class Places:
    """Directories that belong to the interpreter: its library, and where packages are installed."""

    def __init__(self):
        self.library = os.path.dirname(os.path.abspath(os.__file__))
        self.sites = [os.path.abspath(place) for place in getattr(site, "getsitepackages", list)()]
        if site.ENABLE_USER_SITE:
            self.sites.append(os.path.abspath(site.getusersitepackages()))
        home = os.path.dirname(os.path.abspath(__file__))
        self._ours = os.path.join(home, "path")
        self.early = None  # modules that every run has imported before any file of the project; None: all
        self.missed = _Missed()

    def remember_missing(self):
        """From here on, which modules are looked for in vain."""
        sys.meta_path.append(self.missed)

    def has(self, entry):
        return entry in self.sites or entry == self._ours or _is_in(entry, self.library)

    def holds(self, path):
        return any(_is_in(path, place) for place in (self.library, *self.sites))


class _Missed:
    """Finds nothing. It is asked last."""

    def __init__(self):
        self.names = set(CUSTOM)

    def find_spec(self, name, path=None, target=None):
        if "." not in name:
            self.names.add(name)


class Seen:
    """What was there when everything had been imported."""

    def __init__(self, places, ours, started):
        """`ours`: files that are not in `sys.modules`; `started`: when the process was started."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not places.missed]
        self._places = places
        self._cwd = os.getcwd()
        self._path = [self._cwd, *sys.path]
        self._specs = dict(_specs())
        self._why = ""
        self._stats: "dict[str, tuple[int, ...] | None]" = {}
        self._started, self._now = started, time.time_ns()
        for path in self._paths():
            self._keep(path)
        for path in map(_container, [*ours, *self._files()]):
            self._keep(path)
            if self._stats[path] is None:
                self._why = self._why or "%s was removed while it was imported" % path
        for link in _links([sys.executable, sys.prefix, *sys.path]):
            if _is_after(os.lstat(link).st_ctime_ns, started):
                self._why = self._why or "%s led to another place" % link
        self._names = self._positions()
        self._others = {}  # entries of the path where anything may come and go: are they directories?
        for number, place in enumerate(self._path):
            if not places.has(place):
                self._look_into(number, place)
        self._tree = _Tree(self._cwd, self._late())

    def _keep(self, path):
        """Remembers how it is. A change that came while it was read cannot be told from one before that."""
        now = _stat(path)
        self._stats[path] = now
        if now is None:
            return
        written, touched = now[:2]  # anybody may set the first, also to a time to come
        if _is_after(touched, self._started) or (written < self._now and _is_after(written, self._started)):
            self._why = self._why or "%s changed while it was imported" % path

    def _files(self):
        for spec in self._specs.values():
            if spec.has_location and isinstance(spec.origin, str):
                yield spec.origin

    def _paths(self):
        """Of directories, and of files that need not exist."""
        for name, spec in self._specs.items():
            if spec.has_location and spec.cached not in (None, spec.origin):
                yield os.path.dirname(spec.cached)  # bytecode may say something else than its source
            for directory in spec.submodule_search_locations or ():
                for path in self._data(directory, name):
                    yield path
        for place in filter(self._places.has, self._path):
            yield place
        for program in (sys.executable, getattr(sys, "_base_executable", None)):
            if program:
                yield program
                yield os.path.join(os.path.dirname(program), "pyvenv.cfg")
        yield os.path.join(sys.prefix, "pyvenv.cfg")
        yield self._places.library
        for place in self._places.sites:
            yield place
            for name in _listed(place) or ():
                if name.endswith(STARTED_BY):
                    yield os.path.join(place, name)
                    for path in _absent(place, name):
                        yield path

    def _data(self, directory, name):
        """The directory of a package, and what the import may have read beside its modules."""
        installed = self._places.holds(directory)
        if installed and self._is_early(name):
            return [directory]
        found = _data(directory)
        if len(found) <= MOST_DATA:
            return found
        if not installed:
            self._why = self._why or "%s has too many files to look at" % directory
        return [directory]

    def _is_early(self, name):
        """Whether every run has imported it before any file of the project."""
        return self._places.early is None or name.partition(".")[0] in self._places.early

    def _positions(self):
        """Top-level modules, and how many entries of the path come before the one that has them."""
        numbers = {os.path.abspath(place): number for number, place in reversed([*enumerate(self._path)])}
        found = dict.fromkeys(self._places.missed.names, len(self._path))
        for name, spec in self._specs.items():
            if "." not in name:
                found[name] = numbers.get(_home(spec), len(self._path))
        return found

    def _look_into(self, number, place):
        names = _listed(place)
        self._others[place] = names is not None
        for name in names or ():
            if name.endswith(STARTED_BY):
                self._keep(os.path.join(place, name))
        if names is None:
            self._keep(place)
            for name in self._names if self._stats[place] is not None else ():
                # An archive, perhaps with modules that nobody looked for in it.
                if self._names[name] > number and PathFinder.find_spec(name, [place]) is not None:
                    self._why = self._why or "%s hides the %s that was imported" % (place, name)
        _forget(place)

    def _late(self):
        """Modules that a run would look for only after the project had a chance to put others before them.
        None: one that is not there."""
        known = {**dict.fromkeys(self._places.missed.names), **self._specs}
        return {name: spec for name, spec in known.items() if "." not in name and not self._is_early(name)}

    def stale(self, cwd):
        """Why a run in `cwd` must not begin from here; empty: it may."""
        return self._why or self._changed() or self._moved(cwd) or self._hidden() or self._tree.hidden()

    def _changed(self):
        """One call of `stat` for each path, and as little else as can be: there may be thousands."""
        paths = [path for path, seen in self._stats.items() if seen is not None]
        try:
            same = list(map(facts, map(os.stat, paths))) == [self._stats[path] for path in paths]
        except OSError:
            same = False
        for path, seen in self._stats.items():
            if not (same and seen is not None) and _stat(path) != seen:
                return "%s has changed" % path
        return "" if same else "a file has changed, and changed back"

    def _moved(self, cwd):
        try:
            if os.path.samestat(os.stat(cwd), os.stat(".")) and os.getcwd() == self._cwd:
                return ""
        except OSError as error:
            return "%s: %s" % (cwd, error)
        return "%s is another directory now" % cwd

    def _hidden(self):
        """About a module that would now be found in a directory where anything may come and go."""
        for number, place in enumerate(self._path):
            if place not in self._others:
                continue
            names = _listed(place)
            if (names is not None) != self._others[place]:
                return "%s has changed" % place
            for name in names or ():
                module, path = name.partition(".")[0], os.path.join(place, name)
                if self._names.get(module, 0) > number and self._is_found(module, path):
                    return "%s hides what was imported" % path
                if name.endswith(STARTED_BY) and path not in self._stats:
                    return "%s may be read when Python starts" % path
        return ""

    def _is_found(self, module, path):
        spec = self._specs.get(module)
        if spec is None and not self._is_early(module):
            return _is_module(path) or os.path.isdir(path)
        if spec is not None and not spec.has_location:  # a namespace: every directory of its name is a part
            return _is_module(path) or (os.path.isdir(path) and path not in self._stats)
        return _is_module(path)


class _Tree:
    """Directories of a project. Any of them may be put on `sys.path` in the middle of a run, as pytest does
    with those of tests; then a file in it hides a module, unless that is imported already."""

    def __init__(self, root, specs):
        self._specs = specs
        self._known = {}  # directories: how they were when they were listed; None: list them again
        self._why = self._look(root) if specs else ""

    def hidden(self):
        for directory, seen in list(self._known.items()):
            now = _stat(directory)
            if now is None:
                del self._known[directory]
            elif now != seen:
                self._why = self._why or self._look(directory)
        return self._why

    def _look(self, directory):
        pending = [directory]
        while pending:
            if len(self._known) > MOST_DIRECTORIES:
                return "%s has too many directories to look into" % directory
            current = pending.pop()
            seen, now = _stat(current), time.time_ns()
            self._known[current] = None if seen is None or _is_after(seen[1], now) else seen
            names = _listed(current) or ()
            if "pyvenv.cfg" in names:
                continue
            for name in [] if "__init__.py" in names else names:  # a package is not put on the path itself
                module, path = name.partition(".")[0], os.path.join(current, name)
                if module in self._specs and self._is_other(module, path):
                    return "%s may hide what was imported" % path
            pending += [path for path in _directories(current) if path not in self._known]
        return ""

    def _is_other(self, module, path):
        spec = self._specs[module]
        if spec is None:
            return _is_module(path) or os.path.isdir(path)
        own = [os.path.dirname(spec.origin), spec.origin] if spec.has_location else []
        return _is_module(path) and not any(os.path.realpath(path) == os.path.realpath(file) for file in own)


def _is_after(changed, moment):
    """Whether a change may have come after the moment; in doubt it has."""
    return changed > moment - (SLACK if changed % 1000000000 else COARSE)


def _specs():
    """Names and specs of the imported modules that have files. What is built in or frozen never changes, and
    nothing on the path hides it."""
    for name, module in [*dict.fromkeys(CUSTOM).items(), *sys.modules.items()]:
        spec = _spec(name, module)
        if spec is None or name == "__main__":
            continue
        try:
            if spec.has_location or (spec.origin is None and spec.submodule_search_locations is not None):
                yield name, spec
        except AttributeError:  # something else of that name
            continue


def attributes(module):
    """Anything may be in `sys.modules`; to ask it for an attribute may import more."""
    try:
        return _vars(module) if issubclass(type(module), ModuleType) else vars(module)
    except Exception:  # an object of its own kind
        return {}


def _spec(name, module):
    spec = attributes(module).get("__spec__")
    if spec is not None:
        return spec
    parent, _, _ = name.rpartition(".")
    try:
        path = sys.modules[parent].__path__ if parent else None
        return PathFinder.find_spec(name, path)
    except Exception:
        return None  # it was made by another module, and has no file


def _links(paths):
    """Those that are followed on the way to the paths."""
    found, pending = set(), [os.path.abspath(path) for path in paths if path]
    while pending:
        path = pending.pop()
        if path not in found and os.path.islink(path):
            found.add(path)
            pending.append(os.path.join(os.path.dirname(path), os.readlink(path)))
        if os.path.dirname(path) != path:
            pending.append(os.path.dirname(path))
    return found


def _home(spec):
    """The directory that had to be on the path for it."""
    if not spec.has_location:
        return None
    where = os.path.dirname(os.path.abspath(spec.origin))
    return where if spec.submodule_search_locations is None else os.path.dirname(where)


def _container(path):
    """The file itself, or the archive that it is in."""
    inner = path
    while inner and _stat(inner) is None and os.path.dirname(inner) != inner:
        inner = os.path.dirname(inner)
    return inner if os.path.isfile(inner) else path


def _absent(place, name):
    """Directories that a file wants to have on the path, and that were not there."""
    try:
        with open(os.path.join(place, name), encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    for line in lines:
        path = os.path.join(place, line.rstrip())
        if line.strip() and not line.startswith(("#", "import ", "import\t")) and _stat(path) is None:
            yield path


def _data(directory):
    """The directory of a package, and what it may have read beside its modules."""
    found, pending = [directory], [directory]
    while pending and len(found) <= MOST_DATA:
        current = pending.pop()
        below = [path for path in _directories(current) if not _is_module(path)]
        pending += below
        found += below
        for name in _listed(current) or ():
            path = os.path.join(current, name)
            if os.path.splitext(name)[1] not in SUFFIXES and os.path.isfile(path):
                found.append(path)
    return found


def _is_module(path):
    """Whether Python would import this file or directory."""
    _, dot, rest = os.path.basename(path).partition(".")
    if dot:
        return dot + rest in SUFFIXES and os.path.isfile(path)
    return any(os.path.isfile(os.path.join(path, "__init__" + suffix)) for suffix in SUFFIXES)


def _directories(place):
    """Those in it, but no links, and none that hold no code of a project."""
    try:
        with os.scandir(place) as entries:
            found = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    other = ("__pycache__", "node_modules")
    return [entry.path for entry in found if not (entry.name.startswith(".") or entry.name in other)]


def _is_in(path, directory):
    return (path + os.sep).startswith(directory + os.sep)


def _forget(place):
    """Let nobody answer from memory what is in this entry of the path."""
    sys.path_importer_cache.pop(place, None)
    for name in ("importlib.metadata", "importlib_metadata"):
        fast = getattr(sys.modules.get(name), "FastPath", None)
        if fast is not None:
            getattr(getattr(fast(place), "lookup", None), "cache_clear", bool)()


def _listed(place):
    """None: it is no directory."""
    try:
        return os.listdir(place or ".")
    except (OSError, ValueError):
        return None


def _stat(path):
    try:
        return facts(os.stat(path))
    except (OSError, ValueError):
        return None

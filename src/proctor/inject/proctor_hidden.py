"""Packages that were imported early, and that nobody sees until the run imports them. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Until then
they are not in `sys.modules`, because code asks that: pytest whether it can still rewrite assertions,
coverage whether it has missed something, and many a package whether another one is in use.
"""

import atexit
import os
import re
import sys
from fnmatch import fnmatchcase
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder

load = globals()["load"]  # the loader gives it to each file
_facts = load("proctor_freshness").attributes
_inputs, _loggers = load("proctor_inputs"), load("proctor_loggers")

REWRITES = "AssertionRewritingHook"  # pytest's own finder
VARIABLES = ("PYTEST_PLUGINS", "PYTEST_ADDOPTS")
WORDS = re.compile(r"[\s,=]+")


class Package:
    """What one of them has imported that nobody had imported before."""

    def __init__(self, modules, finders, needs, inputs, loggers, exits):
        self.modules, self.finders, self.needs = modules, finders, needs
        self.inputs, self.loggers, self.exits = inputs, loggers, exits
        self.hidden = False
        self.functions = _inputs.functions(modules)
        files = [_facts(module).get("__file__") for module in modules.values()]
        self.files = [file for file in files if isinstance(file, str)]
        self.can_be_imported_twice = not any(file.endswith(tuple(EXTENSION_SUFFIXES)) for file in self.files)


class Packages:
    """Also the finder that shows them."""

    def __init__(self):
        places = load("proctor_freshness").Places()
        self._library = os.path.join(os.path.dirname(os.path.abspath(os.__file__)), "")
        self._installed = tuple(os.path.join(entry, "") for entry in sys.path if places.has(entry))
        self._sites = tuple(
            entry
            for entry in self._installed
            if "-packages" in entry or not entry.startswith(self._library)  # and no part of Python
        )
        self._packages = []
        self._found_in = {}  # packages by the names of their modules
        self._needs = []  # packages that were shown since they were hidden
        self._rewritten = None
        self._running = self._exiting = False
        self._functions = {}

    def add(self, name, before, inputs, exits):
        """A package that was imported, and what was there before; or why it cannot stay."""
        modules, finders, loggers = before
        new = {key: module for key, module in list(sys.modules.items()) if key not in modules}
        new = {key: module for key, module in new.items() if key not in self._found_in}
        why = self._foreign(name, new) or self._plugin(name, new)
        if why:
            return why
        tops = {key.partition(".")[0] for key, module in new.items() if self._is_installed(module)}
        kept = {key: module for key, module in new.items() if key.partition(".")[0] in tops}
        known = [self, *finders, *(finder for earlier in self._packages for finder in earlier.finders)]
        visible = {key.partition(".")[0] for key in sys.modules if key not in {**kept, **self._found_in}}
        of_others = [earlier.loggers for earlier in self._packages]
        made = _loggers.Loggers(loggers, visible, of_others)
        exits.keep(tops)
        package = Package(kept, _without(sys.meta_path, known), self._needs[:], inputs, made, exits)
        self._packages.append(package)
        self._found_in.update(dict.fromkeys(kept, package))
        return ""

    def _foreign(self, name, modules):
        for module in modules.values():
            file = _facts(module).get("__file__")
            if isinstance(file, str) and not file.startswith((self._library, *self._installed)):
                return "imports %s, which is not an installed package" % file
        return ""

    def _plugin(self, name, modules):
        """pytest rewrites the assertions of its plugins when it imports them."""
        if self._rewritten is None:
            self._rewritten = _plugins()
        found = sorted({key.partition(".")[0] for key in modules if _is_one_of(key, self._rewritten)})
        if not found:
            return ""
        if name.partition(".")[0] in found:
            return "is a plugin of pytest, which pytest has to import itself"
        return "imports %s, a plugin of pytest, which pytest has to import itself" % found[0]

    def _is_installed(self, module):
        facts = _facts(module)
        file = facts.get("__file__")
        if not isinstance(file, str):
            try:
                file = os.path.join(next(iter(facts["__path__"])), "")
            except (KeyError, StopIteration, TypeError):
                return False
        return file.startswith(self._sites)

    def refuses(self, words):
        """Why a run with these arguments must begin without them; empty: it need not."""
        tops = {name.partition(".")[0] for name in self._found_in}
        for word in [*words, *(os.environ.get(name, "") for name in VARIABLES)]:
            for part in WORDS.split(word):
                part = part[2:] if part.startswith("-p") else part
                if part.partition(".")[0] in tops:
                    return "the run may want to import %s itself" % part
        return ""

    def begin(self):
        """The run begins: they are hidden."""
        self._running = True
        self._functions = _inputs.functions()
        self.hide()
        atexit.register(self._exit)

    def _exit(self):
        """Python takes down in order what it finds."""
        self._exiting = True
        self.show()

    def hide(self):
        self._needs = []
        for package in self._packages:
            package.hidden = True
            for name in package.modules:
                sys.modules.pop(name, None)
            package.loggers.hide()
            package.exits.hide()
            sys.meta_path[:] = _without(sys.meta_path, package.finders)
        if self._packages and not any(finder is self for finder in sys.meta_path):
            places = [number for number, finder in enumerate(sys.meta_path) if finder is PathFinder]
            sys.meta_path.insert(places[0] if places else len(sys.meta_path), self)

    def show(self):
        """All that are still hidden."""
        for package in self._packages:
            self._show(package)
        sys.meta_path[:] = _without(sys.meta_path, [self])

    def _show(self, package):
        if not package.hidden:
            return
        self._needs.append(package)
        for needed in package.needs:
            self._show(needed)
        for name, module in package.modules.items():
            sys.modules.setdefault(name, module)
        package.loggers.show()
        if not self._exiting:
            package.exits.show()
        sys.meta_path.extend(_without(package.finders, sys.meta_path))
        package.hidden = False  # not earlier: another thread would import what is on its way

    def find_spec(self, name, path=None, target=None):
        first = sys.meta_path[0] if sys.meta_path else self
        if first is not self and type(first).__name__ == REWRITES:
            # Before pytest's own, which would import single modules of a package anew.
            sys.meta_path[:] = [self, *_without(sys.meta_path, [self])]
        if self._running and not any(package.hidden for package in self._packages):
            return self._leave(name, path, target)
        package = self._found_in.get(name)
        if package is None or not package.hidden:
            return None
        if self._running and self._imported_anew(package):
            return None
        return self._spec(name, package)

    def _leave(self, name, path, target):
        """Whoever goes through the finders misses the next one when this one is taken out: so all are asked
        here. Other threads may go through them, too: then it stays."""
        if len(sys._current_frames()) > 1:
            return None
        sys.meta_path[:] = _without(sys.meta_path, [self])
        for finder in sys.meta_path[:]:
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                return spec
        return None

    def _imported_anew(self, package):
        """Whether the run changes what the import does; then they are as if they had never been imported."""
        together = self._all_needed(package)
        changed = any(_is_changed(each) or _needs_changed(each) for each in together)
        if not (changed or _inputs.are_replaced(self._functions)):
            return False
        while True:  # also those that have what is now outdated
            more = [
                other
                for other in self._packages
                if other.hidden and other not in together and any(each in together for each in other.needs)
            ]
            if not more:
                break
            together += more
        if not all(each.can_be_imported_twice and each.hidden for each in together):
            return False
        for each in together:
            each.hidden = False
        return True

    def _all_needed(self, package):
        found = [package]
        for each in found:
            found += [needed for needed in each.needs if needed.hidden and needed not in found]
        return found

    def _spec(self, name, package):
        """As the module's own, but of a loader that has loaded it already."""
        module = package.modules[name]
        known = _facts(module).get("__spec__")
        loader = _loader(getattr(known, "loader", None))
        loader.proctor = (self, package, module, known)
        spec = ModuleSpec(name, loader, origin=getattr(known, "origin", None))
        if known is not None:
            for fact in ("submodule_search_locations", "cached", "has_location", "loader_state"):
                setattr(spec, fact, getattr(known, fact, None))
        return spec


class _Loaded:
    """A loader, and a subclass of what has really loaded the module."""

    proctor: "tuple" = ()  # type: ignore[type-arg]  # packages, package, module, its own spec

    def create_module(self, spec):
        return self.proctor[2]

    def exec_module(self, module):
        packages, package, module, known = self.proctor
        try:
            module.__spec__ = known
        except Exception:
            pass  # an object of its own kind
        packages._show(package)


def _loader(known):
    kind = type(known)
    if known is not None and not isinstance(known, type):
        try:
            made = type(kind.__name__, (_Loaded, kind), {})
            loader = object.__new__(made)  # type: ignore[var-annotated]
            loader.__dict__.update(vars(known))
            return loader
        except TypeError:
            pass  # of a kind that is not made that way
    return _Loaded()


def _without(finders, others):
    return [finder for finder in finders if not any(finder is other for other in others)]


def _is_one_of(name, names):
    """Whether it is among them or a part of one."""
    while name:
        if name in names:
            return True
        name = name.rpartition(".")[0]
    return False


def _plugins():
    """The names that pytest marks, for all distributions that have a plugin."""
    metadata = sys.modules.get("importlib.metadata") or sys.modules["importlib_metadata"]  # as pytest has it
    names, files = set(), []  # type: ignore[var-annotated]
    for distribution in metadata.distributions():
        entries = [entry for entry in distribution.entry_points if entry.group == "pytest11"]
        names.update(entry.value.partition(":")[0].strip() for entry in entries)
        files += [str(file) for file in distribution.files or ()] if entries else []
    return names.union(sys.modules["_pytest.config"]._iter_rewritable_modules(files))


def _is_changed(package):
    return (
        any(name in sys.modules for name in package.modules)
        or package.inputs.differ()
        or package.loggers.would_differ()
        or any(
            _is_rewritten(package, finder) for finder in sys.meta_path if type(finder).__name__ == REWRITES
        )
        or _is_measured(package)
    )


def _needs_changed(package):
    """Whether somebody has replaced functions of another package, which the run has imported before."""
    return any(not needed.hidden and _inputs.are_replaced(needed.functions) for needed in package.needs)


def _is_rewritten(package, hook):
    marked = getattr(hook, "_must_rewrite", ())
    if any(_is_one_of(name, marked) for name in package.modules):
        return True
    patterns = getattr(hook, "fnpats", ())
    return any(_matches(file, pattern) for pattern in patterns for file in package.files)


def _matches(file, pattern):
    """As pytest sees it: without a slash, a pattern is for the name of a file."""
    return (
        fnmatchcase(file, "*/" + pattern) if "/" in pattern else fnmatchcase(os.path.basename(file), pattern)
    )


def _is_measured(package):
    coverage = sys.modules.get("coverage")
    try:
        current = coverage.Coverage.current() if coverage else None
        if current is None:
            return False
        if current.get_option("run:include"):
            return True
        sources = [
            *(current.get_option("run:source") or ()),
            *(current.get_option("run:source_pkgs") or ()),
        ]
    except Exception:
        return False  # of a version that has no such thing
    tops = {name.partition(".")[0] for name in package.modules}
    if any(source.partition(".")[0] in tops for source in sources):
        return True
    places = [os.path.join(os.path.abspath(source), "") for source in sources]
    return any(file.startswith(place) for file in package.files for place in places if "-packages" in place)

"""Write down which modules a session has imported. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded for
the server and for `proctor watch`: which tests can a change touch, and what takes long to import?

Modules are other people's objects: only their dictionaries are looked at, and nothing of theirs is called.
"""

import os
import sys
from types import ModuleType

INSTALLED = ("/site-packages/", "/dist-packages/")
# What every session of pytest imports itself, and what Python or proctor put there.
USUAL = {
    *("pytest", "py", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli"),
    *("sitecustomize", "usercustomize", "proctor", "proctor_pytest"),
}
WRITING_WORKER = "gw0"  # of xdist: each worker imports all test files, and their controller none
# Whatever a module makes of `__dict__` and `__getattribute__`:
_vars = ModuleType.__dict__["__dict__"].__get__  # type: ignore[index]
_open, _replace, _unlink = open, os.replace, os.unlink  # a test may leave others in their places


class Imports:
    """A plugin of pytest; for others, `write` is enough."""

    def __init__(self, asked, dumps, config=None):
        """`asked`: {"file": to be written, "root": of the project}. `config`: of pytest, if it is one."""
        self._asked, self._dumps, self._config = asked, dumps, config
        self._process, self._here, self._nodes = os.getpid(), os.getcwd(), {}

    def pytest_collectreport(self, report):
        self._nodes[report.nodeid] = None

    def pytest_sessionfinish(self):
        config = self._config
        worker = getattr(config, "workerinput", {}).get("workerid", WRITING_WORKER)
        if worker == WRITING_WORKER and not config.pluginmanager.hasplugin("dsession"):
            base = str(getattr(config, "rootpath", None) or config.rootdir)  # before pytest 7: the latter
            files = [os.path.join(base, node) for node in self._nodes if "::" not in node]
            self.write(files, [plugin for _, plugin in config.pluginmanager.list_name_plugin()])

    def write(self, tests, plugins=()):
        """`tests`: files that tests were loaded from. Does nothing in a fork: it has imported only a part."""
        try:
            if os.getpid() == self._process:
                self._write(tests, plugins)
        except Exception:
            pass  # it makes later answers faster, no more

    def _write(self, tests, plugins):
        roots = self._roots()
        own = {_name(plugin).partition(".")[0] for plugin in plugins}
        modules, packages = {}, set()
        for name, module in list(sys.modules.items()):
            file = _file(module)
            if not file or type(name) is not str:
                continue
            place, _, inside = _split(file)
            if place:
                top = name.partition(".")[0]
                if inside.replace(".", "/").partition("/")[0] == top:  # no other name for it
                    packages.add(top)
            else:
                file = self._below(file, roots)
                if file:
                    modules[name] = file
        found = filter(None, (self._below(file, roots) for file in tests if _is_test_file(file)))
        public = sorted(name for name in packages - own - USUAL if not name.startswith(("_", "pytest_")))
        self._keep({"modules": modules, "packages": public, "tests": list(dict.fromkeys(found))})

    def _roots(self):
        """Two names of the project's directory, and what in it is the interpreter's and not the project's."""
        root, real = (os.path.join(name, "") for name in (self._asked["root"], self._real))
        prefixes = {os.path.join(name, "") for name in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
        return root, real, tuple(name for name in prefixes if name not in (root, real))

    @property
    def _real(self):
        return os.path.realpath(self._asked["root"])

    def _below(self, file, roots):
        """Its path in the project, if it is the project's."""
        root, real, others = roots
        if not file.startswith("/"):
            file = os.path.join(self._here, file)
        if "/." in file or "//" in file:
            file = os.path.normpath(file)
        for place in (real, root):
            if file.startswith(place):
                return "" if file.startswith(others) else real + file[len(place) :]
        return ""

    def _keep(self, record):
        text = self._dumps(record)
        if "\\ud" in text:  # half of a character, which no JSON can have
            record["modules"] = {
                name: file for name, file in record["modules"].items() if _is_text(name) and _is_text(file)
            }
            for part in ("packages", "tests"):
                record[part] = list(filter(_is_text, record[part]))
            text = self._dumps(record)
        fresh = "%s.%d" % (self._asked["file"], self._process)
        try:
            with _open(fresh, "wb") as file:
                file.write(text.encode("ascii"))  # a text file would import its codec
            _replace(fresh, self._asked["file"])
        except OSError:
            _unlink(fresh)


def _file(module):
    """Where it was loaded from; empty for what is no module, or of no file."""
    if not issubclass(type(module), ModuleType):
        return ""
    file = _vars(module).get("__file__")
    return file if type(file) is str else ""


def _name(plugin):
    """Of the module that it is, or that it comes from."""
    space = _vars(plugin) if issubclass(type(plugin), ModuleType) else {"__name__": type(plugin).__module__}
    name = space.get("__name__")
    return name if type(name) is str else ""


def _split(file):
    for place in INSTALLED:
        if place in file:
            return file.partition(place)
    return "", "", ""


def _is_test_file(file):
    name = os.path.basename(file)
    return "." in name and name != "__init__.py"


def _is_text(text):
    try:
        text.encode("utf-8")
    except UnicodeError:
        return False
    return True

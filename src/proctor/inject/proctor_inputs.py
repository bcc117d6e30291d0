"""What an import has read beside files, and whether it would read the same now. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Before it
imports a package, a `conftest.py` may set a variable, replace a function, or put a module into `sys.modules`.
"""

import os
import sys

load = globals()["load"]  # the loader gives it to each file
attributes = load("proctor_freshness").attributes

_Variables = type(os.environ)  # and of os.environb
_values = vars(os.environ)["_data"]  # of both
#: Modules of which functions and classes are replaced, for example by gevent, freezegun and mock.
REPLACED = (
    *("builtins", "datetime", "os", "os.path", "random", "select", "selectors", "shutil", "signal"),
    *("socket", "ssl", "subprocess", "tempfile", "threading", "time", "uuid"),
)
OF_SYS = ("platform", "version_info", "maxsize", "executable")
NOT_IMPORTED_BY_NAME = ("excepthook",)  # pytest replaces it in every run


class Inputs:
    """While it is entered, notes which variables are read and which modules are looked for in vain."""

    def __init__(self):
        self._variables = {}
        self._all = None  # the variables, if somebody went through all of them
        self._missed = set()

    def __enter__(self):
        self._kept = _Variables.__getitem__, _Variables.__iter__
        get, go_through = self._kept

        def noted_get(variables, name):
            key = os.fsencode(name)
            self._variables[key] = _values.get(key)
            return get(variables, name)

        def noted_go_through(variables):
            self._all = dict(_values)
            return go_through(variables)

        _set_methods(noted_get, noted_go_through)
        sys.meta_path.append(self)
        return self

    def __exit__(self, *_):
        _set_methods(*self._kept)
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        self._missed = {name for name in self._missed if name not in sys.modules}

    def find_spec(self, name, path=None, target=None):
        """Finds nothing. It is asked last."""
        self._missed.add(name)

    def differ(self):
        """Whether the import would find something else now."""
        return (
            any(_values.get(key) != value for key, value in self._variables.items())
            or (self._all is not None and self._all != _values)
            or any(name in sys.modules for name in self._missed)
        )


def _set_methods(get, go_through):
    setattr(_Variables, "__getitem__", get)  # noqa: B010
    setattr(_Variables, "__iter__", go_through)  # noqa: B010


def functions(names=REPLACED):
    """Functions and classes of these modules that somebody may replace; with some facts of `sys`."""
    found = {("sys", name): getattr(sys, name, None) for name in OF_SYS}
    for module in names:
        for name, value in attributes(sys.modules.get(module)).copy().items():
            if callable(value) and name not in NOT_IMPORTED_BY_NAME:
                found[module, name] = value
    return found


def are_replaced(before):
    """`before`: an earlier answer of `functions`."""
    now = functions({module for module, _ in before})
    return any(now.get(place, value) is not value for place, value in before.items())

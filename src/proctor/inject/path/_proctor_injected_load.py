"""Load injected files by path: their folder is not on the module path of the tests. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else.
"""

import os
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from types import ModuleType

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@lru_cache(maxsize=None)
def load(path, name=None):
    """The module of a file, once for each: `path` starts at `inject/` and has no ending.

    The ordinary bytecode cache serves it, and it finds this function as its own global `load`.
    """
    name = name or "_" + path.rpartition("/")[2]
    file = "%s/%s.py" % (_HOME, path)
    module = ModuleType(name)
    module.__dict__.update(__file__=file, load=load)
    code = SourceFileLoader(name, file).get_code(name)
    assert code is not None
    exec(code, module.__dict__)
    return module

"""The private name under which proctor's pytest plugin is loaded. PYTEST_DONT_REWRITE

The code is in `proctor_pytest.py` one directory up. Loading it from there keeps pytest's assertion
rewriting away from it and lets the ordinary bytecode cache serve it.
"""

import importlib.util
import os
import sys

_home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_spec = importlib.util.spec_from_file_location(__name__, os.path.join(_home, "proctor_pytest.py"))
assert _spec is not None and _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
sys.modules[__name__] = _module
_spec.loader.exec_module(_module)

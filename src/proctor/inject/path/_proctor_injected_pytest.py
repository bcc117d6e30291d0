"""The private name under which proctor's pytest plugin is loaded. PYTEST_DONT_REWRITE

The code is in `proctor_pytest.py` one directory up. Loading it from there keeps pytest's assertion
rewriting away from it.
"""

import sys

from _proctor_injected_load import load  # type: ignore[import-not-found]

sys.modules[__name__] = load("proctor_pytest", __name__)

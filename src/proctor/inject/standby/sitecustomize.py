"""Let an interpreter wait for its launch, at the very end of its own start-up.

Python imports `sitecustomize` before it begins `-m pytest`. From where this one ends, the process is the same
as after a cold start, down to its stack. It ends as the user's own `sitecustomize` does. Runs in the
interpreter of the tests: Python 3.7 or newer.
"""

import os
import sys

_home = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [_entry for _entry in sys.path if os.path.abspath(_entry) != _home]
sys.path_importer_cache.pop(_home, None)
try:
    from _proctor_injected_load import load  # type: ignore[import-not-found]

    _end = load("proctor_standby").wait()
except BaseException:
    os._exit(70)  # and never go on: that would run all tests
_end()

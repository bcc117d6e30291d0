"""What pytest-benchmark measures. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded where
pytest-benchmark is.
"""

import pytest

MEASURED = ("min", "max", "mean", "stddev", "median")  # by pytest-benchmark, in seconds


class Benchmarks:
    """Where pytest-benchmark is: pins what it measured to the report of the call."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        if call.when != "call" or call.excinfo is not None:
            return
        try:
            measured = getattr(getattr(item, "funcargs", {}).get("benchmark"), "stats", None)
            if measured is not None and measured.stats.rounds:
                numbers = {name: float(getattr(measured.stats, name)) for name in MEASURED}
                numbers.update(rounds=measured.stats.rounds, iterations=measured.iterations)
                outcome.get_result().proctor_benchmark = numbers
        except Exception:
            pass  # another release, or another fixture of that name: a test like any other

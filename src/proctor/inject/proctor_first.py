"""Run the tests first that failed when they last ran. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else.
"""

import pytest


class FailedFirst:
    """Comes after every plugin that selects or sorts. Each part stays in the order that they gave it."""

    def __init__(self, order):
        self.order = order

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        yield
        items[:] = self.order.failed_first(items, lambda item: item.nodeid)

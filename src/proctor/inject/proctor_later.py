"""Run some of the tests once more, or those that an earlier session never began. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded in
every session of a suite after the first. Which tests run is known: nothing is selected again.
"""

import pytest

load = globals()["load"]  # the loader gives it to each file
SELECTING = ("lf", "failedfirst")  # options of pytest that skip whole files, by what failed last


class Later:
    """Comes after every plugin that selects or sorts: a test that is asked for runs, whatever they say."""

    def __init__(self, asked):
        self.asked, self.only = asked, load("proctor_only").Only(asked["only"])
        self.collected = []
        self.chosen = None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config):
        self.set_options(config.option)
        yield

    def set_options(self, option):
        for name in SELECTING:
            if getattr(option, name, False):
                setattr(option, name, False)
        if "maxfail" in self.asked:
            option.maxfail = self.asked["maxfail"]

    def pytest_itemcollected(self, item):
        self.collected.append(item)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        yield
        kept = set(map(id, items))
        left_out = [item for item in self.collected if id(item) not in kept]
        self.chosen = self.only.of(items + left_out, lambda item: item.nodeid)
        items[:] = self.chosen
        self.collected = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session):
        """A conftest.py that was found during collection may have come after us."""
        if self.chosen is not None and hasattr(session, "items"):
            session.items[:] = self.chosen


def join(config, asked):
    """In a worker of xdist, which parses the options itself."""
    later = Later(asked)
    later.set_options(config.option)
    config.pluginmanager.register(later, "_proctor_later")


def plugin_of(asked):
    """What registers it before any other plugin is configured: pytest calls this as soon as it knows ours."""

    def pytest_addoption(pluginmanager):
        pluginmanager.register(Later(asked), "_proctor_later")

    return pytest_addoption

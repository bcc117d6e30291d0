"""Run some of the tests once more, or those that an earlier session never began. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded in
every session of a suite after the first. Which tests run is known: nothing is selected again.
"""

import os

import pytest

load = globals()["load"]  # the loader gives it to each file
_channel = load("proctor_channel")
NAME = "_proctor_later"
VARIABLE = "PROCTOR_ASKED"
SELECTING = ("lf", "failedfirst")  # options of pytest that skip whole files, by what failed last


class Later:
    """Comes after every plugin that selects or sorts: a test that is asked for runs, whatever they say."""

    def __init__(self, asked):
        self.asked, self.only = asked, load("proctor_only").Only(asked["only"])
        self.collected = []
        self.chosen = None

    def set_options(self, option):
        for name in SELECTING:
            if getattr(option, name, False):
                setattr(option, name, False)
        if hasattr(option, "ignore_unknown_dependency"):  # of pytest-dependency: it may have run before
            option.ignore_unknown_dependency = True
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


class Early(Later):
    """The same in a process that knows it before pytest reads the options, by which reports are written."""

    def __init__(self, asked, channel):
        Later.__init__(self, asked)
        self.channel, self.reports = channel, None  # a worker of xdist has no channel
        if asked.get("reports"):
            kind = load("proctor_reports").Reports
            self.reports = kind(asked["reports"], asked.get("session", 2), asked.get("data_lost", False))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config, args):
        if self.reports is not None:
            self.reports.coverage(early_config.known_args_namespace)
            self.reports.arguments(early_config.known_args_namespace, args)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config):
        self.set_options(config.option)
        if self.reports is not None:
            self.reports.stop_watching()
            self.reports.coverage(config.option)
            self.reports.options(config)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session):
        config = session.config
        if config.pluginmanager.hasplugin("dsession"):
            # Workers read the options of the command line for themselves, and a worker may come at any time.
            os.environ[VARIABLE] = _channel.dumps(self.asked)
        yield
        if self.reports is not None:
            self.reports.snapshots(config)
            self._tell(self.reports.notices(config))

    def pytest_sessionfinish(self, session):
        if self.reports is not None:
            self._tell(self.reports.last_notices(session.config))

    def _tell(self, notices):
        if notices and self.channel is not None:
            self.channel.session({"notices": notices})


def join(config, asked):
    """In a worker of xdist that has not the environment of its controller."""
    if not config.pluginmanager.hasplugin(NAME):
        later = Later(asked)
        later.set_options(config.option)
        config.pluginmanager.register(later, NAME)


def plugin_of(asked, channel):
    """What registers it before any other plugin is configured: pytest calls this as soon as it knows ours."""

    def pytest_addoption(pluginmanager):
        pluginmanager.register(Early(asked, channel), NAME)

    return pytest_addoption

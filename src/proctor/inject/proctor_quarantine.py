"""Keep failures of tests in quarantine from stopping the session. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded where
tests are in quarantine. They fail as ever, and every plugin sees it; only what pytest counts for `--maxfail`,
`--stepwise` and its exit status is without them.
"""

import pytest

load = globals()["load"]  # the loader gives it to each file


class Quarantine:
    def __init__(self, config, patterns):
        self.plugins = config.pluginmanager
        self.match = load("proctor_only").Patterns(patterns).match

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report):
        if report.outcome != "failed" or hasattr(report, "wasxfail") or not self.match(report.nodeid):
            yield
            return
        session, stepwise = self.plugins.get_plugin("session"), self.plugins.get_plugin("stepwiseplugin")
        failed, skips = session.testsfailed, getattr(stepwise, "skip", None)
        session.testsfailed = failed - 1  # until pytest counts this one: what it has set, nobody can unset
        if skips is not None:
            stepwise.skip = True  # by one failure
        yield
        session.testsfailed = failed
        if skips is not None:
            stepwise.skip = skips
        controller = self.plugins.get_plugin("dsession")
        if controller is not None and report.outcome == "failed":
            controller.countfailures -= 1  # xdist counts it next

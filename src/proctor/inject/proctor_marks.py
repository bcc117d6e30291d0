"""Time limits that marks give to tests. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded if a
test has a mark `timeout`. Where pytest-timeout is installed the mark is its business.
"""

import pytest

_channel = globals()["load"]("proctor_channel")  # the loader gives `load` to each file
NAME = "timeout"
PLUGINS = ("timeout", "pytest_timeout")  # how pytest-timeout may be registered


def limits(config, items, default):
    """Seconds by test id, of tests that have the mark; 0: no limit. `default` is that of other tests.

    With pytest-timeout, its own limit stands, and not the default. The setup of a test whose mark is
    invalid fails.
    """
    marked = [(item, item.get_closest_marker(NAME)) for item in items]
    marked = [(item, mark) for item, mark in marked if mark is not None]
    if any(map(config.pluginmanager.hasplugin, PLUGINS)):
        return {item.nodeid: 0.0 for item, _ in marked} if default else {}
    found, invalid = {}, {}
    for item, mark in marked:
        try:
            seconds = _seconds(mark)
        except ValueError as error:
            invalid[item.nodeid] = str(error)
            continue
        if seconds is not None:
            found[item.nodeid] = seconds
    if invalid and not config.pluginmanager.hasplugin("_proctor_invalid_marks"):
        config.pluginmanager.register(InvalidMarks(invalid), "_proctor_invalid_marks")
    return found


def _seconds(mark):
    """None if it has no limit but only words on how to keep one; 0 if there should be none."""
    if mark.args:
        given = mark.args[0]
    elif NAME in mark.kwargs:
        given = mark.kwargs[NAME]
    elif mark.kwargs:
        return None
    else:
        raise ValueError("invalid timeout mark without an argument: expected seconds, e.g. 30")
    if given is None:
        return None
    try:
        seconds = float(given)
        valid = seconds >= 0 and not isinstance(given, bool)  # no number is above NaN
    except Exception:  # of any kind: it is an object of the project
        valid = False
    if not valid:
        raise ValueError("invalid timeout mark %s: expected seconds, e.g. 30" % _shown(given))
    return seconds if seconds < _channel.LONGEST else 0.0


def _shown(value):
    try:
        return repr(value)[:200]
    except Exception:
        return "of type %s" % type(value).__name__


class InvalidMarks:
    def __init__(self, messages):
        self.messages = messages

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        message = self.messages.get(item.nodeid)
        if message is not None:
            pytest.fail(message, pytrace=False)

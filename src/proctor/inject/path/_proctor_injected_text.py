"""Add what an old pytest does not print to what it prints: reasons with their tests, and warnings.

Runs in the interpreter of the tests: Python 2.7 or newer, pytest 3.8 or newer, and nothing else. pytest names
no test in its list of skips, and cuts reasons at the width of the terminal. PYTEST_DONT_REWRITE
"""

import json
import os

import pytest

_PATH_VARIABLE = "PROCTOR_PYTHONPATH"  # the user's own PYTHONPATH, to be put back
_TITLE = "more about this session"
_UNICODE = type(b"".decode("ascii"))  # Python 2 has two kinds of text
_EXPLAINED = ("skipped", "xfailed", "xpassed")


_ours = {name: os.environ.get(name) for name in ("PYTHONPATH", _PATH_VARIABLE)}


def _set(variables):
    for name, value in variables.items():
        if value:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)


if _ours[_PATH_VARIABLE] is not None:
    _set({"PYTHONPATH": _ours[_PATH_VARIABLE], _PATH_VARIABLE: None})


def pytest_configure(config):
    if hasattr(config, "workerinput") or hasattr(config, "slaveinput"):
        return
    if getattr(config.option, "dist", "no") != "no":
        _set(_ours)  # old workers of xdist find this file by it, and put theirs back
    recorded = hasattr(config.pluginmanager.hook, "pytest_warning_recorded")
    kind = _WithRecorded if recorded else _WithCaptured
    config.pluginmanager.register(kind(str(config.rootdir)), "_proctor_text")


class _Facts(object):
    def __init__(self, root):
        self.root, self.warnings = root, []

    def pytest_terminal_summary(self, terminalreporter):
        try:
            stats = terminalreporter.stats
            reasons = [self._reason(report) for word in _EXPLAINED for report in stats.get(word, [])]
            lines = [json.dumps(fact) for fact in reasons + self.warnings]
        except Exception:
            return  # what pytest prints itself is still there
        if lines:
            terminalreporter.write_sep("=", _TITLE)
            for line in lines:
                terminalreporter.write_line(line)

    def _reason(self, report):
        fact = {"id": _text(report.nodeid), "collector": getattr(report, "when", "") == "collect"}
        longrepr = report.longrepr
        if hasattr(report, "wasxfail"):
            fact["reason"] = _text(report.wasxfail)
        elif isinstance(longrepr, (tuple, list)) and len(longrepr) == 3:  # (path, line, reason)
            fact["place"] = {"file": self._relative(longrepr[0]), "line": int(longrepr[1] or 0)}
            fact["reason"] = _text(longrepr[2])
        else:
            fact["reason"] = _text(longrepr or "")
        return {"reason": fact}

    def _relative(self, path):
        return _text(os.path.relpath(os.path.join(self.root, str(path)), self.root))

    def _warned(self, warned, when, nodeid):
        try:
            fact = {
                "category": _text(getattr(warned.category, "__name__", warned.category)),
                "message": _text(warned.message),
                "file": _text(warned.filename),
                "line": int(warned.lineno),
                "when": _text(when),
                "test": _text(nodeid),
            }
            self.warnings.append({"warning": fact})
        except Exception:
            pass


class _WithRecorded(_Facts):
    """Since pytest 6.0."""

    def pytest_warning_recorded(self, warning_message, when, nodeid):
        self._warned(warning_message, when, nodeid)


class _WithCaptured(_Facts):
    @pytest.hookimpl(optionalhook=True)  # since pytest 3.8
    def pytest_warning_captured(self, warning_message, when, item):
        self._warned(warning_message, when, getattr(item, "nodeid", ""))


def _text(value):
    """Of any object, as what JSON can carry."""
    if not isinstance(value, _UNICODE):
        try:
            value = str(value)
        except UnicodeError:  # Python 2
            value = value.__unicode__() if hasattr(value, "__unicode__") else repr(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

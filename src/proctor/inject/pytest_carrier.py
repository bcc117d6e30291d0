"""Bring reports from a worker of pytest-xdist to its controller. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded in
workers.
"""

import pytest

_channel = globals()["load"]("proctor_channel")  # the loader gives `load` to each file
cut = _channel.cut


class Carrier:
    """In a worker of xdist: a lone surrogate in a report has no UTF-8, and would cost the whole session."""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_report_to_serializable(self, report):
        outcome = yield
        if report.outcome == "passed" and not report.sections:  # nearly all
            return
        data = outcome.get_result()
        if data is None:
            return
        if report.outcome == "failed" and isinstance(report.longrepr, str) and report.when != "collect":
            # Without an exception, as a strict xpass: the row is made from the text as it is here.
            failure = _channel.exact({"message": cut(report.longrepr)})
            if "exact" in failure:
                data["proctor_facts"] = dict(data.get("proctor_facts") or (), failure=failure)
        outcome.force_result(_encodable(data))


def _encodable(value):
    if isinstance(value, str):
        return _channel.literal(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)([_encodable(item) for item in value])
    return value

"""Reports on their way out of a worker of pytest-xdist. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else.
"""

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:  # this file does without the cost of `typing`
    from typing import Any

    load: Any = None  # loads another injected file; its loader gives each file this function

literal = load("proctor_channel").literal


class Carrier:
    """In a worker of xdist: a lone surrogate in a report has no UTF-8, and would cost the whole session."""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_report_to_serializable(self, report):
        outcome = yield
        if report.outcome == "passed" and not report.sections:  # nearly all
            return
        data = outcome.get_result()
        if data is not None:
            outcome.force_result(encodable(data))


def encodable(value):
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, dict):
        return {encodable(key): encodable(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)([encodable(item) for item in value])
    return value

"""Which test of a plan a result of a report is about.

In pytest's JUnit XML, `tests/test_shop.py::TestCart::test_total` is of the class `tests.test_shop.TestCart`.
"""

from __future__ import annotations

from collections.abc import Iterable

from proctor.wire.reports.id_parts import id_parts
from proctor.wire.reports.junit_names import dotted, shown


class ReportIds:
    """Finds ids by the names that reports have for them. Pure."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = dict.fromkeys(ids)
        self._by_name: dict[str, str | None] = {}  # None: several tests have this name in a report
        for test in self._ids:
            name = report_name(test)
            if name != test:
                self._by_name[name] = None if name in self._by_name else test

    def find(self, name: str) -> str | None:
        """The id; None if no test has this name, or several do."""
        return name if name in self._ids else self._by_name.get(name)


def report_name(test: str) -> str:
    """As `proctor show` calls a test that it reads from JUnit XML: its class and its name."""
    path, names = id_parts(test)
    if not names:
        return test
    return "::".join((shown(".".join([dotted(path), *names[:-1]])), shown(names[-1])))

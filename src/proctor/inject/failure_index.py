"""Collect the failures of a plain pytest session, and print their index at its end. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer. A row is made where the live
exception is, in a worker of xdist too, and travels on the report as one line of text: so it is the same
whatever `--tb` leaves of the exception. A fault of ours costs the index and never the run.
"""

import heapq
import re
import sys

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:  # this file does without the cost of `typing`
    from typing import Any

_OF_SUBTESTS = re.compile("contains [0-9]+ failed subtests?")  # no failure of its own


class First:
    """The first rows in the order of the collection, in whatever order they come; the rest is counted."""

    def __init__(self, most):
        self.most = most
        self.count = 0
        self.heap = []  # the last of them is on top

    def add(self, position, line):
        self.count += 1
        entry = (-position, -self.count, line)
        if len(self.heap) < self.most:
            heapq.heappush(self.heap, entry)
        else:
            heapq.heappushpop(self.heap, entry)

    def lines(self):
        return [line for _, _, line in sorted(self.heap, reverse=True)]


class FailureIndex:
    """`rows` and `exceptions` are the modules `failure_row` and `proctor_pytest`, which came by path."""

    def __init__(self, config, rows, exceptions, most, length):
        self.rows, self.exceptions, self.length = rows, exceptions, length
        self.frames = exceptions.frames_of(config)
        self.is_worker = hasattr(config, "workerinput")
        self.first = First(most)
        self.most = most
        self.items: "Any" = ()
        self.ids = None  # of all tests, in the order of the collection
        self.order = None  # the same as id -> position, once something has failed
        self.uncollected = set()
        self.fault = None

    # Where the live exception is

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        if call.excinfo is not None or call.when == "call":  # a test that passes may fail for that
            report = None if outcome.excinfo else outcome.get_result()
            if report is not None and report.outcome == "failed":
                self._try(self._explain, report, call.excinfo)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        outcome = yield
        report = None if outcome.excinfo else outcome.get_result()
        if report is not None and report.outcome == "failed":
            call = getattr(report, "call", None)
            self._try(self._explain, report, call and call.excinfo, "collect")

    def _explain(self, report, excinfo, phase=""):
        """Pin the two fields to the report that only the exception knows."""
        facts = {}
        if excinfo is not None:
            of = self.exceptions.collect_facts if phase else self.exceptions.exception_facts
            facts = of(excinfo, self.frames)
        message = facts.get("message") or _words(report.longrepr)
        place = facts.get("place") or self._definition(report)
        error = self.rows.error(message, phase or report.when, self.length)
        report.proctor_fields = [error, "%(file)s:%(line)d" % place if place else ""]

    def _definition(self, report):
        file, line = (report.location or (None, None))[:2]
        return {"file": self._from_here(file), "line": line + 1} if file and line is not None else None

    def _from_here(self, name):
        """pytest's names start at the root of the project; the reader may stand elsewhere."""
        path, colons, rest = name.partition("::")
        if path and self.frames.root != self.frames.here:
            path = self.frames.relative("%s/%s" % (self.frames.root, path))
        return path + colons + rest

    # Where the report comes by, which in a worker is on its way to the controller

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        if report.outcome == "failed" and not self._is_of_subtests(report):
            self._try(self._add, report, report.when)
            if self.is_worker and self.fault is not None:
                report.proctor_fault = shown(self.fault)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report):
        if report.outcome == "failed":
            self._try(self._add, report, "collect")

    @staticmethod
    def _is_of_subtests(report):
        return isinstance(report.longrepr, str) and _OF_SUBTESTS.fullmatch(report.longrepr)

    def _add(self, report, phase):
        fault = getattr(report, "proctor_fault", None)
        if fault is not None:
            raise RuntimeError("in a worker: %s" % fault)
        line = getattr(report, "proctor_row", None)
        if line is None:
            line = report.proctor_row = self._row(report, phase)
        if self.is_worker:
            return
        if phase != "collect":
            self.first.add(self._position(report.nodeid), line)
        elif hash(line) not in self.uncollected:  # each worker says it, and doctest says it again
            self.uncollected.add(hash(line))
            self.first.add(-1, line)

    def _row(self, report, phase):
        if not hasattr(report, "proctor_fields"):  # nobody made it: xdist says that a worker has died
            self._explain(report, None, "collect" if phase == "collect" else "")
        name = self._from_here(report.nodeid)
        if getattr(report, "context", None) is not None:
            name += " " + self.exceptions.subtest_name(report)
        return self.rows.encode(self.rows.Row(name, *report.__dict__.pop("proctor_fields")))

    # The order

    def pytest_collection_finish(self, session):
        self.items = session.items

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput["proctor_failures"] = [self.most, self.length]

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):
        self.ids = self.ids or ids

    def _position(self, nodeid):
        if self.order is None:
            ids = self.ids or [item.nodeid for item in self.items]
            self.order = {str(test): position for position, test in enumerate(ids)}
        return self.order.get(nodeid, len(self.order))

    # The end

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config):
        """After pytest's own last line, which it prints when the session finishes."""
        if self.is_worker:
            return
        if self.fault is None:
            self._try(self._print, config)
        if self.fault is not None:
            complain(self.fault)

    def _print(self, config):
        text = self.rows.block(self.first.lines(), max(0, self.first.count - self.most))
        if not text:
            return
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
        file: "Any" = getattr(getattr(reporter, "_tw", None), "_file", sys.stdout)
        file.write(self.rows.printable(text, getattr(file, "encoding", None) or "utf-8"))
        file.flush()

    def _try(self, action, *args):
        if self.fault is None:
            try:
                action(*args)
            except Exception as error:
                self.fault = error


def _words(longrepr):
    """What is said about a failure without an exception."""
    crash = getattr(longrepr, "reprcrash", None)
    return crash.message if crash is not None else str(longrepr or "")


def complain(error):
    try:
        sys.stderr.write("proctor: no failure index: %s\n" % shown(error))
    except Exception:
        pass  # there is nobody left to tell


def shown(error):
    return "%s: %s" % (type(error).__name__, error)

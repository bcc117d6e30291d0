"""Collect the failures of a plain pytest session, and print their index at its end. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer. A row is made where the live
exception is, in a worker of xdist too, and travels on the report as one line of text: so it is the same
whatever `--tb` leaves of the exception. An error in this module loses the index, never the run.
"""

import heapq
import re
import sys

import pytest

load = globals()["load"]  # the loader gives it to each file
COUNT = "contains [0-9]+ failed subtests?"  # pytest's text for a test that fails because its subtests do


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
    """Makes a row of each failure in the process where it happens, and prints all in the first process."""

    def __init__(self, config, most, length):
        self.rows, self.length = load("../failure_row"), length
        self.failures = load("pytest_failures").Failures(config)
        self.frames = self.failures.frames
        self.frames.calls = lambda *_: ()  # a row has no room for the way to the raise
        self.is_worker = hasattr(config, "workerinput")
        self.first = First(most)
        self.most = most
        self.items: "list[pytest.Item]" = []
        self.ids = None  # of all tests, in the order of the collection
        self.order = None  # the same as id -> position, once something has failed
        self.raised = {}  # (node id, phase) -> facts, until the report comes by
        self.with_subtests = set()  # node ids of tests of which a subtest has failed
        self.uncollected = set()
        self.fault = None

    # Where the live exception is

    def pytest_runtest_makereport(self, item, call):
        # Not the first: pytest's unittest part puts the exception there first. And no wrapper, for which
        # every test that passes would pay.
        if call.excinfo is not None:
            self._try(self._raised, item, call)
        elif self.raised:  # an earlier attempt at the same test may have left it
            self.raised.pop((item.nodeid, call.when), None)

    def _raised(self, item, call):
        if not isinstance(call.excinfo.value, (pytest.skip.Exception, pytest.exit.Exception)):
            self.raised[item.nodeid, call.when] = self.failures.raised(call.excinfo)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        outcome = yield
        report = None if outcome.excinfo else outcome.get_result()
        if report is not None and report.outcome == "failed":
            self._try(self._not_collected, report)

    def _not_collected(self, report):
        call = getattr(report, "call", None)
        if call is not None and call.excinfo is not None:
            facts = self.failures.not_collected(call.excinfo)
            report.proctor_row = self._row(report, "collect", facts)

    def _row(self, report, phase, facts):
        facts = facts or self._words(report.longrepr)
        name = self._from_here(report.nodeid)
        if getattr(report, "context", None) is not None:
            name += " " + load("pytest_phases").subtest_name(report)
        place = facts.get("place") or self._definition(report)
        error = self.rows.error(facts["message"], phase, self.length)
        return encoded(self.rows, name, error, place)

    def _words(self, longrepr):
        """Of a failure without an exception, or with one in a process that is gone."""
        crash = getattr(longrepr, "reprcrash", None)
        if crash is None:
            return {"message": str(longrepr or "")}
        facts: "dict[str, object]" = {"message": str(crash.message)}
        if self.frames.is_user(crash.path):
            facts["place"] = {"file": self.frames.relative(crash.path), "line": crash.lineno}
        return facts

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
        facts = self.raised.pop((report.nodeid, report.when), None) if self.raised else None
        if report.outcome == "failed":
            self._try(self._failed, report, facts)
            if self.is_worker and self.fault is not None:
                report.proctor_fault = shown(self.fault)

    def _failed(self, report, facts):
        if getattr(report, "context", None) is not None:
            self.with_subtests.add(report.nodeid)
        elif report.nodeid in self.with_subtests and only_counts(report.longrepr):
            return
        line = self._line(report, report.when, facts)
        if not self.is_worker:
            self.first.add(self._position(report.nodeid), line)

    def pytest_collectreport(self, report):
        if report.outcome == "failed" and not self.is_worker:
            self._try(self._uncollected, report)

    def _uncollected(self, report):
        line = self._line(report, "collect")
        if hash(line) not in self.uncollected:  # each worker reports it, and doctest reports it again
            self.uncollected.add(hash(line))
            self.first.add(-1, line)

    def _line(self, report, phase, facts=None):
        """The row that came with the report, or the one that goes with it from here."""
        fault = getattr(report, "proctor_fault", None)
        if fault is not None:
            raise RuntimeError("in a worker: %s" % fault)
        if not hasattr(report, "proctor_row"):
            report.proctor_row = self._row(report, phase, facts)
        return report.proctor_row

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
        show(text, self.rows, getattr(getattr(reporter, "_tw", None), "_file", sys.stdout))

    def _try(self, action, *args):
        if self.fault is None:
            try:
                action(*args)
            except Exception as error:
                self.fault = error


def only_counts(longrepr):
    """Whether a failure has no text of its own beside the number of failed subtests."""
    return not longrepr or (isinstance(longrepr, str) and re.fullmatch(COUNT, longrepr) is not None)


def conftest_failed(config, error, length):
    """Without its conftest pytest has no session, and its last words come after every hook: so do ours."""
    found = load("pytest_failures").conftest_error(error, config)
    if found is not None:
        import atexit

        rows, (_, name, facts) = load("../failure_row"), found
        row = encoded(rows, name, rows.error(facts["message"], "collect", length), facts.get("place"))
        atexit.register(show, rows.block([row]), rows, sys.stdout)


def encoded(rows, name, error, place):
    return rows.encode(rows.Row(name, error, "%(file)s:%(line)d" % place if place else ""))


def show(text, rows, file):
    file.write(rows.printable(text, getattr(file, "encoding", None) or "utf-8"))
    file.flush()


def complain(error):
    try:
        sys.stderr.write("proctor: no failure index: %s\n" % shown(error))
    except Exception:
        pass  # stderr is closed


def shown(error):
    return "%s: %s" % (type(error).__name__, error)

"""Run a pytest session in forked workers: the coordinator. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded when
workers were asked for. This process collects, as ever. Then it forks workers, hands out groups of tests, and
calls the hooks that log their reports, so that the terminal and every plugin that reports see each test once.
"""

import os
import sys
import uuid
from types import ModuleType

import pytest

load = globals()["load"]  # the loader gives it to each file
_pool, _safety, _channel = load("proctor_pool"), load("fork_safety"), load("proctor_channel")
dumps, USUAL = _channel.dumps, ("setup", "call", "teardown")
TestReport = getattr(pytest, "TestReport", None) or sys.modules["_pytest.reports"].TestReport  # before 7.0
HAS_TIMES = "start" in TestReport.__init__.__code__.co_varnames  # since pytest 8
HAS_ID = hasattr(TestReport, "id")  # a node id with a structure, since pytest 9.2
DIED = "???"  # the phase in which a worker dies, as xdist calls it
MARK = "xdist_group(name): tests of one group run in the same worker, one after the other"


class Broke(Exception):
    """A worker failed, not a test; the facts are those of its own exception."""


class Workers:
    """The plugin: decides whether there will be workers, and lets them run the tests."""

    def __init__(self, asked, channel):
        self.asked, self.channel = asked, channel
        self.count, self.isolate = asked.get("workers", 0), asked.get("isolate", False)
        self.refused = False  # the tests run in one process
        self.watch = _safety.Watch()

    @property
    def option(self):
        return "--isolate" if self.isolate and not self.count else "-n %d" % self.count

    def configure(self, config, reporter):
        """When all plugins are there that may know better."""
        self.reporter = reporter
        if getattr(config.option, "collectonly", False) or _has_xdist_on(config):
            self.refused = True
            self.watch.stop()
            return
        if not config.pluginmanager.hasplugin("xdist"):
            config.addinivalue_line("markers", MARK)
            config.pluginmanager.register(_fixtures(), "_proctor_worker_fixtures")
        self._judge(config, _cannot_fork() or _wants_one_process(config), "")
        self._judge(config, "", self._known(config))
        config.pluginmanager.register(self, "_proctor_workers")

    def _known(self, config, items=()):
        """What speaks against workers, as far as it can be known without forking."""
        return next(iter(self.watch.reads), "") or _safety.unserved(config, items)

    def _judge(self, config, impossible, unsafe):
        """`unsafe` keeps us from forking; xdist can still be used."""
        why = impossible or unsafe
        if not why or self.refused:
            return
        self.refused = True
        self.watch.stop()
        if self.asked.get("parallel") == "fork":
            raise pytest.UsageError("--parallel fork is not possible here: %s" % why)
        if unsafe and self.count and self.asked.get("xdist"):
            self.channel.session({"handed_over": why})
            pytest.exit("pytest-xdist is used instead: %s" % why, 0)
        self.channel.session(
            {"notices": ["%s is not used, the tests run in one process: %s" % (self.option, why)]}
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        if self.refused or (session.testsfailed and not session.config.option.continue_on_collection_errors):
            self.watch.stop()
            return None  # pytest's own loop
        groups = self._groups(session.items, getattr(session.config, "proctor_order", None))
        if groups:
            self._judge(session.config, "", self._known(session.config, session.items))
            self.watch.stop()
            if not self.refused:
                self._judge(session.config, "", _safety.living_threads())
        self.watch.stop()
        if not groups or self.refused:
            return None
        Coordinator(session, self.reporter, self.asked).run(groups, self.isolate)
        return True

    def _groups(self, items, order):
        if self.isolate and (order is None or self.count < 2):
            return [[number] for number in range(len(items))]
        return load("proctor_groups").groups(items, self.count, order, self.isolate)


def _has_xdist_on(config):
    option = config.option
    dist = getattr(option, "dist", "no") != "no" and getattr(option, "tx", None)
    return bool(getattr(option, "numprocesses", None) or dist or getattr(option, "looponfail", False))


def _cannot_fork():
    if not hasattr(os, "fork") or not os.path.isdir(_safety.TASKS):
        return "this system cannot fork processes, or cannot say whether that is safe"
    return ""


def _wants_one_process(config):
    for option, text in (("usepdb", "--pdb"), ("trace", "--trace"), ("benchmark_only", "--benchmark-only")):
        if getattr(config.option, option, False):
            return "%s works in one process only" % text
    return ""


@pytest.fixture(scope="session")
def worker_id(request):
    """The name of the worker, such as gw0; "master" where there are no workers."""
    return getattr(request.config, "workerinput", {}).get("workerid", "master")


@pytest.fixture(scope="session")
def testrun_uid(request):
    """An id that all workers of this run have in common."""
    return getattr(request.config, "workerinput", {}).get("testrunuid") or uuid.uuid4().hex


def _fixtures():
    """Those of pytest-xdist, where that is not installed. In a module, because pytest 9.2 warns of fixtures
    that are methods of an object, and a project may make warnings errors."""
    plugin = ModuleType("_proctor_worker_fixtures")
    plugin.worker_id, plugin.testrun_uid = worker_id, testrun_uid  # type: ignore[attr-defined]
    return plugin


class Coordinator:
    """The client of the pool in this process."""

    def __init__(self, session, reporter, asked):
        self.session, self.config, self.reporter, self.asked = session, session.config, reporter, asked
        self.items = session.items
        self.channel = reporter.channel
        self.channel_fd = self.channel.fd
        self.failed_before = session.testsfailed
        self.uid = uuid.uuid4().hex
        self.count = 1  # workers at a time
        self.starts = {}  # of the worker of that number
        self.base = _base_directory(self.config)
        self.limits, self.default = reporter._limits(self.items), asked.get("test_timeout") or 0.0
        self.facts = ""  # about the worker, with each test
        self.lost_data = set()
        self.broken = None
        self.hooks: "dict[object, object]" = {}
        reporter._listed = self._listed

    def run(self, groups, one_each):
        wanted = self.asked.get("workers") or 1
        self.count = min(wanted, len(groups))
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.showfspath = False  # tests of several files run at the same time
        self.channel.session({"timed": True})
        _notice_benchmarks(self.config, self.items, self.channel)
        self.pool = _pool.Pool(self, groups, self.count, one_each)
        self.pool.work()
        if self.broken is not None:
            raise self.broken
        if self.session.shouldfail:
            raise self.session.Failed(self.session.shouldfail)
        if self.session.shouldstop:
            raise self.session.Interrupted(self.session.shouldstop)

    # In a worker

    def run_job(self, job):
        load("pytest_worker").Work(self, job).run()

    # Of the pool

    def prepare(self, number):
        self.starts[number] = self.starts.get(number, 0) + 1
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()  # type: ignore[union-attr]  # or each worker would write it once more
            except (AttributeError, ValueError, OSError):
                pass
        self.channel.flush()

    def idle(self):
        self.channel.flush()

    def limit(self, test):
        return self.limits.get(self.items[test].nodeid, self.default)

    def stopping(self):
        return bool(self.session.shouldfail or self.session.shouldstop)

    def begun(self, worker, test):
        item = self.items[test]
        self._hooks(item).pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)

    def ended(self, worker, test, facts):
        item = self.items[test]
        self.facts = ',"worker":"%s"' % worker.name
        if type(facts) is tuple:
            reports = passed_reports(item, facts, worker_id=worker.name, item_index=test)
        else:
            reports = map(self._report, facts)
        ihook = self._hooks(item)
        for report in reports:
            if "proctor_facts" in report.__dict__:
                self.reporter._pass_on(report)
            ihook.pytest_runtest_logreport(report=report)
        ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _hooks(self, item):
        """Of its neighbours, too: to find out which conftests see it takes long."""
        try:
            return self.hooks[item.parent]
        except KeyError:
            self.hooks[item.parent] = item.ihook
            return self.hooks[item.parent]

    def _report(self, data):
        return self.config.hook.pytest_report_from_serializable(config=self.config, data=data)

    def died(self, worker, test, death):
        item = self.items[test]
        excused = self.reporter.excused
        if excused is None or not excused(item.nodeid):
            self.pool.board.add_failure(self.count)
        self.facts = ',"worker":"%s","death":%s' % (worker.name, dumps(_channel.clean(death)))
        if death.get("limit"):
            words = "time limit of %g s reached in worker %s" % (death["limit"], worker.name)
        else:
            words = "worker %s ended during the test: %s" % (worker.name, _pool.how(death))
            self._lost_data(worker)
        keywords = dict.fromkeys(item.keywords, 1)
        identity = item.id if HAS_ID else item.nodeid
        more = {"worker_id": worker.name, "item_index": test}
        report = TestReport(identity, item.location, keywords, "failed", words, DIED, **more)
        item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _lost_data(self, worker):
        if self.config.pluginmanager.hasplugin("_cov") and not self.lost_data:
            self.lost_data.add(worker.name)
            words = "coverage of the tests that %s ran before it died is lost" % worker.name
            self.channel.session({"notices": [words]})

    def lost(self, worker, death):
        """The others may go on, but what it had to save is lost."""
        self.broken = Broke("worker %s ended after its last test: %s" % (worker.name, _pool.how(death)))

    def said(self, worker, kind, *message):
        getattr(self, "_said_" + kind)(*message)

    def _said_warning(self, facts, when, nodeid, location):
        warning = load("pytest_worker").warning_of(facts)
        self.config.hook.pytest_warning_recorded.call_historic(
            kwargs={"warning_message": warning, "when": when, "nodeid": nodeid, "location": location}
        )

    def _said_notice(self, words):
        self.channel.session({"notices": [words]})

    def _said_stop(self, shouldfail, shouldstop):
        self.session.shouldfail = self.session.shouldfail or shouldfail
        self.session.shouldstop = self.session.shouldstop or shouldstop

    def _said_exit(self, reason, status):
        raise pytest.exit.Exception(reason, status)

    def _said_interrupted(self, facts):
        error = KeyboardInterrupt()
        error.proctor_facts = facts  # type: ignore[attr-defined]
        raise error

    def _said_broke(self, facts):
        error = Broke(facts["failure"]["message"])
        error.proctor_facts = facts  # type: ignore[attr-defined]
        raise error

    def ending(self, error):
        """Says at once that an interrupt was heard: the workers may need a while to clean up."""
        if isinstance(error, KeyboardInterrupt):
            self.reporter._try(self.channel.session, {"interrupted": {"type": "KeyboardInterrupt"}})

    def parted(self, error, interrupted):
        """The place where the only test was that was running."""
        if (
            isinstance(error, KeyboardInterrupt)
            and not hasattr(error, "proctor_facts")
            and len(interrupted) == 1
        ):
            error.proctor_facts = interrupted[0]  # type: ignore[attr-defined]

    def _listed(self, words):
        """In place of the reporter's own: the keywords of a test, and what else is to be known about it."""
        return type(self.reporter)._listed(self.reporter, words) + self.facts


def passed_reports(item, phases, **more):
    """Reports like those that pytest made in the worker, with `more` attributes."""
    identity = item.id if HAS_ID else item.nodeid
    keywords = dict.fromkeys(item.keywords, 1)
    report = TestReport(identity, item.location, keywords, "passed", None, "setup", **more)
    facts = report.__dict__
    _take_times(facts, phases[0])
    yield report
    for when, times in zip(USUAL[1:], phases[1:]):
        report = TestReport.__new__(TestReport)  # which is faster than to make each from its parts
        report.__dict__.update(facts, when=when, keywords=dict(keywords), sections=[], user_properties=[])
        _take_times(report.__dict__, times)
        yield report


def _take_times(facts, times):
    facts["duration"] = times[0]
    if HAS_TIMES:
        facts["start"], facts["stop"] = times[1], times[2]


def _base_directory(config):
    """In which each worker has its own; None if the plugin for temporary directories is off."""
    factory = getattr(config, "_tmp_path_factory", None)
    return factory.getbasetemp() if factory is not None else None


def _notice_benchmarks(config, items, channel):
    session = getattr(config, "_benchmarksession", None)
    if session is not None and not session.disabled and not session.skip:
        words = "benchmarks are disabled: they cannot be measured in several processes at a time"
        if any("benchmark" in getattr(item, "fixturenames", ()) for item in items):
            channel.session({"notices": [words]})

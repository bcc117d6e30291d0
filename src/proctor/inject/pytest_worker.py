"""Run tests of a pytest session in a process that was forked for that. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. It has all
that the coordinator had when it forked, gets what must be its own, and its hooks report to the coordinator.
"""

import os
import sys
import tempfile
import warnings
from copy import copy

import pytest

load = globals()["load"]  # the loader gives it to each file
_safety = load("fork_safety")
_workers = load("pytest_workers")
USUAL = _workers.USUAL
LOGGING = (
    "pytest_runtest_logstart",
    "pytest_runtest_logreport",
    "pytest_runtest_logfinish",
    "pytest_warning_recorded",
)
WRITERS = ("allure_pytest",)
DETAILS = ("filename", "lineno", "line")
ENDS = ("passed", "failed", "skipped")


class Work:
    """All that a worker does."""

    def __init__(self, coordinator, job):
        self.coordinator, self.job = coordinator, job
        self.session, self.config, self.items = coordinator.session, coordinator.config, coordinator.items
        self.manager = self.config.pluginmanager

    def run(self):
        try:
            self._settle_in()
            for test, following in self.job.tests():
                nextitem = None if following is None else self.items[following]
                if not self._run_test(test, self.items[test], nextitem):
                    break
            self.job.flush()
            self._tear_down()
        except KeyboardInterrupt as error:  # while it waited for the next test
            self._interrupted(error)
            self._tear_down()
        except Exception as error:
            self._broke(error)
        self._save()

    def _run_test(self, test, item, nextitem):
        """Whether there may be another."""
        job, done = self.job, False
        self.sender.begin(item)
        try:
            self.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
            done = True
            job.settle()
        except KeyboardInterrupt as error:
            if not (done and job.is_late):
                self._interrupted(error)
                return False
        except pytest.exit.Exception as error:
            job.tell("exit", str(error.msg), error.returncode)
            return False
        job.tell("ended", test, self.sender.facts(test))
        if self.session.shouldfail or self.session.shouldstop:
            if not self.sender.stopped:
                job.tell("stop", self.session.shouldfail, self.session.shouldstop)
            return False
        return True

    def _interrupted(self, error):
        facts = self.observer.explain("plainly", error, str(error)) or {"type": type(error).__name__}
        self.job.tell("interrupted", facts)
        self.job.flush()  # there is time for fixtures to clean up, now that it is known

    def _tear_down(self):
        """What tests have left because they were the last without knowing it."""
        state = self.session._setupstate
        try:
            if hasattr(state, "teardown_all"):  # before pytest 7
                state.teardown_all()
            else:
                state.teardown_exact(None)
        except (Exception, pytest.exit.Exception, KeyboardInterrupt) as error:
            words = "fixtures of %s could not be torn down: %s: %s"
            self.job.tell("notice", words % (self.job.name, type(error).__name__, error))

    def _broke(self, error):
        failures = load("pytest_failures")
        facts = {"failure": failures.of_session(error, self.config), "traceback": failures.trace(error)}
        self.job.tell("broke", facts)
        self.job.flush()

    # At the start

    def _settle_in(self):
        self._be_worker()
        self._capture_anew()
        _write_whole_lines()
        self._silence_live_logs()
        self._dump_apart()
        self._observe()
        coordinator = self.coordinator
        self.sender = Sender(self.session, self.job, coordinator.failed_before, coordinator.reporter.excused)
        for hook in LOGGING:
            _empty(getattr(self.config.hook, hook))
        self.manager.register(self.observer, "_proctor_observer")
        self.manager.register(self.sender, "_proctor_sender")
        self.sender.armed = True
        coverage = self.manager.get_plugin("_cov")
        if coverage is not None:
            coverage.pid = os.getpid()  # or old releases measure each test by themselves
        benchmarks = getattr(self.config, "_benchmarksession", None)
        if benchmarks is not None:
            benchmarks.disabled = True  # as it does itself in workers of xdist

    def _be_worker(self):
        config, name, coordinator = self.config, self.job.name, self.coordinator
        config.workerinput = {
            "workerid": name,
            "workercount": coordinator.count,
            "testrunuid": coordinator.uid,
            "mainargv": sys.argv,
        }
        config.workeroutput = {}
        values = (name, str(coordinator.count), coordinator.uid)
        os.environ.update(zip(_safety.VARIABLES, values))
        base = coordinator.base
        if base is not None:
            again = coordinator.starts[self.job.number] - 1
            base = base / ("popen-%s-%d" % (name, again) if again else "popen-%s" % name)
            base.mkdir(mode=0o700, exist_ok=True)
            config._tmp_path_factory._basetemp = base
            config.option.basetemp = str(base)

    def _capture_anew(self):
        """The files of the capture that was inherited are those of all workers. Only they are replaced:
        modules that were imported while pytest captured may have kept `sys.stdout`."""
        manager = self.manager.get_plugin("capturemanager")
        if manager is not None and manager._global_capturing is not None:
            manager.suspend_global_capture()
            for capture in (manager._global_capturing.out, manager._global_capturing.err):
                if hasattr(capture, "targetfd"):  # else it captures in memory, or not at all
                    with tempfile.TemporaryFile(buffering=0) as file:
                        os.dup2(file.fileno(), capture.tmpfile.fileno(), inheritable=False)

    def _silence_live_logs(self):
        plugin = self.manager.get_plugin("logging-plugin")
        live = getattr(plugin, "log_cli_handler", None)
        if live is not None:
            import logging

            logging.getLogger().removeHandler(live)
            plugin.log_cli_handler = sys.modules["_pytest.logging"]._LiveLoggingNullHandler()

    def _dump_apart(self):
        """A dump belongs to the process that wrote it."""
        import faulthandler

        if faulthandler.is_enabled():
            faulthandler.enable(file=self.job.dump)

    def _observe(self):
        reporter = self.coordinator.reporter
        reporter.pytest_unconfigure()
        self.manager.unregister(reporter)
        self.observer = load("proctor_pytest", "_proctor_injected_pytest").Observer(self.config)
        self.observer.explain.args, self.observer.excused = reporter.explain.args, reporter.excused
        repeat = self.manager.get_plugin("_proctor_repeat")
        if repeat is not None:
            repeat.observer = self.observer

    # At the end

    def _save(self):
        try:
            self._save_coverage()
        except Exception as error:
            words = "%s could not save its data: %s: %s"
            self.job.tell("notice", words % (self.job.name, type(error).__name__, error))
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass  # a test has closed it, or put something else there

    def _save_coverage(self):
        """Under a name of its own; the coordinator combines all."""
        plugin = self.manager.get_plugin("_cov")
        controller = getattr(plugin, "cov_controller", None)
        if controller is not None and controller.cov is not None:
            os.chdir(controller.topdir)
            controller.cov._warn_no_data = False
            controller.cov.stop()
            controller.cov.save()


def _write_whole_lines():
    """What is shown as it comes is not mixed with what other workers write to the same pipe."""
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            stream.reconfigure(line_buffering=True, write_through=False)  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):
            pass  # something else is there, or nothing


class Sender:
    """In place of everybody who logs reports."""

    def __init__(self, session, job, failed_before, excused):
        """`excused` tells a test in quarantine by its id."""
        self.excused = excused
        self.session, self.config, self.job = session, session.config, job
        self.armed = False  # the warnings of the collection are known
        self.stopped = False  # because the coordinator wants it
        self.reports, self.keywords = [], 0
        self.failed_before = failed_before  # in the collection
        self.usual_size = 0

    def begin(self, item):
        self.reports = []
        self.keywords = len(item.keywords)
        if not self.usual_size:
            (report, _, _) = _workers.passed_reports(item, [(0.0, 0.0, 0.0)] * 3)
            self.usual_size = len(report.__dict__)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        # Of a try that failed, a plugin may make the report of the next one.
        self.reports.append(report if report.outcome in ENDS else copy(report))
        session = self.session
        if report.outcome == "failed" and not hasattr(report, "wasxfail"):
            session.testsfailed += 1
            if self.excused is None or not self.excused(report.nodeid):
                self._count()
        if self.job.stopped and not (session.shouldfail or session.shouldstop):
            session.shouldstop = "stopped"
            self.stopped = True

    def _count(self):
        """The failures of all workers together."""
        failed = self.failed_before + self.job.board.add_failure(self.job.number)
        maxfail = self.config.getvalue("maxfail")
        if maxfail and failed >= maxfail:
            self.session.shouldfail = "stopping after %d failures" % failed
            self.stopped = True
            self.job.board.stop()

    def pytest_warning_recorded(self, warning_message, when, nodeid, location):
        if self.armed:
            self.job.tell("warning", facts_of(warning_message), when, nodeid, location)

    def facts(self, test):
        """Of the test that has ended: the times of a plain one, or all its reports."""
        reports = self.reports
        if len(reports) == 3 and all(map(self._is_plain, reports, USUAL)):
            return tuple([(r.duration, getattr(r, "start", 0.0), getattr(r, "stop", 0.0)) for r in reports])
        return [self._data(report, test) for report in reports]

    def _is_plain(self, report, when):
        facts = report.__dict__
        return (
            len(facts) == self.usual_size
            and type(report) is _workers.TestReport
            and facts["when"] == when
            and facts["outcome"] == "passed"
            and facts["longrepr"] is None
            and type(facts["duration"]) is float
            and not facts["sections"]
            and not facts["user_properties"]
            and len(facts["keywords"]) == self.keywords
        )

    def _data(self, report, test):
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        data.update(worker_id=self.job.name, item_index=test)
        return data


def _empty(hook):
    """Takes all implementations out of a hook, but for those that write a file for each test themselves."""
    for known in hook.get_hookimpls():
        if _safety.package(known.plugin) not in WRITERS:
            hook._remove_plugin(known.plugin)


def facts_of(warning):
    """A warning as plain values."""
    message, category = warning.message, warning.category
    facts = {name: getattr(warning, name, None) for name in DETAILS}
    facts.update(text=str(message), args=None)
    if isinstance(message, Warning):
        facts["args"] = list(message.args)
    if category is not None:
        facts.update(module=category.__module__, name=category.__qualname__)
    return facts


def warning_of(facts):
    """The same in the coordinator, which may not have the class."""
    category = _class(facts.get("module"), facts.get("name"))
    message = facts["text"]
    if facts["args"] is not None:
        message = _made(category, facts["args"], facts["text"])
    return warnings.WarningMessage(message, category, facts["filename"], facts["lineno"], line=facts["line"])


def _class(module, name):
    if name is None:
        return None
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type) and issubclass(found, Warning):
        return found
    return type(name.rpartition(".")[2], (Warning,), {"__module__": module})


def _made(category, args, text):
    try:
        message = category(*args)
        if str(message) == text:
            return message
    except Exception:
        pass  # a class that wants something else
    return Warning(text)

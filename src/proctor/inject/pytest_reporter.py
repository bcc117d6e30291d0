"""Report a pytest session: what it collects, how each test goes, how it ends. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. A test
that passes takes the shortest way through here; what a live exception says is in `pytest_failures`.
"""

import sys
from time import time

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:  # this file does without the cost of `typing`
    from typing import Any

    load: Any = None  # loads another injected file; its loader gives each file this function

_channel, _phases = load("proctor_channel"), load("pytest_phases")
clean, quote = _channel.clean, _channel.quote
UnderWay, USUAL, LONGEST = _phases.UnderWay, _phases.USUAL, _phases.LONGEST
PASSED = '{"name":%s,"status":"pass","proctor":{"keywords":%s,"passed_in":[%de-9,%de-9,%de-9]}}'
CHUNK = 500  # collected tests in one message
MOST_WORDS = 5000


class Observer:
    """Stands where the live exceptions are, in xdist's workers too, and pins plain facts to the reports."""

    def __init__(self, config, channel=None):
        self.config, self.channel = config, channel  # a worker has no channel
        # Not caplog's handler: a test may clear that one, and set its level.
        self.logs = getattr(config.pluginmanager.get_plugin("logging-plugin"), "report_handler", None)
        self.pinned = {}
        self.reported = []  # in a worker of xdist: what waits for the next report to travel with
        self.failures: "Any" = None  # once it is needed

    def _give_up(self, error):
        if self.channel is not None:
            self.channel.give_up(error)

    def _load_failures(self):
        """None if it cannot be loaded, e.g. for lack of a descriptor: pytest's own words must do."""
        if self.failures is None:
            try:
                known = load("pytest_failures")
            except Exception:  # of the import system, which a test may have broken
                return None
            self.failures = known.Failures(self.config)
        return self.failures

    def report(self, text, sources):
        self.reported.append((text, [source.read(size).ljust(size, b"\0") for source, size in sources]))

    def pytest_runtest_makereport(self, item, call):
        # Not the first: pytest's unittest part puts the exception there first.
        excinfo = call.excinfo
        records = self.logs.records if self.logs is not None else None
        if excinfo is None and not records and not self.reported:
            return
        try:
            facts = {}
            if self.reported:
                facts["reported"], self.reported = self.reported, []
            if excinfo is not None and not isinstance(
                excinfo.value, (pytest.skip.Exception, pytest.exit.Exception)
            ):
                failures = self._load_failures()
                if failures is not None:
                    facts["failure"] = failures.of_test(item, excinfo, call.when)
            if records:
                facts["log"] = [_phases.log_record(record) for record in records]
            self.pinned[item.nodeid, call.when] = facts
        except Exception as error:
            self._give_up(error)

    def pytest_assertrepr_compare(self, op, left, right):
        """Look on; what the test prints stays pytest's business."""
        if op == "==":
            try:
                self._load_failures().comparisons.failed(left, right, sys._getframe(1))
            except Exception:
                pass  # without a difference the failure is still reported
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        facts = self.pinned.pop((report.nodeid, report.when), None) if self.pinned else None
        if getattr(report, "context", None) is not None:
            # The values of a subtest do not survive the way to xdist's controller.
            facts = dict(facts or (), subtest=_phases.subtest_name(report))
        if facts:
            report.proctor_facts = facts

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session):
        config = session.config
        if any("::" in arg and ("\\" in arg or " " in arg) for arg in config.args):
            try:
                targets = load("proctor_targets").Targets(config)
                config.pluginmanager.register(targets, "_proctor_targets")
            except Exception as error:
                self._give_up(error)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        outcome = yield
        try:
            report = outcome.get_result()
            call = getattr(report, "call", None)
            if report.failed and call is not None and call.excinfo is not None:
                failures = self._load_failures()
                if failures is not None:
                    report.proctor_facts = failures.not_collected(call.excinfo)
        except Exception as error:
            self._give_up(error)


class Reporter(Observer):
    """Speaks for the session: in the only process, or in xdist's controller."""

    def __init__(self, config, channel):
        Observer.__init__(self, config, channel)
        self.in_session = False
        self.tests = {}  # node id -> UnderWay
        self.quoted = {}
        self.collectors = []
        self.collected = 0
        self.known = set()
        self.started = time()
        self.deselected = 0
        self.traced = getattr(config.option, "tbstyle", "auto") != "no"
        self.is_controller = False  # of xdist
        self.suite = {}
        self.usual_size = 0  # attributes of a report that has no more than every report has

    def report(self, text, sources):
        self.channel.send_files(text, sources)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session):
        """If another plugin ends it here, there was no session, and the status of the process says why."""
        self.in_session = True
        self.is_controller = self.config.pluginmanager.hasplugin("dsession")
        self._try(self._describe, session)

    def _describe(self, session):
        """Said at the start, and at the end again if a test has added to the metadata."""
        suite = {
            "root": str(session.fspath if hasattr(session, "fspath") else session.path),
            "environment": clean(getattr(self.config, "_metadata", {})),
            "cwd": str(self.config.invocation_params.dir),
        }
        if suite != self.suite:
            self.suite = suite
            self.channel.session({"suite": suite})

    def _try(self, action, *args):
        if self.channel.fd >= 0:
            try:
                action(*args)
            except Exception as error:
                self.channel.give_up(error)

    # Collection

    def pytest_collectreport(self, report):
        self._try(self._collected, report)

    def _collected(self, report):
        children = [_child(node) for node in report.result]
        text = str(report.longrepr) if report.longrepr else ""
        self.collectors.append(
            '{"id":%s,"outcome":"%s","children":[%s]%s}'
            % (
                quote(report.nodeid),
                report.outcome,
                ",".join(children),
                ',"longrepr":%s' % quote(text) if text else "",
            )
        )
        self.collected += len(children) + 1
        if self.collected > CHUNK:
            self._flush_collectors()
        if report.failed:
            failure = getattr(report, "proctor_facts", None) or {"message": text.strip().rpartition("\n")[2]}
            error = {"id": report.nodeid, "longrepr": text, "failure": failure}
            self.channel.session({"collection_errors": [error]})

    def _flush_collectors(self):
        if self.collectors:
            facts = '{"collectors":[%s]}' % ",".join(self.collectors)
            self.channel.send('{"status":"error","partial":true,"proctor":%s}' % facts)
            self.collectors = []
            self.collected = 0

    def pytest_deselected(self, items):
        self.deselected += len(items)
        ids = [item.nodeid for item in items]
        self._try(self.channel.session, {"deselected": ids})

    def pytest_collection_finish(self, session):
        self._try(self._collection_finished, session)

    def _collection_finished(self, session):
        self._flush_collectors()
        markers = None
        if getattr(self.config.option, "collectonly", False):
            markers = {
                item.nodeid: sorted({mark.name for mark in item.iter_markers()}) for item in session.items
            }
        if self.is_controller:
            return  # it collects nothing itself
        self._selected([item.nodeid for item in session.items], markers)
        self._ready()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):
        new = [test for test in ids if test not in self.known]
        self.known.update(new)
        if new:
            self._try(self._selected, new, None)
            self._try(self._ready)

    def _selected(self, ids, markers):
        for start in range(0, len(ids), CHUNK):
            part = ids[start : start + CHUNK]
            facts = {"selected": part}
            if markers is not None:
                facts["markers"] = {test: markers[test] for test in part}
            self.channel.session(facts)

    def _ready(self):
        self.channel.session({"collection_ended": time()})

    # Tests

    def pytest_runtest_logstart(self, nodeid, location):
        if self.channel.fd < 0:
            return
        try:
            test = self.tests[nodeid] = UnderWay(nodeid)
            file, line = location[0], location[1]
            self.channel.send(
                '{"name":%s,"status":"error","partial":true,"file":%s,"line":%d}'
                % (test.name, self.quoted.get(file) or self._quoted(file), 0 if line is None else line + 1)
            )
        except Exception as error:
            self.channel.give_up(error)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        if self.pinned:
            Observer.pytest_runtest_logreport(self, report)
        if self.channel.fd < 0:
            return
        try:
            facts = report.__dict__
            test = self.tests.get(report.nodeid)
            if (
                len(facts) == self.usual_size
                and test is not None
                and test.plain
                and facts["outcome"] == "passed"
                and facts["longrepr"] is None
                and type(facts["duration"]) is float
                and not facts["sections"]
                and not facts["user_properties"]
                and facts["when"] == USUAL[len(test.passed)]
            ):  # nearly all
                if not test.passed:
                    test.keywords = self._listed(facts["keywords"])
                test.passed.append(facts["duration"])
                return
            self._note(report, test)
        except Exception as error:
            self.channel.give_up(error)

    def _note(self, report, test):
        """A report of any kind."""
        if self.is_controller:
            self._pass_on(report)
        if test is None:
            test = self.tests[report.nodeid] = UnderWay(report.nodeid)
        if test.keywords == "[]":
            test.keywords = self._listed(report.keywords)
        is_plain = _phases.is_plain(report.__dict__)
        if is_plain:
            self.usual_size = len(report.__dict__)
            if test.plain and report.when == USUAL[len(test.passed)]:
                test.passed.append(report.duration)
                return
        test.spell_out()
        if is_plain and not test.has_subtests:
            test.add_plain(report.when, report.duration)
            return
        status = None
        if hasattr(report, "context") or test.has_subtests:
            # pytest fails a test for its subtests in this hook only; what they count as varies too.
            test.has_subtests = True
            answer = self.config.hook.pytest_report_teststatus(report=report, config=self.config)
            status = str(answer[0])
        test.add(report, status, self.traced)
        if report.when == "???":  # a worker died; nobody will say that the test has finished
            self._finish(report.nodeid)

    def _pass_on(self, report):
        """What a test reported in a worker."""
        import io

        for text, blobs in getattr(report, "proctor_facts", {}).get("reported", ()):
            self.channel.send_files(text, [(io.BytesIO(blob), len(blob)) for blob in blobs])

    def pytest_runtest_logfinish(self, nodeid, location):
        if self.channel.fd < 0:
            return
        try:
            self._finish(nodeid)
        except Exception as error:
            self.channel.give_up(error)

    def _listed(self, words):
        quoted = self.quoted
        return "[%s]" % ",".join([quoted.get(word) or self._quoted(word) for word in words])

    def _quoted(self, word):
        """The words that come with every test, such as the names of files: quoted once."""
        text = self.quoted.get(word)
        if text is None:
            text = quote(word)
            if len(self.quoted) < MOST_WORDS:
                self.quoted[word] = text
        return text

    def _finish(self, nodeid):
        test = self.tests.pop(nodeid, None)
        if test is None:
            return
        if test.plain and len(test.passed) == 3:
            setup, call, teardown = test.passed
            if not -LONGEST < setup + call + teardown < LONGEST:
                setup, call, teardown = map(_phases.took, test.passed)
            text = PASSED % (test.name, test.keywords, setup * 1e9, call * 1e9, teardown * 1e9)
            if self.is_controller:
                self.channel.send(text)
            else:
                self.channel.send_with_next(text)
            return
        test.spell_out()
        if not test.phases:
            return  # interrupted: it stays open
        text, blobs = test.result()
        if blobs or self.is_controller:
            self.channel.send(text, blobs)
        else:
            self.channel.send_with_next(text)

    # The rest of the session

    def pytest_warning_recorded(self, warning_message, when, nodeid):
        category = getattr(warning_message.category, "__name__", str(warning_message.category))
        facts = {
            "category": category,
            "message": str(warning_message.message),
            "file": warning_message.filename,
            "line": warning_message.lineno,
            "when": when,
            "test": nodeid,
        }
        self._try(self.channel.session, {"warnings": [facts]})

    def pytest_internalerror(self, excrepr, excinfo):
        self._try(self._broke, excrepr, excinfo)

    def _broke(self, excrepr, excinfo):
        failures = self._load_failures()
        facts = None if failures is None else failures.raised(excinfo)
        self.channel.session({"internal_error": {"failure": facts, "traceback": str(excrepr)}})

    def pytest_keyboard_interrupt(self, excinfo):
        self._try(self._interrupted, excinfo)

    def _interrupted(self, excinfo):
        value = excinfo.value
        shown = str(getattr(value, "msg", None) or value)
        failures = self._load_failures()
        if failures is None:
            facts = {"type": type(value).__name__, "message": shown}
        else:
            facts = failures.frames.failure(value, value.__traceback__, shown)
        self.channel.session({"interrupted": facts})

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session, exitstatus):
        self._try(self._finish_failed)
        self._try(self.channel.flush)
        yield
        self._try(self._session_finished, session)

    def _finish_failed(self):
        """A hook that breaks pytest between a test's failure and its end does not cost us the failure."""
        for nodeid, test in list(self.tests.items()):
            if not test.plain and test.status == "fail":
                self._finish(nodeid)

    def _session_finished(self, session):
        now = time()
        self._flush_collectors()
        self._describe(session)
        facts = {
            "exit_status": int(session.exitstatus),
            "collected": session.testscollected + self.deselected,
            "duration": now - self.started,
            "created": now,
        }
        status = "pass" if facts["exit_status"] == 0 else "fail"
        self.channel.session({"finished": facts}, status=status, partial=False)


def _child(node):
    location = getattr(node, "location", None)
    if location is None:
        return '{"id":%s,"type":%s}' % (quote(node.nodeid), quote(type(node).__name__))
    line = "null" if location[1] is None else "%d" % location[1]
    return '{"id":%s,"type":%s,"line":%s,"tested":true}' % (
        quote(node.nodeid),
        quote(type(node).__name__),
        line,
    )

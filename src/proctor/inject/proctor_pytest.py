"""Report a pytest session on proctor's control channel: the hooks that pytest finds. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. It must
never change what a test does, prints or exits with: a channel that breaks makes it fall silent.

The session is one result without a name, open (a partial `error`) until the session ends. Each test is a
result of its own: a partial `error` when it starts, closed with the facts of its phases when it ends.
What proctor concludes from the facts is proctor's business. The facts are under the key `proctor`.
"""

import os
import sys
from time import time
from weakref import ref

import pytest

load = globals()["load"]  # the loader gives it to each file
_channel = load("proctor_channel")
clean, cut, dumps, loads, quote, _quote = (
    _channel.clean,
    _channel.cut,
    _channel.dumps,
    _channel.loads,
    _channel.quote,
    _channel._quote,
)

_phases = load("pytest_phases")
USUAL, UnderWay, is_plain, phase_facts = (
    _phases.USUAL,
    _phases.UnderWay,
    _phases.is_plain,
    _phases.phase_facts,
)
log_record, subtest_name, tries = _phases.log_record, _phases.subtest_name, _phases.tries
TestReport = getattr(pytest, "TestReport", None) or sys.modules["_pytest.reports"].TestReport  # before 7.0

INJECTED = "_proctor_injected_pytest"  # the name under which proctor has this loaded
PATH_VARIABLE = "PROCTOR_PYTHONPATH"  # the user's own PYTHONPATH, to be put back
ASKED_VARIABLE = "PROCTOR_ASKED"
CHUNK = 500  # collected tests in one message
FLUSH_SECONDS = 0.5  # until they are reported, even if they are fewer
MOST_WORDS = 5000
GROUP = "xdist_group"  # a mark
LONGEST, _took = _channel.LONGEST, _channel.took
SUMMARISERS = {
    "terminalreporter",
    "runner",
    "pastebin",
    "warnings",
}  # plugins of pytest itself that print a summary
PASSED = '{"name":%s,"status":"pass","proctor":{"keywords":%s,"passed_in":[%de-9,%de-9,%de-9]}}'


def _take_channel():
    channel = _channel.take()
    home = os.path.join(os.path.dirname(os.path.abspath(__file__)), "path")
    if PATH_VARIABLE in os.environ:
        before = os.environ.pop(PATH_VARIABLE)
        if before:
            os.environ["PYTHONPATH"] = before
        else:
            os.environ.pop("PYTHONPATH", None)
        if home in sys.path:  # last, so that it hides nothing; there at all for the workers of xdist
            sys.path.remove(home)
            sys.path.append(home)
    if channel is not None:
        channel.session({"python": sys.version.split()[0], "pytest": pytest.__version__})
    return channel


def _take_request():
    """What somebody asked for beyond a plain run: {"repeat": times, "locals": true, "only": path, …}."""
    request = os.environ.pop(ASKED_VARIABLE, "")
    return loads(request) if request else {}


CHANNEL = _take_channel() if __name__ == INJECTED else None  # elsewhere this file is a library
ASKED = _take_request() if __name__ == INJECTED else {}
if "files" in ASKED:  # before any code of the project is loaded
    load("proctor_files").watch(ASKED["files"])
if "only" in ASKED:
    pytest_addoption = load("proctor_later").plugin_of(ASKED, CHANNEL)
WORKERS = None
if CHANNEL is not None and (ASKED.get("workers") or ASKED.get("isolate")):
    WORKERS = load("pytest_workers").Workers(ASKED, CHANNEL)


@pytest.fixture
def proctor_report(request):
    """Report results and files of parts of this test; does nothing when nobody listens."""
    observer = request.config.pluginmanager.get_plugin("_proctor_reporter")
    observer = observer or request.config.pluginmanager.get_plugin("_proctor_observer")
    send = observer.report if observer else lambda text, sources: None
    return load("proctor_fixture").Report(request.node.nodeid, send)


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config):
    outcome = yield
    if CHANNEL is None or outcome.excinfo is None:
        return
    try:
        failures, value = load("pytest_failures"), outcome.excinfo[1]
        found = failures.conftest_error(value, early_config)
        if found is not None:
            cause, file, facts = found
            error = {"id": file, "longrepr": failures.trace(cause), "failure": facts}
            CHANNEL.session({"collection_errors": [error]})
        elif isinstance(value, Exception) and not isinstance(
            value, (pytest.UsageError, pytest.exit.Exception)
        ):
            _broke(value, early_config)
    except Exception as error:
        CHANNEL.give_up(error)


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if hasattr(config, "workerinput"):
        asked, observer = config.workerinput.get("proctor_asked", {}), Observer(config)
        config.pluginmanager.register(observer, "_proctor_observer")
        config.pluginmanager.register(load("pytest_carrier").Carrier(), "_proctor_carrier")
        if "files" in asked:
            load("proctor_files").watch(asked["files"])
        if "only" in asked:
            load("proctor_later").join(config, asked)
    elif CHANNEL is not None:
        asked, observer = ASKED, Reporter(config, CHANNEL)
        config.pluginmanager.register(observer, "_proctor_reporter")
        if getattr(config.option, "capture", "") == "no":
            _channel.write_lines_at_once()
    else:
        return
    if asked:
        observer.explain.args = (config, asked.get("locals", False))
        if "imports" in asked:
            imports = load("proctor_imports").Imports(asked["imports"], dumps, config)
            config.pluginmanager.register(imports, "_proctor_imports")
        if asked.get("repeat", 1) > 1:
            repeat = load("proctor_repeat").Repeat(asked["repeat"], observer)
            config.pluginmanager.register(repeat, "_proctor_repeat")
        if asked.get("quarantine"):
            quarantine = load("proctor_quarantine").Quarantine(config, asked["quarantine"])
            config.pluginmanager.register(quarantine, "_proctor_quarantine")
            observer.excused = quarantine.match
        if "order" in asked:
            _order(config, asked)
        if "part" in asked:
            part = load("pytest_part").of_part(config, asked["part"])
            config.pluginmanager.register(part, "_proctor_part")
        if WORKERS is not None:
            WORKERS.configure(config, observer)
    if any(map(config.pluginmanager.hasplugin, ("benchmark", "pytest_benchmark.plugin"))):
        config.pluginmanager.register(load("pytest_benchmarks").Benchmarks(), "_proctor_benchmarks")


def _order(config, asked):
    root = getattr(config, "rootpath", None) or config.rootdir
    try:
        config.proctor_order = load("proctor_order").Order(asked["order"], root, config.invocation_params.dir)
    except (OSError, ValueError):
        return  # a worker on another machine, for instance: the tests run in their usual order
    if config.proctor_order.failed and "only" not in asked:  # else the tests that are left have their order
        first = load("proctor_first").FailedFirst(config.proctor_order)
        config.pluginmanager.register(first, "_proctor_first")


@pytest.hookimpl(tryfirst=True)
def pytest_internalerror(excinfo):
    """Of the module, because a hook may break before there is a reporter."""
    if CHANNEL is not None:
        _broke(excinfo.value)


def _broke(value, config=None):
    """The session itself failed, not a test."""
    if CHANNEL is None or CHANNEL.fd < 0:
        return
    try:
        failures, facts = load("pytest_failures"), getattr(value, "proctor_facts", None)  # of a worker
        if facts is None:
            facts = {"failure": failures.of_session(value, config), "traceback": failures.trace(value)}
    except Exception:  # for lack of a descriptor, for instance
        facts = {
            "failure": {"type": type(value).__name__, "message": "%s: %s" % (type(value).__name__, value)}
        }
    try:
        CHANNEL.session({"internal_error": facts})
    except Exception as error:
        CHANNEL.give_up(error)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_unconfigure(config):
    outcome = yield
    if outcome.excinfo is not None:
        _broke(outcome.excinfo[1], config)
    reporter = config.pluginmanager.get_plugin("_proctor_reporter")
    if reporter is not None and not reporter.in_session and CHANNEL is not None:
        # --version, --fixtures and their like: pytest had no session, and that is not a crash.
        CHANNEL.session({"finished": {"exit_status": None}}, status="info", partial=False)


class NoRecords:
    records = ()


class Quoted(dict):  # type: ignore[type-arg]  # which Python 3.7 does not know
    """JSON strings of the words that come with every test, such as the names of files: made once."""

    def __missing__(self, word):
        text = quote(word)
        if len(self) < MOST_WORDS:
            self[word] = text
        return text


class Observer:
    """Stands where the live exceptions are, in xdist's workers too, and pins plain facts to the reports."""

    def __init__(self, config, channel=None):
        self.config, self.channel = config, channel  # a worker has no channel
        # Not caplog's handler: a test may clear that one, and set its level.
        self.logs = getattr(config.pluginmanager.get_plugin("logging-plugin"), "report_handler", None)
        # (node id, phase) -> facts, until the report comes by. In a worker of xdist also None -> what a test
        # has reported, which travels with the next report.
        self.pinned = {}
        self.excused = None  # tells a test in quarantine by its id
        self.explain = _channel.Explain("pytest_failures", config)
        self._watch()

    def _give_up(self, error):
        if self.channel is not None:
            self.channel.give_up(error)

    def report(self, text, sources):
        blobs = [source.read(size).ljust(size, b"\0") for source, size in sources]
        self.pinned.setdefault(None, []).append((text, blobs))

    def _watch(self):
        """See every phase when its report is made. A hook could do this, but calling one for each phase takes
        pytest longer than most of what we do for a test that passes."""
        self.instead = self.made = vars(TestReport).get("from_item_and_call")
        if not isinstance(self.made, classmethod):
            return  # a plugin has put something else there: what pytest itself writes must be enough
        make, config, logs, pinned = self.made.__func__, self.config, self.logs or NoRecords, self.pinned

        def from_item_and_call(cls, item, call):
            if (call.excinfo is not None or logs.records or pinned) and item.config is config:
                self._pin(item, call)
            return make(cls, item, call)

        TestReport.from_item_and_call = self.instead = classmethod(from_item_and_call)

    def pytest_unconfigure(self):
        if vars(TestReport).get("from_item_and_call") is self.instead:
            TestReport.from_item_and_call = self.made

    def _pin(self, item, call):
        if call.when not in USUAL:
            return  # pytest-forked makes up an exception for a process that died
        try:
            excinfo, records = call.excinfo, self.logs.records if self.logs is not None else None
            # What an earlier attempt at this test has left is not part of this one.
            before, facts = self.pinned.pop((item.nodeid, call.when), None), {}
            if before and ("mark" in before or "hidden" in before):
                facts["hidden"] = tries("hidden", before, call.when, call)
            if None in self.pinned:
                facts["reported"] = self.pinned.pop(None)
            if excinfo is not None and not isinstance(
                excinfo.value, (pytest.skip.Exception, pytest.exit.Exception)
            ):
                facts["failure"] = self.explain("of_test", item, excinfo, call.when)
                facts["mark"] = ref(call), getattr(call, "duration", 0.0)
            if records:
                facts["log"] = [log_record(record) for record in records]
            if facts:
                self.pinned[item.nodeid, call.when] = facts
        except Exception as error:
            self._give_up(error)

    def pytest_assertrepr_compare(self, op, left, right):
        """Look on; what the test prints stays pytest's business."""
        if op == "==":
            try:
                self.explain("compared", left, right, sys._getframe(1))
            except Exception:
                pass  # without a difference the failure is still reported
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        facts = self.pinned.pop((report.nodeid, report.when), None) if self.pinned else None
        if facts:
            facts.pop("mark", None)
        if getattr(report, "context", None) is not None:
            # The values of a subtest do not survive the way to xdist's controller.
            facts = dict(facts or (), subtest=subtest_name(report))
        if facts:
            report.proctor_facts = facts
        elif "proctor_facts" in report.__dict__:  # it was an attempt; a plugin has made the next one of it
            del report.proctor_facts

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session):
        config = session.config
        if any("::" in arg and ("\\" in arg or " " in arg) for arg in config.args):
            try:
                targets = load("proctor_targets").Targets(config)
                config.pluginmanager.register(targets, "_proctor_targets")
            except Exception as error:
                self._give_up(error)

    def pytest_collection_finish(self, session):
        """In a worker, which reports no limits, but has the tests whose marks are invalid."""
        self._limits(session.items)

    def _limits(self, items):
        """Time limits that marks give to tests."""
        if not _has_limits(items):
            return {}
        return load("proctor_marks").limits(self.config, items, ASKED.get("test_timeout"))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        outcome = yield
        try:
            report = outcome.get_result()
            call = getattr(report, "call", None)
            if report.failed and call is not None and call.excinfo is not None:
                report.proctor_facts = self.explain("not_collected", call.excinfo, collector.nodeid)
        except Exception as error:
            self._give_up(error)


class Reporter(Observer):
    """Speaks for the session: in the only process, or in xdist's controller."""

    def __init__(self, config, channel):
        Observer.__init__(self, config, channel)
        self.in_session = False
        self.tests = {}  # node id -> UnderWay
        self.quoted = Quoted()
        self.collectors = []
        self.collected = 0
        self.known = set()
        self.started = self.flushed = time()
        self.deselected = 0
        self.failed = 0  # reports that pytest counts as failures, collection errors among them
        self.broken = 0  # of those, collection errors
        self.setup_only = getattr(config.option, "setuponly", False)  # pytest itself calls no test
        self.traced = getattr(config.option, "tbstyle", "auto") != "no"
        self.is_controller = False  # of xdist
        self.root = str(getattr(config, "rootpath", None) or config.rootdir)
        self.here = str(config.invocation_params.dir)
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
        maxfail = self._maxfail()
        if maxfail:
            suite["maxfail"] = maxfail
        if suite != self.suite:
            self.suite = suite
            self.channel.session({"suite": suite})

    def _maxfail(self):
        """Failures after which pytest stops."""
        option = self.config.option
        limits = [getattr(option, "maxfail", 0)]
        if getattr(option, "stepwise", False):
            limits.append(2 if getattr(option, "stepwise_skip", False) else 1)
        return min(filter(None, limits), default=0)

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
        longrepr = ',"longrepr":%s' % quote(text) if text else ""
        facts = quote(report.nodeid), report.outcome, ",".join(children), longrepr
        self.collectors.append('{"id":%s,"outcome":"%s","children":[%s]%s}' % facts)
        self.collected += len(children) + 1
        if self.collected > CHUNK or time() > self.flushed + FLUSH_SECONDS:
            self._flush_collectors()
        if report.failed:
            self.failed += 1
            self.broken += 1
            failure = getattr(report, "proctor_facts", None) or {"message": text.strip().rpartition("\n")[2]}
            error = {"id": report.nodeid, "longrepr": text, "failure": failure}
            self.channel.session({"collection_errors": [error]})
        elif report.skipped:
            self.channel.session({"skipped": [self._skipped(report)]})

    def _skipped(self, report):
        """A module or package that skips itself: pytest counts it, though it has no test."""
        facts = {"id": report.nodeid, "reason": str(report.longrepr or "")}
        if isinstance(report.longrepr, (tuple, list)) and len(report.longrepr) == 3:  # (path, line, reason)
            path, line, facts["reason"] = report.longrepr
            facts["place"] = {"file": _channel.relative(str(path), self.root), "line": line}
        return facts

    def _flush_collectors(self):
        if self.collectors:
            facts = '{"collectors":[%s]}' % ",".join(self.collectors)
            self.channel.send('{"status":"error","partial":true,"proctor":%s}' % facts)
            self.collectors = []
            self.collected = 0
            self.flushed = time()

    def pytest_deselected(self, items):
        self.deselected += len(items)
        self._try(self.channel.session, {"deselected": [item.nodeid for item in items]})

    def pytest_collection_finish(self, session):
        self._try(self._collection_finished, session)

    def _collection_finished(self, session):
        self._flush_collectors()
        markers, groups = None, {}
        if getattr(self.config.option, "collectonly", False):
            markers = {
                item.nodeid: sorted({mark.name for mark in item.iter_markers()}) for item in session.items
            }
            groups = self._groups([item for item in session.items if GROUP in markers[item.nodeid]])
        if self.is_controller:
            return  # it collects nothing itself
        limits = self._limits(session.items)
        if limits:
            self.channel.session({"limits": limits})
        self._selected([item.nodeid for item in session.items], markers, groups)

    @staticmethod
    def _groups(marked):
        """Tests that stay together wherever they run, by the name of their group."""
        if not marked:
            return {}
        group_name = load("proctor_groups").group_name
        return {item.nodeid: group_name(item) for item in marked}

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        if ASKED:
            node.workerinput["proctor_asked"] = ASKED

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):
        new = [test for test in ids if test not in self.known]
        self.known.update(new)
        if new:
            self._try(self._selected, new, None, {})

    def _selected(self, ids, markers, groups):
        for start in range(0, len(ids), CHUNK):
            part = ids[start : start + CHUNK]
            if markers is None:
                quoted = ",".join(map(quote, part))
                self.channel.send('{"status":"error","partial":true,"proctor":{"selected":[%s]}}' % quoted)
            else:
                facts = {"selected": part, "markers": {test: markers[test] for test in part}}
                facts["groups"] = {test: groups[test] for test in part if test in groups}
                self.channel.session(facts)
        self.channel.session({"collection_ended": time()})

    # Tests

    def pytest_runtest_logstart(self, nodeid, location):
        if self.channel.fd < 0:
            return
        try:
            before = self.tests.get(nodeid) if self.tests else None
            test = self.tests[nodeid] = UnderWay(nodeid)
            if before is not None:
                test.follow(before)
            file, line = location[0], location[1]
            self.channel.send(
                '{"name":%s,"status":"error","partial":true,"file":%s,"line":%d}'
                % (test.name, self.quoted[file], 0 if line is None else line + 1)
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
        plain = is_plain(report.__dict__)
        if plain:
            self.usual_size = len(report.__dict__)
            if report.when == USUAL[len(test.passed)]:
                test.passed.append(report.duration)
                return
        test.spell_out()
        if plain and not test.has_subtests:
            test.add_plain(report.when, report.duration)
            return
        if report.outcome == "failed" and not hasattr(report, "wasxfail"):
            self.failed += not (self.excused and self.excused(report.nodeid))
        status = None
        if hasattr(report, "context") or test.has_subtests:
            # pytest fails a test for its subtests in this hook only; what they count as varies too.
            test.has_subtests = True
            answer = self.config.hook.pytest_report_teststatus(report=report, config=self.config)
            status = str(answer[0])
        facts = phase_facts(report, self.root, self.here)
        test.benchmark = report.__dict__.pop("proctor_benchmark", None) or test.benchmark
        if not self.is_controller:
            report.__dict__.pop("proctor_facts", None)  # told; a plugin may report the next attempt with it
        test.add(report, facts, status, self.traced)
        if report.when == "???":  # a worker died; nobody will say that the test has finished
            self._finish(report.nodeid)

    def _pass_on(self, report):
        """What a test reported in a worker."""
        import io

        for text, blobs in getattr(report, "proctor_facts", {}).get("reported", ()):
            self.channel.send_files(text, [(io.BytesIO(blob), len(blob)) for blob in blobs])

    def pytest_runtest_logfinish(self, nodeid):
        if self.channel.fd < 0:
            return
        try:
            self._finish(nodeid)
        except Exception as error:
            self.channel.give_up(error)

    def _listed(self, words):
        return "[%s]" % ",".join(map(self.quoted.__getitem__, words))

    def _finish(self, nodeid, final=False):
        test = self.tests.pop(nodeid, None)
        if test is None:
            return
        if test.plain and len(test.passed) == 3:
            setup, call, teardown = test.passed
            if not -LONGEST < setup + call + teardown < LONGEST:
                setup, call, teardown = map(_took, test.passed)
            text = PASSED % (test.name, test.keywords, setup * 1e9, call * 1e9, teardown * 1e9)
            if self.is_controller:
                self.channel.send(text)
            else:
                self.channel.send_with_next(text)
            return
        test.spell_out()
        if not test.phases:
            return  # interrupted: it stays open
        if final and test.rerun:
            test.status = "fail"  # it was not run again
        elif test.rerun or not (test.called or final or self.setup_only):
            # A plugin that runs tests again has hidden this attempt: the next one counts.
            self.tests[nodeid] = test
            return
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

    def pytest_keyboard_interrupt(self, excinfo):
        self._try(self._interrupted, excinfo)

    def _interrupted(self, excinfo):
        value = excinfo.value
        shown = str(getattr(value, "msg", None) or value)
        facts = getattr(value, "proctor_facts", None) or self.explain("plainly", value, shown)
        self.channel.session({"interrupted": facts or {"type": type(value).__name__, "message": shown}})

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session, exitstatus):
        self._try(self._finish_rest)
        self._try(self.channel.flush)
        self._watch_summary()
        explained = self._explained(session)
        outcome = yield
        if outcome.excinfo is not None and not isinstance(outcome.excinfo[1], pytest.exit.Exception):
            _broke(outcome.excinfo[1], self.config)
        by_tests = explained.end(session) if explained else None
        self._try(self._session_finished, session, by_tests)

    def _explained(self, session):
        """Watches an exit status that is not 0."""
        if session.exitstatus == 0 and not self.failed:  # nearly all
            return None
        try:
            return load("proctor_status").Explained(session, self.failed, self.broken)
        except Exception:  # for lack of a descriptor, for instance
            return None

    def _watch_summary(self):
        """What plugins print after the tests is reported, if there are such plugins."""
        try:
            printers = self.config.hook.pytest_terminal_summary.get_hookimpls()
            if self.channel.fd >= 0 and any(known.plugin_name not in SUMMARISERS for known in printers):
                summary = load("proctor_summary").Summary(self.config, self.channel.session)
                self.config.pluginmanager.register(summary, "_proctor_summary")
        except Exception:
            pass  # for lack of a descriptor, for instance: what they print is still in the output

    def _finish_rest(self):
        """A hook that breaks pytest between a test's failure and its end does not cost us the failure; and a
        test of which no attempt was shown has no other end."""
        for nodeid, test in list(self.tests.items()):
            if not test.plain and (test.status == "fail" or test.rerun or not test.called):
                self._finish(nodeid, final=True)

    def _session_finished(self, session, by_tests):
        now = time()
        self._flush_collectors()
        self._describe(session)
        if session.exitstatus == 0 and not self.failed:
            by_tests = 0
        if session.testsfailed != self.failed:  # a coverage limit, for instance
            by_tests = None
        facts = {
            "exit_status": int(session.exitstatus),
            "collected": session.testscollected + self.deselected,
            "duration": _took(now - self.started),
            "created": _took(now),
            "by_tests": by_tests if by_tests is None else int(by_tests),
        }
        status = "pass" if facts["exit_status"] == 0 else "fail"
        self.channel.session({"finished": facts}, status=status, partial=False)


def _has_limits(items):
    """Whether one of the tests has a mark `timeout`: most have no marks, and the same parent as the last."""
    parent = None
    for item in items:
        if item.own_markers and _is_limited(item):
            return True
        if item.parent is not parent:
            parent = node = item.parent
            while node is not None:
                if node.own_markers and _is_limited(node):
                    return True
                node = node.parent
    return False


def _is_limited(node):
    return any(mark.name == "timeout" for mark in node.own_markers)


def _child(node):
    location, tested = getattr(node, "location", None), ""
    if location is not None:
        tested = ',"line":%s,"tested":true' % ("null" if location[1] is None else location[1])
    kind = type(node).__name__
    kind = '"Function"' if kind == "Function" else quote(kind)  # nearly all
    return '{"id":%s,"type":%s%s}' % (quote(node.nodeid), kind, tested)

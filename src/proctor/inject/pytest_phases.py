"""The phases of a pytest test, as they are reported. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded at
the start, because a test may leave nothing to load it with.
"""

load = globals()["load"]  # the loader gives it to each file
_channel = load("proctor_channel")
clean, cut, dumps, quote, _quote = (
    _channel.clean,
    _channel.cut,
    _channel.dumps,
    _channel.quote,
    _channel._quote,
)
_took = _channel.took
USUAL = ["setup", "call", "teardown", ""]  # none comes after these
ENDS = ("passed", "failed", "skipped")  # others are words of plugins that run a test again


class UnderWay:
    """A test that has begun, and its phases so far.

    While all of them are the usual ones and passed, as in most tests, only their durations are kept. After
    `spell_out`, each phase is JSON, or (when, duration) if it passed and has nothing else to report.
    """

    __slots__ = (
        "benchmark",
        "called",
        "files",
        "has_subtests",
        "keywords",
        "name",
        "passed",
        "phases",
        "plain",
        "rerun",
        "status",
        "tries",
    )

    def __init__(self, nodeid):
        self.name = _quote(nodeid) if nodeid.isascii() else quote(nodeid)
        self.keywords = "[]"
        self.passed = []
        self.plain = True

    def spell_out(self):
        """From here on it is a test with phases of any kind."""
        if self.plain:
            self.plain = self.has_subtests = False
            self.benchmark = None
            self.phases = list(zip(USUAL, map(_took, self.passed)))
            self.files, self.status = [], "pass"
            self.tries, self.rerun = [], ""  # earlier ones; the phase for which a plugin wants another
            self.called = len(self.passed) > 1
            self.passed = USUAL[:3]  # so that no phase is the next of the usual ones

    def follow(self, before):
        """It has begun once more, and nobody has seen the end of it before."""
        before.spell_out()
        self.spell_out()
        before.end_try()
        self.tries, self.keywords = before.tries, before.keywords

    def end_try(self, again="setup"):
        """Another attempt at the same test: the last one counts. `again` is the phase that it begins with."""
        if self.rerun:
            self.tries += tries("reported", self.phases)
        self.phases = self.phases[: again == "call"]
        self.files, self.status, self.benchmark, self.rerun = [], "pass", None, ""

    def begin(self, when, outcome="passed"):
        if self.phases and (when == "setup" or when == self.rerun):
            self.end_try(when)
        if outcome not in ENDS:
            self.rerun = when
        ends = outcome in ("failed", "skipped") or (when == "call" and outcome == "passed")  # not `rerun`
        self.called = self.called or ends

    def add(self, report, facts, status=None, traced=True):
        if status is not None:
            facts["status"] = status
        if not traced:
            facts.pop("traceback", None)
        self.begin(report.when, report.outcome)
        self.tries += facts.pop("hidden", ())
        if facts["outcome"] == "failed":
            self.status = "fail"
        elif facts["outcome"] == "skipped" and self.status == "pass":
            self.status = "skip"
        _channel.lighten(facts, report.when.strip("?") or "crash", self.files)
        properties = getattr(report, "user_properties", None)
        if report.when == "teardown" and properties:
            facts["user_properties"] = _properties(properties)
        self.phases.append(dumps(clean(facts)))

    def add_plain(self, when, duration):
        self.begin(when)
        self.phases.append((when, _took(duration)))

    def result(self):
        """The message that closes it, and the contents of its files."""
        phases = [
            phase if isinstance(phase, str) else '{"when":"%s","outcome":"passed","duration":%r}' % phase
            for phase in self.phases
        ]
        measured = ',"benchmark":' + dumps(clean(self.benchmark)) if self.benchmark else ""
        if self.tries:
            measured += ',"tries":' + dumps(clean(self.tries))
        facts = '{"keywords":%s,"phases":[%s]%s}' % (self.keywords, ",".join(phases), measured)
        files = [{"name": name, "length": len(data)} for name, data in self.files]
        listed = ',"files":' + dumps(files) if files else ""
        text = '{"name":%s,"status":"%s","proctor":%s%s}' % (self.name, self.status, facts, listed)
        return text, b"".join(data for _, data in self.files)


def tries(method, *args):
    try:
        return getattr(load("proctor_tries"), method)(*args)
    except Exception:  # for lack of a descriptor, for instance: the try that counts is reported
        return []


def is_plain(facts):
    """Whether a phase passed and has nothing else to report: nearly all do."""
    return (
        facts.get("outcome") == "passed"
        and not facts.get("sections")
        and not facts.get("user_properties")
        and facts.get("longrepr") is None
        and type(facts.get("duration")) is float
        and "wasxfail" not in facts
        and "proctor_facts" not in facts
        and "proctor_benchmark" not in facts
        and "context" not in facts  # of a subtest
        and "node" not in facts  # xdist's worker, which pytest names in the text of every phase
    )


def phase_facts(report, root, here):
    facts = {
        "when": report.when,
        "outcome": report.outcome,
        "duration": _took(getattr(report, "duration", 0.0)),
    }
    if hasattr(report, "wasxfail"):
        facts["wasxfail"] = str(report.wasxfail)
    if getattr(report, "context", None) is not None:
        facts["subtest"] = subtest_name(report)
    longrepr = report.longrepr
    text = report.longreprtext
    if text:
        facts["longrepr"] = text
    if longrepr is not None:
        if isinstance(longrepr, tuple) and len(longrepr) == 3:
            facts["reason"] = str(longrepr[2])
        crash = getattr(longrepr, "reprcrash", None)
        if crash is not None:
            facts["crash"] = _location(crash)
            if report.outcome == "failed":  # in case that nobody saw the exception
                facts["failure"] = _crash_facts(crash, root, here)
            try:
                entries = longrepr.reprtraceback.reprentries
                facts["traceback"] = [_location(entry.reprfileloc) for entry in entries]
            except AttributeError:
                pass  # --tb=native and its like keep no entries
    for title, text in report.sections:
        for stream in ("stdout", "stderr"):
            if title == "Captured %s %s" % (stream, report.when):
                facts[stream] = text
    if isinstance(longrepr, str) and report.outcome == "failed":  # without an exception
        facts["failure"] = _channel.exact({"message": cut(longrepr)})
    pinned = getattr(report, "proctor_facts", None)
    if pinned:
        facts.update((key, value) for key, value in pinned.items() if value and key != "reported")
    return facts


def _crash_facts(crash, root, here):
    facts = {"message": cut(str(crash.message))}
    if not _channel.relative(str(crash.path), root).startswith("../"):
        facts["place"] = {"file": _channel.relative(str(crash.path), here), "line": crash.lineno}
    return _channel.exact(facts)


def _location(place):
    return {"path": str(place.path), "lineno": place.lineno, "message": cut(str(place.message))}


def subtest_name(report):
    describe = getattr(report, "_sub_test_description", None) or getattr(report, "sub_test_description", None)
    return str(describe()) if callable(describe) else str(report.context)


def _properties(properties):
    try:
        facts = [{str(name): value} for name, value in properties]
        dumps(facts)
        return facts
    except (TypeError, ValueError, OverflowError):
        return None


def log_record(record):
    facts = dict(record.__dict__)
    message = facts.pop("message", None)  # as it was at the time: the arguments may have changed since
    facts["msg"] = record.getMessage() if message is None else message
    facts["args"] = None
    facts["exc_info"] = None
    return {clean(str(name)): _cleaned(value) for name, value in facts.items()}


def _cleaned(value):
    try:
        return clean(value)
    except Exception:  # no text of its own, or a part of itself
        return "<unprintable: %s>" % type(value).__name__

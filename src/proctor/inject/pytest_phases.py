"""A test of pytest that is running: its phases so far, as JSON. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:  # this file does without the cost of `typing`
    from typing import Any

    load: Any = None  # loads another injected file; its loader gives each file this function

_channel = load("proctor_channel")
clean, cut, dumps, lighten = _channel.clean, _channel.cut, _channel.dumps, _channel.lighten
quote = _channel.quote
LONGEST = 1e10  # seconds
USUAL = ["setup", "call", "teardown", ""]  # none comes after these


class UnderWay:
    """A test that has begun, and its phases so far.

    While all of them are the usual ones and passed, as in most tests, only their durations are kept. After
    `spell_out`, each phase is JSON, or (when, duration) if it passed and has nothing else to report.
    """

    __slots__ = ("files", "has_subtests", "keywords", "name", "passed", "phases", "plain", "status")

    def __init__(self, nodeid):
        self.name = quote(nodeid)
        self.keywords = "[]"
        self.passed = []
        self.plain = True

    def spell_out(self):
        """From here on it is a test with phases of any kind."""
        if self.plain:
            self.plain = self.has_subtests = False
            self.phases = list(zip(USUAL, map(took, self.passed)))  # type: list[Any]
            self.files, self.status = [], "pass"

    def begin(self, when):
        if when == "setup" and self.phases:  # another attempt at the same test: the last one counts
            self.phases, self.files, self.status = [], [], "pass"

    def add(self, report, status=None, traced=True):
        facts = _phase_facts(report)
        if status is not None:
            facts["status"] = status
        if not traced:
            facts.pop("traceback", None)
        self.begin(report.when)
        if facts["outcome"] == "failed":
            self.status = "fail"
        elif facts["outcome"] == "skipped" and self.status == "pass":
            self.status = "skip"
        lighten(facts, report.when.strip("?") or "crash", self.files)
        properties = getattr(report, "user_properties", None)
        if report.when == "teardown" and properties:
            facts["user_properties"] = _properties(properties)
        self.phases.append(dumps(clean(facts)))

    def add_plain(self, when, duration):
        self.begin(when)
        self.phases.append((when, took(duration)))

    def result(self):
        """The message that closes it, and the contents of its files."""
        phases = [
            phase if isinstance(phase, str) else '{"when":"%s","outcome":"passed","duration":%r}' % phase
            for phase in self.phases
        ]
        facts = '{"keywords":%s,"phases":[%s]}' % (self.keywords, ",".join(phases))
        files = [{"name": name, "length": len(data)} for name, data in self.files]
        listed = ',"files":' + dumps(files) if files else ""
        text = '{"name":%s,"status":"%s","proctor":%s%s}' % (self.name, self.status, facts, listed)
        return text, b"".join(data for _, data in self.files)


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
        and "context" not in facts  # of a subtest
        and "node" not in facts  # xdist's worker, which pytest names in the text of every phase
    )


def took(seconds):
    """A plugin may have put anything there: no test is lost for that."""
    try:
        seconds = float(seconds)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return seconds if -LONGEST < seconds < LONGEST else 0.0


def _phase_facts(report):
    facts = {
        "when": report.when,
        "outcome": report.outcome,
        "duration": took(getattr(report, "duration", 0.0)),
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
        facts["failure"] = {"message": cut(longrepr)}
    pinned = getattr(report, "proctor_facts", None)
    if pinned:
        facts.update((key, value) for key, value in pinned.items() if key != "reported")
    return facts


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

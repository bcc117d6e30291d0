"""Facts about the live exception of a pytest test. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded at
the first failure of a run that proctor reads; the failure index of a plain pytest is made of the same facts.
"""

load = globals()["load"]  # the loader gives it to each file
_exceptions, _channel = load("proctor_exceptions"), load("proctor_channel")
Frames, causes_of, shown_by = _exceptions.Frames, _exceptions.causes_of, _exceptions.shown_by
OUR_WORKER = "_proctor_sender"  # a plugin; the others are of xdist
clean, cut, exact, os = _channel.clean, _channel.cut, _channel.exact, _channel.os


class Failures:
    """Facts about the exceptions of one session."""

    def __init__(self, config, real_locals=False):
        """`real_locals`: local variables as their own `__repr__` shows them, with each failure."""
        self.real_locals = real_locals
        root = str(getattr(config, "rootpath", None) or config.rootdir)
        self.frames = Frames(root, str(config.invocation_params.dir), config.getini("python_files"))
        self.in_worker = hasattr(config, "workerinput") and not config.pluginmanager.hasplugin(OUR_WORKER)
        # The comparisons of the last assertion that failed: where it is, and what differs.
        self.asserted, self.differences = None, []
        self.plainly = self.frames.failure

    def raised(self, excinfo):
        value = excinfo.value
        if type(value).__module__ in ("doctest", "_pytest.doctest"):
            facts = _doctest_failure(value, self.frames)
            if facts:
                return facts
        try:
            shown = _with_first_leaf(value, _as_pytest_shows(excinfo).strip())
        except Exception:
            shown = shown_by(value)
        facts = self.frames.failure(value, shown, excinfo)
        causes = causes_of(value, self.frames, [value])
        if causes:
            facts["causes"] = causes
        return facts

    def of_test(self, item, excinfo, when):
        """The same, and what can be known only while the test is there."""
        facts = self.raised(excinfo)
        traceback = excinfo.value.__traceback__
        if isinstance(excinfo.value, AssertionError):
            difference, whole = self._difference(traceback)
            if difference:
                facts["difference"] = difference
            if whole:
                facts["whole_difference"] = whole
        if when != "call":
            fixture = _fixture(item, traceback)
            if fixture:
                facts["fixture"] = fixture
        self.frames.add_locals(facts, traceback, excinfo, self.real_locals)
        self._add_debugger(facts, excinfo.value, item.nodeid)
        return clean(exact(facts))

    def not_collected(self, excinfo, nodeid=""):
        value = _cause(excinfo.value)
        facts = self.frames.failure(value, _worded(value, self.frames))
        self._add_debugger(facts, value, nodeid)
        return exact(facts)

    def _add_debugger(self, facts, value, nodeid):
        if nodeid and _exceptions.may_be_of_debugger(value):
            debugger, frames = load("proctor_debugger"), self.frames
            arguments = debugger.pytest_arguments(nodeid, frames.root, frames.here, self.in_worker)
            debugger.add_note(facts, value, arguments, frames.here)

    def compared(self, left, right, frame):
        """`frame` is the one that called the hook; the assertion is in the first that is not pytest's."""
        while frame.f_globals.get("__name__", "").partition(".")[0] in ("_pytest", "pluggy"):
            frame = frame.f_back
        place = frame.f_code, frame.f_lineno
        if place != self.asserted:
            self.asserted, self.differences = place, []
        self.differences.append(clean(load("proctor_difference").difference(left, right)))

    def _difference(self, traceback):
        """The difference behind the exception that has this traceback, if it is the one; then forget it."""
        while traceback is not None and traceback.tb_next is not None:
            traceback = traceback.tb_next
        here = traceback is not None and (traceback.tb_frame.f_code, traceback.tb_lineno)
        found = self.differences if here == self.asserted else []
        self.asserted, self.differences = None, []
        return found[0] if len(found) == 1 else ([], "")  # of several, it is unknown which one mattered


def conftest_error(value, config):
    """Of a conftest that cannot be loaded: the exception, its file, the facts. None for other errors."""
    if type(value).__name__ != "ConftestImportFailure":
        return None
    cause = getattr(value, "cause", None) or value.excinfo[1]
    here = str(config.invocation_params.dir)
    frames = Frames(here, here)
    return cause, frames.relative(str(value.path)), exact(frames.failure(cause, _worded(cause, frames)))


def of_session(value, config):
    """Facts about an exception that no test raised; there may be no configuration yet."""
    here = str(config.invocation_params.dir) if config is not None else os.getcwd()
    frames = Frames(here, here)
    facts = frames.failure(value)
    causes = causes_of(value, frames, [value])
    if causes:
        facts["causes"] = causes
    return clean(facts)


def trace(value):
    import traceback

    return "".join(traceback.format_exception(type(value), value, value.__traceback__))


def _doctest_failure(value, frames):
    """`expected X, got Y` and the line of the example."""
    failure = value.failures[0] if getattr(value, "failures", None) else value
    example, test = getattr(failure, "example", None), getattr(failure, "test", None)
    if example is None or test is None:
        return None
    source, rest = example.source.strip(), ""
    if hasattr(failure, "got"):
        want, got = example.want.strip() or "nothing", failure.got.strip() or "nothing"
        shown = "expected %s, got %s" % (_first_line(want), _first_line(got))
        if "\n" in want + got:
            rest = "\nexpected:\n%s\ngot:\n%s" % (want, got)
    else:
        shown = shown_by(failure.exc_info[1])
    message = "%s: %s%s" % (_first_line(source), shown, rest)
    facts = {"type": type(failure).__name__, "message": cut(message)}
    if test.filename and os.path.isfile(test.filename) and test.lineno is not None:
        facts["place"] = {"file": frames.relative(test.filename), "line": test.lineno + example.lineno + 1}
    return facts


def _first_line(text):
    first, more, _ = text.partition("\n")
    return first + "..." if more else first


def _as_pytest_shows(excinfo):
    value = excinfo.value
    if type(value).__name__ == "FixtureLookupError":  # its own words are the repr of a request
        return "FixtureLookupError: %s" % (value.msg or "fixture %r not found" % value.argname)
    return excinfo.exconly(tryshort=True)


def _with_first_leaf(value, shown):
    """pytest names a group and not what is in it, unless that is a single exception."""
    leaf = value
    while hasattr(leaf, "derive") and getattr(leaf, "exceptions", None):
        leaf = leaf.exceptions[0]
    if leaf is value or "[single exception in " in shown:
        return shown
    first, more, rest = shown.partition("\n")
    inside = next((line for line in shown_by(leaf).split("\n") if line.strip()), type(leaf).__name__)
    return "%s > %s%s%s" % (first, inside.strip(), more, rest)


def _fixture(item, traceback):
    """The fixture whose own code the exception passed through last."""
    known = {}
    for name, definitions in getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).items():
        for definition in definitions:
            function = getattr(definition, "func", None)
            function = getattr(function, "__wrapped__", function)
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if not name.startswith(("_", "xunit")):
                known[code] = name
    found = None
    while traceback is not None:
        found = known.get(traceback.tb_frame.f_code, found)
        traceback = traceback.tb_next
    return found


def _cause(value):
    """A collection error is a wrapper that pytest made; what the user knows is inside. If that is pytest's
    own as well, the wrapper explains it."""
    seen = 0
    while value.__cause__ is not None and _is_pytests(value) and seen < 20:
        if _is_pytests(value.__cause__):
            break
        value = value.__cause__
        seen += 1
    return value


def _is_pytests(value):
    return type(value).__module__.partition(".")[0] in ("_pytest", "py")


def _worded(value, frames):
    """What kept something from being collected, as pytest shows it; None if it has no words for it."""
    for known in (value, value.__cause__):
        if type(known).__name__.endswith("MismatchError") and len(known.args) == 3:
            return _mismatch(frames, *known.args)
    try:
        if _is_pytests(value):  # pytest shows no more of a CollectError than its first argument
            return str(value.args[0]) if value.args else str(value)
        return _alone(value)
    except Exception:
        return None


def _mismatch(frames, module, imported, wanted):
    """pytest's explanation has six lines, and the exception behind it none."""
    known = frames.relative(str(imported))
    return (
        "import file mismatch: the module %r is known as %s already. HINT: remove __pycache__ / .pyc files"
        " and/or use a unique basename for your test file modules" % (module, known)
    )


def _alone(value):
    """The exception without its traceback, named as pytest names those of tests."""
    from traceback import format_exception_only

    return "".join(format_exception_only(type(value), value)).strip()

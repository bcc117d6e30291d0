"""The message of an exception, and where it was raised. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded at
the first failure, by every reporter of a Python test framework.
"""

load = globals()["load"]  # the loader gives it to each file
_channel = load("proctor_channel")
cut, relative = _channel.cut, _channel.relative
os, sys = _channel.os, _channel.sys  # those of the start: a test may have replaced them by now
MOST_FRAMES = 3000  # of a traceback that are looked at
MOST_CALLS = 20  # of its places that are reported, once recursion is folded
LONGEST_CYCLE = 8  # places of a recursion that is folded
MOST_CAUSES = 10  # exceptions behind an exception
MOST_NOTES = 20  # that were added to an exception


class Frames:
    """Finds the line of user code nearest to a raise: not the library's, not the interpreter's, not ours."""

    def __init__(self, root, here, test_files=()):
        self.root, self.here = root, here
        self.test_files = ("conftest.py", "test_*.py", "*_test.py", *test_files)
        self.foreign = [
            os.path.dirname(os.path.abspath(os.__file__)) + os.sep,
            os.path.dirname(os.path.abspath(__file__)) + os.sep,
        ]
        prefix = os.path.abspath(sys.prefix) + os.sep
        if sys.prefix != getattr(sys, "base_prefix", sys.prefix) and not root.startswith(prefix):
            self.foreign.append(prefix)
        self.known = {}

    def is_user(self, path):
        return self._look(path)[0]

    def _look(self, path):
        """Is it a file of the user, and if so, is it one of the tests?"""
        if path not in self.known:
            full = os.path.abspath(path)
            parts = full.replace("\\", "/").split("/")
            is_user = (
                os.path.isfile(full)
                and "site-packages" not in parts
                and "dist-packages" not in parts
                and not any(full.startswith(place) for place in self.foreign)
            )
            self.known[path] = is_user, is_user and self._is_test(full)
        return self.known[path]

    def _is_test(self, full):
        from fnmatch import fnmatch

        path = relative(full, self.root)
        folders = path.split("/")[:-1]
        return (
            "tests" in folders
            or "test" in folders
            or any(fnmatch("/" + path, "*/" + name) for name in self.test_files)
        )

    def relative(self, path):
        return relative(path, self.here)

    def innermost(self, traceback, excinfo=None):
        """Product code goes before test code: a test often raises far from where the fault is."""
        last = {
            is_test: (frame.f_code.co_filename, line)
            for frame, line, is_test in self.user_frames(traceback, excinfo)
        }
        found = last.get(False) or last.get(True)
        return {"file": self.relative(found[0]), "line": found[1]} if found else None

    def user_frames(self, traceback, excinfo=None):
        """(frame, line, whether it is a test's) of each frame that is the user's, outermost first."""
        while traceback is not None:
            frame = traceback.tb_frame
            is_user, is_test = self._look(frame.f_code.co_filename)
            if is_user and not self._hidden(frame, excinfo):
                yield frame, traceback.tb_lineno, is_test
            traceback = traceback.tb_next

    @staticmethod
    def _hidden(frame, excinfo):
        hide = frame.f_locals.get("__tracebackhide__", frame.f_globals.get("__tracebackhide__", False))
        if not callable(hide):
            return bool(hide)
        try:
            return excinfo is not None and bool(hide(excinfo))
        except Exception:
            return False

    def failure(self, value, shown=None, excinfo=None):
        """Facts about one exception; `shown` is the framework's own message."""
        place = self.innermost(value.__traceback__, excinfo)
        if isinstance(value, SyntaxError):
            shown = "%s: %s" % (type(value).__name__, value.msg)
            if value.filename and os.path.isfile(value.filename):
                place = {"file": self.relative(value.filename), "line": value.lineno or 0}
        facts = {"type": type(value).__name__, "message": cut(shown_by(value) if shown is None else shown)}
        if place:
            facts["place"] = place
        notes = self._notes(value, facts["message"], excinfo)
        if notes:
            facts["notes"] = notes
        calls = self.calls(value.__traceback__, excinfo)
        if len(calls) > 1:
            facts["calls"] = calls
        return facts

    def _notes(self, value, message, excinfo):
        """What was added to an exception, and the last words of processes that it is about."""
        added = getattr(value, "__notes__", None)
        notes = [cut(str(note)) for note in added[:MOST_NOTES]] if isinstance(added, (list, tuple)) else []
        try:
            found = self._processes(value, message, excinfo)
            return notes + load("proctor_processes").last_words(found) if found else notes
        except Exception:  # no file can be opened, or a test has replaced the module
            return notes

    def _processes(self, value, message, excinfo):
        """(name, process) of each that an exception is about: its own, or a local variable of a test."""
        known = sys.modules.get("subprocess")
        if known is None:
            return []
        if isinstance(value, (known.CalledProcessError, known.TimeoutExpired)):
            return [("", value)]
        if not isinstance(value, AssertionError):
            return []
        frames = [frame for frame, _, _ in self.user_frames(value.__traceback__, excinfo)]
        values = {name: local for frame in frames for name, local in list(frame.f_locals.items())}
        ended = [item for item in values.items() if isinstance(item[1], known.CompletedProcess)]
        is_shown = "CompletedProcess(" in message
        return [(name + ".", process) for name, process in ended if is_shown or process.returncode]

    def add_locals(self, facts, traceback, excinfo=None, real=False):
        """The local variables of the user's frames, for a file; of the innermost one also with the facts,
        for `--locals`."""
        try:
            frames = [(frame, line) for frame, line, _ in self.user_frames(traceback, excinfo)]
            found = load("proctor_locals").of_frames(frames, self.relative, real)
        except Exception:
            return  # the failure is reported without them
        if found:
            facts["whole_locals"] = _channel.dumps(_channel.clean(found))
            if real:
                facts["locals"] = ["%s = %s" % item for item in found[0]["locals"].items()]

    def calls(self, traceback, excinfo):
        """The way through user code to the raise, outermost first; what repeats itself is folded."""
        first = zip(range(MOST_FRAMES), self.user_frames(traceback, excinfo))
        places = [(self.relative(frame.f_code.co_filename), line) for _, (frame, line, _) in first]
        calls = [
            {"places": [{"file": file, "line": line} for file, line in part], "times": times}
            for part, times in _folded(places)
        ]
        return calls if len(calls) <= MOST_CALLS else calls[: MOST_CALLS // 2] + calls[-MOST_CALLS // 2 :]


def _folded(places):
    """(places, how often in a row): recursion is a short sequence that comes again and again."""
    folded = []
    at = 0
    while at < len(places):
        size, times = 1, 1
        for width in range(1, LONGEST_CYCLE + 1):
            part, count = places[at : at + width], 1
            while places[at + count * width : at + (count + 1) * width] == part:
                count += 1
            if count > 2 and count * width > size * times:
                size, times = width, count
        folded.append((places[at : at + size], times))
        at += size * times
    return folded


def shown_by(value):
    """An exception in its own words, even when it has none that can be had."""
    try:
        text = str(value)
    except Exception as error:
        text = "<unprintable: %s>" % type(error).__name__
    name = type(value).__name__
    return "%s: %s" % (name, text) if text else name


def may_be_of_debugger(value):
    """What a debugger raises that finds no terminal: a closer look is worth its time."""
    return type(value).__name__ == "BdbQuit" or isinstance(value, (OSError, EOFError, SystemExit))


def causes_of(value, frames, seen):
    """What is behind an exception: what it was raised from or while handling, or the members of its group."""
    facts = []
    for cause in _behind(value):
        if len(seen) > MOST_CAUSES or any(cause is known for known in seen):
            break
        seen.append(cause)
        found = frames.failure(cause)
        found.pop("calls", None)
        further = causes_of(cause, frames, seen)
        if further:
            found["causes"] = further
        facts.append(found)
    return facts


def _behind(value):
    if "BaseExceptionGroup" in [kind.__name__ for kind in type(value).__mro__]:
        return value.exceptions
    cause = value.__cause__ or (None if value.__suppress_context__ else value.__context__)
    return () if cause is None else (cause,)

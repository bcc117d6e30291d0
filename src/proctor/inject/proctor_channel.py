"""What the reporters of Python's test frameworks share: the channel, and the words for an exception.
PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded by
its path: our directory is not on the path of the tests.
"""

import atexit
import json
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # this file does without the cost of `typing`
    from typing import Any

FD_VARIABLE = "PROCTOR_CONTROL_FD"
VARIABLES = (FD_VARIABLE, "PROCTOR_CONTROL", "ATEX_TEST_CONTROL")
LONG_TEXT = 64 * 1024  # a longer text travels as a file
TAIL = 2000  # characters of such a text that travel with the facts as well
ATOMIC = 4096  # bytes that one write puts on a pipe whole
MOST_FRAMES = 3000  # of a traceback that are looked at
MOST_CALLS = 20  # of its places that are told, once recursion is folded
LONGEST_CYCLE = 8  # places of a recursion that is folded
MOST_CAUSES = 10  # exceptions behind an exception
OUR_FD = 200  # out of the way of tests that count descriptors, and of what they open

# Taken at the start: a test may replace what these modules have, and some never put it back.
_quote = json.encoder.encode_basestring_ascii
_fstat, _write, dumps = os.fstat, os.write, json.dumps
_mask: "Any" = getattr(signal, "pthread_sigmask", None)  # Windows has none, and no channel either


def quote(text):
    """A JSON string. A lone surrogate has no UTF-8, so it is written as literal text."""
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return _quote(text)


def clean(value):
    """The same value with nothing in it that JSON cannot carry."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_key(key): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    return clean(str(value))


def _key(key):
    """The name that JSON gives to what is no name."""
    return dumps(key) if key is None or isinstance(key, (bool, int, float)) else clean(str(key))


def cut(text):
    """A long text without its middle."""
    if len(text) <= LONG_TEXT:
        return text
    half = LONG_TEXT // 2
    return "%s\n[... %d characters left out ...]\n%s" % (text[:half], len(text) - 2 * half, text[-half:])


class _undisturbed:
    """A KeyboardInterrupt between two writes would leave half a message."""

    def __enter__(self):
        self.before = _mask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGALRM})

    def __exit__(self, *_):
        _mask(signal.SIG_SETMASK, self.before)


class Channel:
    """The writing end. Only the process that was given it writes, and only while it is still that pipe."""

    def __init__(self, fd):
        self.fd = self._out_of_the_way(fd)
        os.register_at_fork(after_in_child=self.fall_silent)
        atexit.register(self.flush)
        seen = _fstat(self.fd)
        self.device, self.inode = seen.st_dev, seen.st_ino
        self.held = ""

    @staticmethod
    def _out_of_the_way(fd):
        import fcntl

        try:
            high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, OUR_FD)
        except OSError:  # a limit on descriptors does not allow it
            os.set_inheritable(fd, False)
            return fd
        os.close(fd)
        return high

    def fall_silent(self):
        self.fd = -1
        self.held = ""

    def write(self, data):
        if self.fd < 0:
            return
        try:
            seen = _fstat(self.fd)
            if seen.st_ino != self.inode or seen.st_dev != self.device:
                self.fd = -1  # a test closed it, and the number is somebody else's now
            elif len(data) <= ATOMIC:
                _write(self.fd, data)
            else:
                self._write_long(data)
        except OSError:
            self.fd = -1

    def _write_long(self, data):
        with _undisturbed():
            view = memoryview(data)
            while view:
                view = view[_write(self.fd, view) :]

    def send(self, text, blobs=b""):
        """One result; `text` is ASCII."""
        held = self.held
        if held:
            self.held = ""
            message = "result %d\n%sresult %d\n%s" % (len(held), held, len(text), text)
        else:
            message = "result %d\n%s" % (len(text), text)
        data = message.encode("ascii")
        self.write(data + blobs if blobs else data)

    def send_with_next(self, text):
        """One result that may wait a moment: the next test starts at once, and one write does for both."""
        if self.held:
            self.flush()
        self.held = text

    def send_files(self, text, sources):
        """One result whose files are streamed from (file object, size); each gives exactly its size."""
        self.flush()
        if self.fd < 0:
            return
        with _undisturbed():
            self.write(b"result %d\n%b" % (len(text), text.encode("ascii")))
            for source, size in sources:
                while size > 0:
                    data = source.read(min(size, 1 << 20)) or b"\0" * min(size, 1 << 20)  # it has shrunk
                    self.write(data)
                    size -= len(data)

    def flush(self):
        if self.held:
            text, self.held = self.held, ""
            self.send(text)

    def session(self, facts, status="error", partial=True):
        body = {"status": status, "partial": partial, "proctor": clean(facts)}
        self.send(dumps(body))


def take():
    """The channel of this process, if it has one. Ours from here on: no program that a test starts finds it
    by accident."""
    fd = os.environ.get(FD_VARIABLE, "")
    for name in VARIABLES:
        os.environ.pop(name, None)
    try:
        return Channel(int(fd))
    except (ValueError, OSError, ImportError):
        return None


def lighten(facts, when, files):
    """Texts of a phase that are too long to carry become files: (name, bytes) are added to `files`."""
    moved, tails = {}, {}
    for field in ("longrepr", "stdout", "stderr", "log"):
        text = facts.get(field)
        if text and field == "log":
            text = "\n".join([dumps(record) for record in text])
        if text is not None and len(text) > LONG_TEXT:
            name = "%d-%s-%s.txt" % (len(files) + 1, when, field)
            files.append((name, clean(text).encode("utf-8")))
            moved[field] = name
            tails[field] = text[-TAIL:]
            del facts[field]
    if moved:
        facts["files"] = moved
        facts["tails"] = tails


# What an exception says, and where it was raised ------------------------------------------------------


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
        product = test = None
        while traceback is not None:
            frame = traceback.tb_frame
            path = frame.f_code.co_filename
            is_user, is_test = self._look(path)
            if is_user and not self._hidden(frame, excinfo):
                if is_test:
                    test = path, traceback.tb_lineno
                else:
                    product = path, traceback.tb_lineno
            traceback = traceback.tb_next
        found = product or test
        return {"file": self.relative(found[0]), "line": found[1]} if found else None

    @staticmethod
    def _hidden(frame, excinfo):
        hide = frame.f_locals.get("__tracebackhide__", frame.f_globals.get("__tracebackhide__", False))
        if not callable(hide):
            return bool(hide)
        try:
            return excinfo is not None and bool(hide(excinfo))
        except Exception:
            return False

    def failure(self, value, traceback, shown, excinfo=None):
        place = self.innermost(traceback, excinfo)
        if isinstance(value, SyntaxError):
            shown = "%s: %s" % (type(value).__name__, value.msg)
            if value.filename and os.path.isfile(value.filename):
                place = {"file": self.relative(value.filename), "line": value.lineno or 0}
        facts = {"type": type(value).__name__, "message": cut(shown)}
        if place:
            facts["place"] = place
        calls = self.calls(traceback, excinfo)
        if len(calls) > 1:
            facts["calls"] = calls
        return facts

    def calls(self, traceback, excinfo):
        """The way through user code to the raise, outermost first; what repeats itself is folded."""
        places: "Any" = []
        while traceback is not None and len(places) < MOST_FRAMES:
            frame = traceback.tb_frame
            if self.is_user(frame.f_code.co_filename) and not self._hidden(frame, excinfo):
                places.append((self.relative(frame.f_code.co_filename), traceback.tb_lineno))
            traceback = traceback.tb_next
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


def relative(path, start):
    try:
        path = os.path.relpath(path, start)
    except ValueError:
        pass
    return path.replace(os.sep, "/")


def shown_by(value):
    """An exception in its own words, even when it has none that can be had."""
    try:
        text = str(value)
    except Exception as error:
        text = "<unprintable: %s>" % type(error).__name__
    name = type(value).__name__
    return "%s: %s" % (name, text) if text else name


def causes_of(value, frames, seen):
    """What is behind an exception: what it was raised from or while handling, or the members of its group."""
    facts = []
    for cause in _behind(value):
        if len(seen) > MOST_CAUSES or any(cause is known for known in seen):
            break
        seen.append(cause)
        found = frames.failure(cause, cause.__traceback__, shown_by(cause))
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

"""The control channel, as the reporters of Python's test frameworks write to it. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else.
"""

import atexit
import json
import os
import signal
import sys  # also for what is loaded later, when a test may have put another in its place
from functools import partial

load = globals()["load"]  # the loader gives it to each file
FD_VARIABLE = "PROCTOR_CONTROL_FD"
VARIABLES = (FD_VARIABLE, "PROCTOR_CONTROL", "ATEX_TEST_CONTROL")
LONG_TEXT = 64 * 1024  # a longer text travels as a file
TAIL = 2000  # characters of such a text that travel with the facts as well
ATOMIC = 4096  # bytes that one write puts on a pipe whole
LONGEST = 1e10  # seconds
OUR_FD = 200  # out of the way of tests that count descriptors, and of what they open

# Taken at the start: a test may replace what these modules have, and some never put it back.
_quote = json.encoder.encode_basestring_ascii
_fstat, _write, dumps, loads = os.fstat, os.write, json.dumps, json.loads
_mask = getattr(signal, "pthread_sigmask", lambda how, signals: None)  # Windows has none


def literal(text):
    """A lone surrogate has no UTF-8, so it is written as literal text."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def quote(text):
    """A JSON string, in ASCII."""
    return _quote(text if text.isascii() else literal(text))


def exact(facts):
    """The facts of a failure; a message that JSON cannot carry comes as a row of the failure index has it,
    too, so that the row is the same on either side."""
    message = facts.get("message") if facts else None
    if message and literal(message) != message:
        facts["exact"] = load("../failure_row").escaped(message)
    return facts


def clean(value):
    """The same value with nothing in it that JSON cannot carry."""
    if isinstance(value, str):
        return literal(value)
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


def took(seconds):
    """A plugin may have put anything there, and a test may have set the clock: no result is lost for that."""
    try:
        seconds = float(seconds)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return seconds if -LONGEST < seconds < LONGEST else 0.0


def relative(path, start):
    try:
        path = os.path.relpath(path, start)
    except ValueError:  # it is on another drive
        pass
    return path.replace(os.sep, "/")


def write_lines_at_once():
    """What is printed appears line by line, as on a terminal, though stdout is a pipe."""
    try:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    except Exception:
        pass  # something else is there, or nothing


class _undisturbed:
    """A KeyboardInterrupt between two writes would leave half a message."""

    def __enter__(self):
        self.before = _mask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGALRM})

    def __exit__(self, *_):
        _mask(signal.SIG_SETMASK, self.before)


class Channel:
    """The writing end. Only the process that was given it writes, and only while it is still that pipe."""

    def __init__(self, fd):
        self.fd, self.held = self._out_of_the_way(fd), ""
        seen = _fstat(self.fd)
        self.device, self.inode = seen.st_dev, seen.st_ino
        # The interpreter keeps this to its very end. A function would keep its module, and that one pytest:
        # at every exit the collector would visit all of it once more.
        os.register_at_fork(after_in_child=partial(vars(self).update, fd=-1, held=""))
        atexit.register(self.flush)

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

    def give_up(self, error):
        """An error in the reporter loses the report, not the run, which is then reported as incomplete."""
        try:
            words = quote("%s: %s" % (type(error).__name__, error))  # which is all that may still work
            self.send('{"status":"error","partial":true,"proctor":{"broken":%s}}' % words)
        except Exception:
            pass
        self.fall_silent()

    def write(self, data):
        if self.fd < 0:
            return
        try:
            seen = _fstat(self.fd)
            if seen.st_ino != self.inode or seen.st_dev != self.device:
                self.fd = -1  # a test closed it, and the number is another file's now
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
        self.send(dumps({"status": status, "partial": partial, "proctor": clean(facts)}))


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


class Explain:
    """Calls the `Failures` of another injected file, which is loaded at the first call."""

    def __init__(self, path, *args):
        self.path, self.args, self.failures = path, args, None

    def __call__(self, method, *args):
        """None if the file cannot be loaded: what the test framework itself writes must be enough."""
        try:
            self.failures = self.failures or load(self.path).Failures(*self.args)
        except Exception:  # for lack of a descriptor, or of the import system, which a test may have broken
            return None
        return getattr(self.failures, method)(*args)


def lighten(facts, when, files):
    """Texts of a phase that are too long to carry become files: (name, bytes) are added to `files`."""
    moved, tails = {}, {}
    for field, end in (("difference", "difference.txt"), ("locals", "locals.json")):
        whole = (facts.get("failure") or {}).pop("whole_" + field, "")
        if whole:
            moved[field] = "%d-%s-%s" % (len(files) + 1, when, end)
            files.append((moved[field], clean(whole).encode("utf-8")))
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
    if tails:
        facts["tails"] = tails

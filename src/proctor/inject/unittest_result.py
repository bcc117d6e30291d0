"""Report each unittest test on proctor's control channel as it begins and ends. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Output is
captured at the descriptors: `sys.stdout` is not replaced, and the output of child processes is included.
"""

import os
import re
import sys
import time
import unittest

load = globals()["load"]  # the loader gives it to each file
_channel, _loading = load("proctor_channel"), load("unittest_loading")
clean, dumps = _channel.clean, _channel.dumps
MOST_OUTPUT = 16 << 20  # bytes of a test's output that are read: half at its head, half at its tail
#: By the first of these functions on the way to a raise: in which phase it was.
PHASES = {
    "_callSetUp": "setup",
    "setUp": "setup",
    "asyncSetUp": "setup",
    "_callTestMethod": "call",
    "_callTearDown": "teardown",
    "tearDown": "teardown",
    "asyncTearDown": "teardown",
    "doCleanups": "teardown",
    "_callCleanup": "teardown",
}

_clock, _fstat, _pread, _write = time.perf_counter, os.fstat, os.pread, os.write  # a test may replace them


class Stream:
    """A descriptor of this process that leads to a file until it is closed."""

    def __init__(self, number):
        import tempfile

        self.number, self.original = number, os.dup(number)
        self.file = tempfile.TemporaryFile("ab+", buffering=0)  # noqa: SIM115  closed at the end
        self.begin = 0
        os.dup2(self.file.fileno(), number)

    def take(self):
        """What was written since the last time, as bytes."""
        file, begin = self.file.fileno(), self.begin
        self.begin = end = _fstat(file).st_size
        size = end - begin
        if size <= MOST_OUTPUT:
            return _pread(file, size, begin) if size else b""
        half = MOST_OUTPUT // 2
        head, tail = _pread(file, half, begin), _pread(file, half, end - half)
        os.ftruncate(file, 0)  # so much should not pile up
        self.begin = 0
        return b"%b\n[... %d bytes left out ...]\n%b" % (head, size - MOST_OUTPUT, tail)

    def pass_on(self):
        """What was written outside of tests goes where it was meant to go."""
        data = self.take()
        while data:
            data = data[_write(self.original, data) :]

    def close(self):
        os.dup2(self.original, self.number)
        os.close(self.original)
        self.file.close()


class Output:
    """stdout and stderr, taken piece by piece."""

    def __init__(self):
        self._flush()
        self.streams: "tuple[Stream, ...]" = (Stream(1), Stream(2))

    @staticmethod
    def _flush():
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()  # type: ignore[union-attr]
            except Exception:
                pass  # a test may have closed or replaced it

    def take(self):
        self._flush()
        return [stream.take() for stream in self.streams]

    def pass_on(self):
        self._flush()
        for stream in self.streams:
            stream.pass_on()

    def close(self):
        self.pass_on()
        for stream in self.streams:
            stream.close()


class NotCaptured(Output):
    """What tests write goes where they write it."""

    def __init__(self):
        self.streams = ()
        _channel.write_lines_at_once()

    def take(self):
        self._flush()
        return [b"", b""]


def excused(session):
    """A function that says whether failures of a test do not count."""
    quarantine = session.asked.get("quarantine")
    return load("proctor_only").Patterns(quarantine).match if quarantine else lambda test: False


class Result(unittest.TestResult):
    """Gets from unittest how each test goes, and reports it."""

    def __init__(self, session, loaded, output):
        unittest.TestResult.__init__(self)
        self.channel, self.explain = session.channel, session.explain
        self.loaded, self.output = loaded, output
        self.maxfail = session.maxfail
        self.excused = excused(session)
        self.more = {}  # facts about each test beside its phases
        self.pending = (
            None  # a function that gives the names of tests which this process is to run; None: all
        )
        self.tb_locals = session.options.locals
        self.begun = set()  # ids
        self.failed = 0
        self.bad = False
        self.phases = None  # of the test that runs
        self.since = 0.0

    def id_of(self, test):
        return getattr(test, _loading.NAME, None) or test.id()

    # Of one test

    def startTest(self, test):
        unittest.TestResult.startTest(self, test)
        self.output.pass_on()
        self.open(self.id_of(test), *_loading.place_of(test))
        self.phases = []
        self.since = _clock()

    def open(self, name, file, line):
        self.begun.add(name)
        body = {"name": name, "status": "error", "partial": True, "file": file, "line": line}
        self.channel.send(dumps(clean(body)))

    def stopTest(self, test):
        seconds = _channel.took(_clock() - self.since)
        phases, self.phases = self.phases, None
        if not phases:
            return  # interrupted, and still open
        stdout, stderr = self.output.take()
        if all("subtest" in phase for phase in phases):
            phases.append({"when": "call", "outcome": "passed"})
        phases[-1]["duration"] = seconds
        for field, data in (("stdout", stdout), ("stderr", stderr)):
            if data:
                phases[-1][field] = data.decode("utf-8", "backslashreplace")
        self.close(self.id_of(test), phases)
        unittest.TestResult.stopTest(self, test)

    def close(self, name, phases):
        failed = any(phase["outcome"] == "failed" for phase in phases)
        files: "list[tuple[str, bytes]]" = []
        for phase in phases:
            _channel.lighten(phase, phase["when"], files)
        body = {
            "name": name,
            "status": "fail" if failed else "pass",
            "proctor": dict(self.more, phases=phases),
        }
        if files:
            body["files"] = [{"name": file, "length": len(data)} for file, data in files]
        self.channel.send(dumps(clean(body)), b"".join(data for _, data in files))
        if failed:
            self.bad = True
            self.failed += not self.excused(name)
            if self.maxfail and self.failed >= self.maxfail:
                self.stop()

    def add(self, test, phase):
        """A phase of the running test, or of all tests that something around them keeps from running."""
        if self.phases is not None:
            self.phases.append(phase)
            return
        if hasattr(test, _loading.NAME):  # skipped: not every Python starts such a test
            self.open(self.id_of(test), *_loading.place_of(test))
            self.close(self.id_of(test), [phase])
            return
        around = re.match(r"(\w+) \((.+)\)$", test.id())
        if around and _loading.AROUND.get(around.group(1)) == "setup":
            phase["when"] = "setup"
            for name, known in self._not_begun(*around.groups()):
                self.open(name, known.file, known.line)
                self.close(name, [dict(phase)])
        else:
            self._add_around(test, around, phase)

    def _not_begun(self, method, owner):
        """The tests of a class or a module that have not run: now they will not."""
        pending = self.loaded.tests if self.pending is None else self.pending()
        for name, known in self.loaded.tests.items():
            inside = known.owner if method == "setUpClass" else known.module
            if inside == owner and name not in self.begun and name in pending:
                yield name, known

    def _add_around(self, test, around, phase):
        """A class or a module failed after its tests, or something that is not known did."""
        method, owner = around.groups() if around else (test.id(), "")
        file, inner = "", method
        for name, known in self.loaded.tests.items():
            if owner in (known.module, known.owner):
                file = name.partition("::")[0]
                if owner == known.owner:
                    inner = known.owner[len(known.module) + 1 :] + "::" + method
        name = "%s::%s" % (file, inner) if file else inner
        place = (phase.get("failure") or {}).get("place", {})
        self.open(name, place.get("file", file), place.get("line", 0))
        phase["when"] = _loading.AROUND.get(method, "setup")
        self.close(name, [phase])

    # What unittest reports of it

    def addSuccess(self, test):
        self.add(test, {"when": "call", "outcome": "passed"})

    def addFailure(self, test, err):
        self.add(test, self._raised(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            phase = self._raised(err, subtest)
            phase["subtest"] = subtest._subDescription()
            self.add(test, phase)

    def addSkip(self, test, reason):
        phase = {"when": "call", "outcome": "skipped", "reason": reason}
        if hasattr(test, "_subDescription"):
            phase["subtest"] = test._subDescription()
        self.add(test, phase)

    def addExpectedFailure(self, test, err):
        text = self._raised(err, test)["longrepr"]
        self.add(test, {"when": "call", "outcome": "skipped", "wasxfail": "", "longrepr": text})

    def addUnexpectedSuccess(self, test):
        message = "unexpected success: the test is marked as an expected failure"
        file, line = _loading.place_of(test)
        failure = {"message": message, "place": {"file": file, "line": line}}
        self.add(test, {"when": "call", "outcome": "failed", "longrepr": message, "failure": failure})

    def addDuration(self, test, elapsed):
        pass  # our own clock measures it in every Python

    def wasSuccessful(self):
        return not self.bad

    def _raised(self, err, test):
        _, value, traceback = err
        phase = {"when": _when(traceback), "outcome": "failed"}
        name = getattr(test, "test_case", test).id()  # without the parameters of a subtest
        name = name.partition(" (")[2].rstrip(")") or name  # `setUpClass (module.Class)`
        phase["failure"] = self.explain("of_test", value, name)  # first: what follows cuts the traceback
        phase["longrepr"] = self._exc_info_to_string(err, test)  # type: ignore[attr-defined]
        return phase


def _when(traceback):
    """The phase of a test in which this was raised."""
    while traceback is not None:
        when = PHASES.get(traceback.tb_frame.f_code.co_name)
        if when is not None:
            return when
        traceback = traceback.tb_next
    return "call"

"""`go test -json` as events. A test is `package::Test/subtest`.

A package must end. A test without an end did not pass (except a benchmark, which go never ends): if its
package failed, the process died during the test. A package that failed while none of its tests did could not
be built, or failed outside of them. Some versions of go say so in plain lines (`FAIL\tp [setup failed]`) or
only in a `build-fail`: these count as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

import msgspec
from msgspec.structs import replace

from proctor import decoding
from proctor import events as e
from proctor.outcome import Outcome
from proctor.result import Excerpt
from proctor.text import first_line
from proctor.wire.reports.report import JsonLines, finished, moment

_PANICKED = "panic"
_OUTCOMES = {"pass": Outcome.PASSED, "fail": Outcome.FAILED, "skip": Outcome.SKIPPED}
_FRAME = re.compile(r"\s*(?:=== (?:RUN|PAUSE|CONT|NAME) |--- (?:PASS|FAIL|SKIP|BENCH): |(?:PASS|FAIL)$)")
_LOGGED = re.compile(r"\s+(\S+\.go):([0-9]{1,9}): (.*)")
_PANIC = re.compile(r"^(?:panic|fatal error): (.+?)(?: \[recovered.*\])?$", re.M)
_PANIC_AT = re.compile(r"^\t(\S+_test\.go):([0-9]{1,9})", re.M)
_LONG = 1000  # characters of a message beyond which two values are not looked for
_COMPARED = re.compile(r"(?:.*\bgot:? |.* = )(.+?)[,;] want:? (.+)")  # as Go's own style has it, in one line
_MEASURED = re.compile(r"(?<![0-9.])([0-9]{1,15}(?:\.[0-9]{1,15})?) ns/op")
_THROUGHPUT = re.compile(r"(?<![0-9.])([0-9]{1,15}(?:\.[0-9]{1,15})?) MB/s")
_COMPILED = re.compile(r"^(?:vet: )?(?:\./)?(\S+\.go):([0-9]{1,9})(?::[0-9]{1,9})?: (.+)$", re.M)
_STATUS = re.compile(r"^(exit status [0-9]{1,9}|signal: .+)$", re.M)
# As go writes it where it writes no JSON.
_PLAIN_FAIL = re.compile(r"FAIL(?:[ \t]+(\S+)(?:[ \t].*)?)?|\s*--- FAIL: .*")
_ENDED_BY_ITSELF = ("PASS\n", "testing: warning: no tests to run\n")  # the testing package says so
_MOST_PLAIN = 1000  # packages that plain lines may name


class Line(msgspec.Struct, rename="pascal"):
    action: str
    time: str = ""
    package: str = ""
    test: str = ""
    elapsed: float = 0.0
    output: str = ""
    output_type: str = ""
    import_path: str = ""
    failed_build: str = ""


class _Test:
    def __init__(self, label: str) -> None:
        self.label = label
        self.output = Excerpt()
        self.errors = Excerpt()  # lines that go marks as errors


class Package:
    def __init__(self) -> None:
        self.open: dict[str, _Test] = {}
        self.failed = False  # one of its tests
        self.panicked = ""  # the test that took the others with it
        self.output = Excerpt()
        self.tested = False  # its tests were run, as far as it has any
        self.says_fail = False  # in what go prints about it


class GoJsonReader(JsonLines):
    format = "go-json"
    decoder = decoding.decoder(Line)

    def __init__(self) -> None:
        super().__init__()
        self._packages: dict[str, Package] = {}  # that have no end yet
        self._builds: dict[str, Excerpt] = {}
        self._not_built: dict[str, None] = {}  # builds that failed, and that no package has named yet
        self._failed_packages: set[str] = set()
        self._plain: dict[str, str] = {}  # packages that plain lines call failed -> the line
        self._plain_fail = False  # a plain line says that something failed
        self._plain_text = Excerpt()
        self._marked = False  # this version of go marks its own lines
        self._seen = False
        self._broken = 0
        self.cut_short: list[str] = []  # how the names of tests begin of which some may never have run
        self._first = self._newest = 0.0

    def _object(self, line: Line) -> Iterator[e.Event]:
        self._seen = True
        self._newest = moment(line.time) or self._newest
        self._first = self._first or self._newest
        self._marked = self._marked or bool(line.output_type)
        if line.action == "build-output":
            self._builds.setdefault(line.import_path, Excerpt()).add(line.output)
        elif line.action == "build-fail":
            self._not_built[line.import_path] = None
        else:
            package = self._packages.setdefault(line.package, Package())
            yield from self._in_test(line, package) if line.test else self._in_package(line, package)

    def _output(self, text: str) -> Iterable[e.Event]:
        """A line that is not JSON: go's own, on stderr or from a version that did not know better."""
        self._plain_text.add(text + "\n")
        if text.startswith("{") and '"Action"' in text:
            self._gaps.append(f"line {self._number} is damaged")
        elif failed := _PLAIN_FAIL.fullmatch(text):
            self._plain_fail = True
            if failed[1] and len(self._plain) < _MOST_PLAIN:
                self._plain.setdefault(failed[1], text)
        else:
            self._outside(text)
        return super()._output(text)

    def _in_test(self, line: Line, package: Package) -> Iterator[e.Event]:
        test = package.open.get(line.test)
        if test is None:
            package.tested = True
            name = f"{line.package}::{line.test}" if line.package else line.test
            test = package.open[line.test] = _Test(self._names.unique(name))
            yield e.TestStarted(test.label)
        if line.action == "output":
            self._printed(line, test)
        elif line.action in _OUTCOMES:
            del package.open[line.test]
            package.failed = package.failed or line.action == "fail"
            ended = _finished(test, _OUTCOMES[line.action], line.elapsed)
            if ended.failure is not None and ended.failure.type == _PANICKED:
                package.panicked = package.panicked or line.test
            yield ended
        elif line.action == "bench":
            del package.open[line.test]
            yield _measured(test) or _finished(test, Outcome.PASSED, line.elapsed)

    def _printed(self, line: Line, test: _Test) -> None:
        if line.output_type != "frame" and (self._marked or not _FRAME.match(line.output)):
            test.output.add(line.output)
        if line.output_type.startswith("error"):
            test.errors.add(line.output)

    def _in_package(self, line: Line, package: Package) -> Iterator[e.Event]:
        if line.action == "output":
            package.output.add(line.output)
            package.tested = package.tested or line.output in _ENDED_BY_ITSELF
            package.says_fail = package.says_fail or line.output.startswith(f"FAIL\t{line.package}")
            yield e.OutputReceived("stdout", line.output)
        elif line.action in _OUTCOMES:
            del self._packages[line.package]
            yield from self._benchmarks(package)
            if line.action != "fail" and package.says_fail:
                self._gaps.append(f"package {line.package} says FAIL, and ended with {line.action}")
            if line.action == "pass" and not package.tested:
                yield e.Noticed(f"{line.package or 'the package'} passed without running any test")
            if line.action == "fail":
                self._failed_packages.add(line.package)
                self._not_built.pop(line.failed_build, None)
                if package.open or package.panicked:
                    self.cut_short.append(f"{line.package}::")
                if line.failed_build or not (package.failed or package.open):
                    self._broken += 1
                    yield self._failed(line, package)
                yield from _lost(package)

    def _benchmarks(self, package: Package) -> Iterator[e.Event]:
        for name, test in list(package.open.items()):
            if name.startswith("Benchmark") and (measured := _measured(test)):
                del package.open[name]
                yield measured

    def _failed(self, line: Line, package: Package) -> e.CollectionFailed:
        built = self._builds.get(line.failed_build)
        text = (built or package.output).text().strip()
        lines = [row for row in text.splitlines() if row.strip() and not row.startswith("#")]
        cause = "" if line.failed_build else "failed, though none of its tests did: "
        if lines and lines[0].startswith("package "):  # how an import cycle begins
            lines = lines[-1:]
        message = cause + (lines[0].strip() if lines else "no reason was given")
        failure = e.Failure("", message)
        if found := _COMPILED.search(text):
            failure = e.Failure("", cause + found[3], e.Place(found[1], int(found[2])))
        return e.CollectionFailed(line.package, failure, text)

    def _unnamed(self) -> Iterator[e.Event]:
        """Failures that have no JSON line of their own."""
        for build in self._not_built:
            package = build.partition(" ")[0]
            if package not in self._failed_packages:
                self._failed_packages.add(package)
                yield self._failed(Line("fail", package=package, failed_build=build), Package())
        for name, text in self._plain.items():
            if name not in self._failed_packages:
                self._failed_packages.add(name)
                self._packages.pop(name, None)
                yield _failed_plainly(name, text, self._plain_text.text())

    def _last(self) -> Iterator[e.Event]:
        unnamed = list(self._unnamed())
        self._broken += len(unnamed)
        yield from unnamed
        for name in self._packages:
            self._gaps.append(f"package {name} has no end")
            self.cut_short.append(f"{name}::")
        if not self._seen and not unnamed:
            self._gaps.append("there is no event of go in it")
        if self._plain_fail and not self._failed_packages:
            self._gaps.append("go says FAIL, and nothing in it failed")
        yield e.SuiteStarted("go", "", len(self._names) + self._broken)
        duration = self._newest - self._first
        yield self._ending(None, len(self._names), duration=duration, created=self._newest)


def _failed_plainly(package: str, line: str, text: str) -> e.CollectionFailed:
    """A package that only plain lines mention; the compiler's messages follow `# package`."""
    rows = text.splitlines()
    start = next((at for at, row in enumerate(rows) if row.split()[:2] == ["#", package]), len(rows))
    said = list(takewhile(lambda row: not row.startswith(("#", "FAIL", "{")), rows[start + 1 :]))
    told = "\n".join(said).strip()
    message, place = first_line(told) or line.replace("\t", " "), None
    if found := _COMPILED.search(told):
        message, place = found[3], e.Place(found[1], int(found[2]))
    return e.CollectionFailed(package, e.Failure("", message, place), told or line)


def _lost(package: Package) -> Iterator[e.Event]:
    """The tests that were under way when the package's process died."""
    status = _STATUS.search(package.output.text())
    for test in package.open.values():
        output = test.output.text().rstrip()
        if package.panicked:
            message = f"cut short: {package.panicked} panicked"
            yield finished(test.label, Outcome.ERROR, message=message, stdout=output)
            continue
        message = "the process ended during the test" + (f" ({status[1]})" if status else "")
        fatal = _failure(test, output) if output else e.Failure()
        failure = e.Failure("", f"{message}: {fatal.message}" if fatal.type else message, fatal.place)
        yield finished(test.label, Outcome.CRASH, message=failure.message, traceback=output, failure=failure)


def _measured(test: _Test) -> e.TestFinished | None:
    """A benchmark that has reported its speed."""
    output = test.output.text()
    if not (found := _MEASURED.search(output)):
        return None
    moved = _THROUGHPUT.search(output)
    ended = finished(test.label, Outcome.PASSED, float(found[1]) / 1e9, stdout=output)
    return replace(ended, subtype="bench", throughput=float(moved[1]) if moved else None)


def _finished(test: _Test, outcome: Outcome, seconds: float) -> e.TestFinished:
    output = test.output.text()
    if outcome is Outcome.PASSED:
        return finished(test.label, outcome, seconds, stdout=output)
    if outcome is Outcome.SKIPPED:
        logged = _LOGGED.match(output)
        return finished(test.label, outcome, seconds, message=logged[3] if logged else output.strip())
    failure = _failure(test, output)
    return finished(
        test.label, outcome, seconds, message=failure.message, traceback=output.rstrip(), failure=failure
    )


def _failure(test: _Test, output: str) -> e.Failure:
    if panicked := _PANIC.search(output):
        at = _PANIC_AT.search(output, panicked.end())
        return e.Failure(_PANICKED, panicked[1], e.Place(at[1], int(at[2])) if at else None)
    errors = test.errors.text() or output
    logged = _LOGGED.match(errors)
    if logged is None:
        return e.Failure("", errors.strip())
    lines = [found[3] if (found := _LOGGED.fullmatch(line)) else line for line in errors.splitlines()]
    message = "\n".join(lines).strip()
    compared = _COMPARED.fullmatch(message) if len(message) < _LONG else None
    actual, expected = compared.groups() if compared else (None, None)
    return e.Failure("", message, e.Place(logged[1], int(logged[2])), expected, actual)

"""The fields of the result document, and its decoder. Unknown words and fields are accepted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec

from proctor import decoding
from proctor import events as e
from proctor.errors import StreamError

# 1: first published form.
SCHEMA = "proctor.result/1"

Count: TypeAlias = Annotated[int, msgspec.Meta(gt=-int(e.LONGEST), lt=int(e.LONGEST))]

T = TypeVar("T")
_STREAMS = ("stdout", "stderr")


class KnownRun(msgspec.Struct):
    """A run that the history of the project has."""

    run_id: str
    commit: str = ""
    started: str = ""
    dirty: bool | msgspec.UnsetType = msgspec.UNSET  # only where it is true


class History(msgspec.Struct):
    """What earlier runs say of a test that ended badly, or of a file that could not be collected."""

    word: str  # new, still, flaky, unknown
    since: KnownRun | None = None
    failed: Count | msgspec.UnsetType = msgspec.UNSET  # only of `flaky`: so many of `results`
    results: Count | msgspec.UnsetType = msgspec.UNSET


class Baseline(msgspec.Struct):
    """The commit with whose code and tests the failures ran again."""

    ref: str = ""
    commit: str = ""
    reason: str = ""  # why some, or all, cannot be told


class TestAttempt(msgspec.Struct):
    """One of several tries at a test."""

    outcome: str
    duration: e.Seconds = 0.0
    message: str | None = None
    failure: e.Failure | None = None


class Test(msgspec.Struct, omit_defaults=True):
    """One test. The first five fields are always written; message and traceback are null if it passed."""

    node_id: str
    outcome: str  # an Outcome, a word of a later version, or `running` in a run under way
    duration: e.Seconds
    message: str | None
    traceback: str | None
    place: e.Place | None = None
    failure: e.Failure | None = None
    files: tuple[e.File, ...] = ()
    testout: e.OutputLink | None = None
    properties: dict[str, Any] | None = None
    subtests: tuple[dict[str, Any], ...] = ()
    part_of: str = ""
    suite: str = ""  # in a run of several
    subtype: str = ""  # bench, should_panic
    throughput: float | None = None
    foreign: e.Foreign | None = None  # what another writer of the public stream said of it
    session: int = 1
    worker: str = ""
    attempts: tuple[TestAttempt, ...] = ()  # all of them, where there were several
    flaky: bool = False
    quarantined: bool = False
    quarantine_reason: str = ""
    history: History | None = None  # of a test that ended badly; None: it was not compared with earlier runs
    baseline: str = ""  # fails, passes, absent, unknown: how it ends with another commit
    baseline_reason: str = ""


class Suite(msgspec.Struct):
    """One of several suites."""

    name: str
    runner: str = ""
    outcome: str = "incomplete"
    reason: str = ""
    exit_code: int | None = None
    signal: str | None = None
    restarts: Count = 0
    restarted: bool = False
    duration: e.Seconds = 0.0
    interpreter: str = ""
    command: tuple[str, ...] = ()
    root: str = ""
    source: str = ""
    not_run: tuple[str, ...] = ()
    counts: dict[str, Count] | None = None
    title: str | None = None  # its name as a stream had it, where that is another
    build: str | None = None  # likewise, where it is not when the run began
    foreign: dict[str, Any] = {}  # what another writer of the public stream said of it
    foreign_end: dict[str, Any] = {}
    toolchain: dict[str, str] = {}
    printed: str = ""  # by plugins, after the tests
    quoted: e.OutputQuoted | None = None  # where no test explains the exit status
    shard_of: str = ""  # as of SuiteEntered
    tries: Count = 1  # how often its shard was started


class CollectionError(msgspec.Struct):
    file: str
    message: str = ""
    traceback: str = ""
    failure: e.Failure | None = None
    suite: str = ""
    foreign: e.Foreign | None = None
    history: History | None = None  # these three as of a test
    baseline: str = ""
    baseline_reason: str = ""


class CountedWarning(msgspec.Struct):
    category: str
    message: str
    file: str
    line: int
    count: int = 1


class Document(msgspec.Struct):
    """A run. `json_report` stays encoded: it is half of the document, and most readers need none of it."""

    schema: str
    run_id: str
    outcome: str
    reason: str = ""
    exit_code: int | None = None
    signal: str | None = None
    restarts: Count = 0  # sessions after the first of each suite
    restarted: bool = False  # a session died, and another one went on
    summary: dict[str, Count | e.Seconds] = {}
    runner: str = ""
    interpreter: str = ""
    command: tuple[str, ...] = ()
    source: str = ""
    started: str = ""
    collect_only: bool = False
    invocation: e.Invocation | None = None
    plan: e.TestsPlanned | None = None  # of which the run is a part
    title: str | None = None  # as of Suite
    build: str | None = None
    foreign: dict[str, Any] = {}
    foreign_end: dict[str, Any] = {}
    toolchain: dict[str, str] = {}
    printed: str = ""
    quoted: e.OutputQuoted | None = None
    suites: list[Suite] = []
    missing: list[e.SuiteMissing] = []  # suites that could not be started
    fixed: tuple[str, ...] | None = None  # ids; None: it was not compared with earlier runs
    compared_with: KnownRun | None = None
    checkout: e.CheckedOut | None = None  # None: without git, or nobody knows
    baseline: Baseline | None = None
    current_test: str | None = None
    notices: list[str] = []
    tests: list[Test] = []
    json_report: msgspec.Raw = msgspec.Raw(b"{}")
    collection_errors: list[CollectionError] = []
    warnings: list[CountedWarning] = []
    not_run: tuple[str, ...] = ()
    text_output: str = ""
    stderr: str = ""

    def captured(self, test: str) -> tuple[Captured, ...]:
        """What a test printed and logged, phase by phase."""
        reported = _decoded(self.report.tests, list[_ReportedTest])
        return next((tuple(_captured(known)) for known in reported if known.nodeid == test), ())

    def outputs(self) -> dict[str, tuple[str, str]]:
        """What each test wrote to stdout and stderr, by its id; without those that wrote nothing."""
        found = {}
        for test in _decoded(self.report.tests, list[_ReportedTest]):
            phases = [phase for phase in (test.setup, test.call, test.teardown) if phase is not None]
            if any(phase.stdout or phase.stderr for phase in phases):
                stdout, stderr = ("".join(getattr(phase, name) for phase in phases) for name in _STREAMS)
                found[test.nodeid] = stdout, stderr
        return found

    def reported(self) -> list[Reported] | None:
        """The tests as `json_report` has them; None where it has no list."""
        raw = _decoded(self.json_report, _Listed).tests
        return None if isinstance(raw, msgspec.UnsetType) else raw

    def skipped_whole(self) -> set[str]:
        """Modules and packages that were skipped as a whole: `json_report` has them among its collectors."""
        listed = _decoded(self.json_report, _Collectors).collectors
        return {collector.nodeid for collector in listed if collector.outcome == "skipped"}

    @property
    def report(self) -> JsonReport:
        return _decoded(self.json_report, JsonReport)


class Captured(msgspec.Struct, frozen=True):
    """What a phase of a test wrote."""

    when: str
    kind: str  # stdout, stderr, log
    text: str


class _ReportedPhase(msgspec.Struct):
    stdout: str = ""
    stderr: str = ""
    log: list[dict[str, Any]] = []


class _ReportedTest(msgspec.Struct):
    nodeid: str
    setup: _ReportedPhase | None = None
    call: _ReportedPhase | None = None
    teardown: _ReportedPhase | None = None


class Reported(msgspec.Struct):
    """A test of pytest-json-report's document, without its phases."""

    nodeid: str
    outcome: str


class JsonReport(msgspec.Struct):
    """The document of pytest-json-report, without its long lists."""

    root: str = ""  # where the ids of a single suite's tests begin
    exitcode: int | None = None
    summary: dict[str, int] = {}
    tests: msgspec.Raw = msgspec.Raw(b"[]")


class _Listed(msgspec.Struct):
    tests: list[Reported] | msgspec.UnsetType = msgspec.UNSET


class _Collectors(msgspec.Struct):
    collectors: list[Reported] = []


def read(raw: bytes) -> Document:
    from proctor.wire.reports.report import decode  # a run only writes a document

    try:
        return decode(raw, decoding.decoder(Document))
    except ValueError as error:
        raise StreamError(f"not a result document: {error}") from None


def _decoded(raw: msgspec.Raw, kind: type[T]) -> T:
    try:
        return decoding.decode(raw, kind)
    except msgspec.MsgspecError as error:
        raise StreamError(f"json_report cannot be read: {error}") from None


def _captured(test: _ReportedTest) -> Iterator[Captured]:
    for when in ("setup", "call", "teardown"):
        phase: _ReportedPhase | None = getattr(test, when)
        if phase is not None:
            log = "\n".join(map(_log_line, phase.log))
            texts = {"stdout": phase.stdout, "stderr": phase.stderr, "log": log}
            yield from (Captured(when, kind, text) for kind, text in texts.items() if text)


def _log_line(record: dict[str, Any]) -> str:
    return f"{record.get('levelname')} {record.get('name')}: {record.get('msg')}"


def without_result(test: str, outcome: str, files: tuple[e.File, ...] = ()) -> Test:
    """A test that has not ended, or has never begun."""
    return Test(test, outcome, 0.0, None, None, files=files)

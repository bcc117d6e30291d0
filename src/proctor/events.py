"""The facts of a run, in the order in which they became known: frozen and flat.

Time and order are not part of a fact: they live in the envelope, `Entry`.

Annotations are values here, not texts, because msgspec has to read them whenever proctor starts.
"""

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias

import msgspec

from proctor.outcome import BAD, Outcome, RunOutcome

LONGEST = 1e10  # seconds: what took longer, or was later, is a number and no time
Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=-LONGEST, lt=LONGEST)]
MOST_LINES = 1_000_000_000  # of a file
Line: TypeAlias = Annotated[int, msgspec.Meta(gt=-MOST_LINES, lt=MOST_LINES)]


_PLANNED = 10_000  # tests in one part of a plan


class Fact(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Frozen, so it cannot be part of a cycle: the collector need not look at the many there are."""


class Place(Fact, frozen=True):
    """A line of a file; the file is relative to the project where it can be, the line counts from 1."""

    file: str
    line: Line = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class Calls(Fact, frozen=True):
    """A part of a call path: these places one after the other, so many times in a row."""

    places: tuple[Place, ...]
    times: int = 1


class Failure(Fact, frozen=True):
    """Why something went wrong: what was raised, in its own words, and the nearest line of user code."""

    type: str = ""
    message: str = ""
    place: Place | None = None
    expected: str | None = None  # both as text, where the reporter compared two values and says so
    actual: str | None = None
    fixture: str = ""  # whose setup or teardown it was
    calls: tuple[Calls, ...] = ()  # the way through user code to the place, outermost first
    difference: tuple[str, ...] = ()  # where two values that were compared differ
    exact: str = ""  # the message as a row escapes it, where it has characters that no UTF-8 can carry
    causes: "tuple[Failure, ...]" = ()  # what it was raised from, or the members of its group
    locals: tuple[str, ...] = ()  # `name = value` of the innermost frame of user code, with `--locals`
    source: tuple[str, ...] = ()  # lines around the place, with pytest's margin, where no trace has them
    notes: tuple[str, ...] = ()  # added to the exception, and the last words of a process that it is about


class CrashSite(Fact, frozen=True):
    """A place as pytest names it, in its own words: the path is not made relative."""

    path: str
    lineno: Line
    message: str


class Phase(Fact, frozen=True):
    """One step of a test (setup, call, teardown, or a subtest) exactly as its framework reported it."""

    when: str
    outcome: str
    duration: Seconds = 0.0
    subtest: str | None = None
    status: str | None = None  # what it counts as, where the framework does not go by the outcome
    wasxfail: str | None = None
    longrepr: str = ""
    crash: CrashSite | None = None
    traceback: tuple[CrashSite, ...] | None = None
    stdout: str = ""
    stderr: str = ""
    log: tuple[dict[str, Any], ...] = ()
    failure: Failure | None = None
    reason: str = ""  # why it was skipped
    user_properties: tuple[dict[str, Any], ...] | None = None
    files: dict[str, str] | None = None  # texts too long to carry: field name -> name of the attached file;
    # `difference` is all of that of which the failure has the first lines, `locals` is JSON
    tails: dict[str, str] | None = None  # how those texts end


class File(Fact, frozen=True):
    """Something that a test attached; the path is relative to the run's directory."""

    name: str
    path: str
    size: int


#: How the names of files end that a reporter attaches to a failure of its own accord.
OWN_FILES = DIFFERENCE, LOCALS = "-difference.txt", "-locals.json"


class OutputLink(Fact, frozen=True):
    """The output of a process under a name that a test gave it; the path is relative to the run's."""

    name: str
    path: str


class Child(Fact, frozen=True):
    """What a collector found: another collector, or a test."""

    id: str
    type: str
    line: Line | None = None
    tested: bool = False  # has a line at all, even an unknown one: it is a test


class Foreign(Fact, frozen=True):
    """Fields of a test that another writer of the public stream added, and those that it left out."""

    more: dict[str, Any] = {}
    absent: tuple[str, ...] = ()  # fields that proctor writes; those of `extra` as `extra.name`


class Invocation(Fact, frozen=True):
    """The command that a person gave, as far as it decides how tests run."""

    project: str  # the directory
    directory: str = ""  # in which the person stood; empty: nobody knows
    options: tuple[str, ...] = ()  # of `proctor run`, without the project, the selection and the outputs
    arguments: tuple[str, ...] = ()  # that follow `--`
    arguments_for: str = ""  # the runner that got them
    kept: bool = True  # the run is in the archive


class RunStarted(Fact, frozen=True):
    run_id: str
    runner: str
    command: tuple[str, ...]
    cwd: str
    interpreter: str
    started: str  # RFC 3339, UTC
    everything: bool = True  # no part of the tests was selected: the project as a whole
    collect_only: bool = False
    source: str = "control"  # a Voice: of the first suite, unless that says it itself
    suites: int = 1  # planned; what a build makes counts as one more
    asked: tuple[str, ...] = ()  # which part of the tests, in words of the command line; the first of many
    retold: bool = False  # from a document or a public stream, which leave out how its sessions went
    invocation: Invocation | None = None  # None: no person gave a command, or nobody knows which
    host: str = ""  # the name of the machine
    retries: int = 0  # how often a test that ended badly may run again
    flaky_fails: bool = False  # a test that passes only when it runs again is a failure of the run


class TestsPlanned(Fact, frozen=True):
    """Tests that the run has to have: its part of a plan that several runs share, or all of that.

    It may come in several parts, which differ in `tests` and `more` alone.
    """

    tests: tuple[str, ...]  # one that is there twice runs twice
    plan: str = ""  # a hash: equal where the plans are
    shard: int = 0  # the number of the part, from 1 on; 0: all parts together
    shards: int = 1
    own: bool = False  # nobody made the plan before: the run has worked it out by itself
    gaps: tuple[str, ...] = ()  # what is known to be missing beside tests that can be named
    more: tuple[str, ...] = ()  # tests that the plan does not know: this run found them, and owes them

    def parts(self) -> "Iterator[TestsPlanned]":
        """The same in pieces that fit into a line of a log each."""
        for first in range(0, max(len(self.tests), len(self.more), 1), _PLANNED):
            these = slice(first, first + _PLANNED)
            yield msgspec.structs.replace(self, tests=self.tests[these], more=self.more[these])

    def followed(self, more: "TestsPlanned") -> "TestsPlanned":
        """With one more part; what is no part of it takes its place."""
        lists = {"tests": self.tests + more.tests, "more": self.more + more.more}
        together = msgspec.structs.replace(more, **lists)
        return together if msgspec.structs.replace(self, **lists) == together else more


class SuiteEntered(Fact, frozen=True):
    """A suite of the run begins. Entries carry its number; suites may overlap in time."""

    name: str
    runner: str
    command: tuple[str, ...]
    cwd: str
    interpreter: str = ""
    source: str = "control"  # a Voice
    following: int = 0  # suites that come after it, as far as is known; what a build makes counts as one
    shard_of: str = ""  # the suite that it is a part of, if it is one
    tries: int = 1  # how often its shard was started; one of them counts
    retold: bool = False  # as of RunStarted: of a suite that was part of another run


class SuiteDescribed(Fact, frozen=True):
    """The framework and its versions are known."""

    root: str
    toolchain: dict[str, str] = {}
    environment: dict[str, Any] = {}
    maxfail: int = 0  # failures after which the framework stops by itself; 0: it does not


class CollectorFinished(Fact, frozen=True):
    id: str
    outcome: str
    children: tuple[Child, ...] = ()
    longrepr: str | None = None


class TestsSelected(Fact, frozen=True):
    """Tests that are to run, in the order in which they will; may come in several parts."""

    tests: tuple[str, ...]
    markers: dict[str, tuple[str, ...]] = {}
    places: dict[str, Place] = {}
    groups: dict[str, str] = {}  # of listed tests that a mark keeps together: the name of their group


class TestsDeselected(Fact, frozen=True):
    tests: tuple[str, ...]


class SuiteStarted(Fact, frozen=True):
    """Everything that will run is known; `count` is the number of tests, collection errors included."""

    name: str
    build: str  # RFC 3339: when collection ended
    count: int
    filtered_out: int = 0  # tests left out whose names are unknown; the others are in `deselected`
    prefix: str = ""  # that the names of its tests begin with and their own tool does without
    foreign: dict[str, Any] = {}  # what another writer of the public stream said of it


class CollectionFailed(Fact, frozen=True):
    file: str
    failure: Failure
    traceback: str = ""
    foreign: Foreign | None = None


class TestStarted(Fact, frozen=True):
    test: str
    place: Place | None = None


class Attempt(Fact, frozen=True):
    """How an earlier try at a test ended; the last try is the end of the test itself."""

    outcome: Outcome
    seconds: Seconds = 0.0
    message: str | None = None
    failure: Failure | None = None


class TestFinished(Fact, frozen=True):
    """The end of a test: the only one, however often it was tried."""

    test: str
    outcome: Outcome
    seconds: Seconds = 0.0
    message: str | None = None
    traceback: str | None = None
    place: Place | None = None  # where the test is defined
    failure: Failure | None = None
    phases: tuple[Phase, ...] = ()
    passed_in: tuple[float, float, float] | None = None  # instead of three phases that say no more than this
    keywords: tuple[str, ...] = ()
    files: tuple[File, ...] = ()
    testout: OutputLink | None = None
    properties: dict[str, Any] | None = None  # what its reporter said about it in keys of its own
    part_of: str = ""  # the test that reported this beside its own result
    subtype: str = ""  # bench, should_panic; nothing for a test like any other
    throughput: float | None = None  # of a benchmark, whose seconds are those of one iteration: MB/s
    foreign: Foreign | None = None
    session: int = 1  # of its suite, in which it ran
    worker: str = ""  # that ran it, where a session has several: gw0
    attempts: tuple[Attempt, ...] = ()  # earlier tries, oldest first

    @property
    def flaky(self) -> bool:
        """It passed after a try that did not."""
        return self.outcome is Outcome.PASSED and any(one.outcome in BAD for one in self.attempts)

    @property
    def tries(self) -> tuple[Attempt, ...]:
        """All of them, the last included, where there were several."""
        last = Attempt(self.outcome, self.seconds, self.message, self.failure)
        return (*self.attempts, last) if self.attempts else ()


class AttemptFailed(Fact, frozen=True):
    """A try at a test ended badly, and the test may run again: its end comes later."""

    result: TestFinished


class TestOverdue(Fact, frozen=True):
    """A test took longer than it may: we interrupt it."""

    test: str
    limit: Seconds


class TestsQuarantined(Fact, frozen=True):
    """Tests whose failures the project does not count, and why."""

    tests: dict[str, str]


class SessionStarted(Fact, frozen=True):
    """Another session of the suite begins; the first one begins with the suite."""

    number: int  # 2 for the second
    died: bool = False  # the one before ended before it was finished
    tests: int = 0  # that it is to run
    round: int = 0  # 0: tests that never began; 1: those that ended badly run for the second time


class ResultAmended(Fact, frozen=True):
    """A partial result arrived: it is still open."""

    test: str
    said: dict[str, Any]


class FileAttached(Fact, frozen=True):
    """A file has arrived whole; the result that it belongs to may still be open."""

    test: str
    file: File


class WarningRecorded(Fact, frozen=True):
    category: str
    message: str
    file: str
    line: Line
    when: str = ""
    test: str = ""


class SessionInterrupted(Fact, frozen=True):
    """The framework stopped on its way: a KeyboardInterrupt, an exit that was asked for, a stop condition."""

    failure: Failure


class SessionBroke(Fact, frozen=True):
    """The framework, not a test, failed: an internal error."""

    failure: Failure
    traceback: str = ""


class SessionFinished(Fact, frozen=True):
    """The framework has finished and announces its exit status."""

    exit_status: int | None  # None: it does not say
    collected: int = 0
    duration: Seconds = 0.0
    created: Seconds = 0.0
    by_tests: int | None = None  # what the reports of its tests alone make of it; None: it does not say


class StatusExplained(Fact, frozen=True):
    """What the exit status of a session means, by the words of the framework that gave it."""

    outcome: RunOutcome
    reason: str = ""


class OutputQuoted(Fact, frozen=True):
    """Lines that a process printed before it ended with a status that no test explains."""

    lines: tuple[str, ...]
    explains: bool = False  # they say why; otherwise they are the last ones


class OutputReceived(Fact, frozen=True):
    stream: str  # stdout, stderr
    text: str
    test: str = ""  # as for ProcessExited


class ChannelBroken(Fact, frozen=True):
    """From here on the channel of the process is broken or cannot be trusted."""

    reason: str


class FaultTraced(Fact, frozen=True):
    """The dump of faulthandler: why the interpreter died and where its main thread was."""

    reason: str
    places: tuple[Place, ...] = ()  # innermost first
    text: str = ""


class RunStopped(Fact, frozen=True):
    """We ended the process, and why: a time limit, or a request of the user or the caller."""

    reason: RunOutcome
    only_suite: bool = False  # by a limit that the process set itself: other suites go on


class ProcessExited(Fact, frozen=True):
    """What the process did; not what we conclude from it."""

    exit_code: int  # minus the signal's number when a signal ended it
    signal: str | None = None
    test: str = ""  # whose process it was, where each test has its own


class SuiteMissing(Fact, frozen=True):
    """The project has tests of this runner, and they could not be started: its tool is not here."""

    runner: str
    reason: str
    required: bool = False  # without it the run is incomplete


class SummaryPrinted(Fact, frozen=True):
    """What plugins of the framework printed after its tests: a coverage table, a list of snapshots."""

    text: str


class Noticed(Fact, frozen=True):
    """A notice about the run itself."""

    text: str


class EarlierRun(Fact, frozen=True):
    """A run that the history of the project has."""

    run_id: str
    commit: str = ""  # empty: without git, or before the first commit
    started: str = ""  # RFC 3339, UTC
    dirty: bool = False  # with changes that were not committed


class TestHistory(Fact, frozen=True):
    """What earlier runs say of a test that ended badly."""

    word: str  # one of WORDS
    since: EarlierRun | None = None  # of `still`: the first of the runs in a row in which it failed
    failed: int = 0  # of `flaky`: how often it failed where it had to pass, of so many results
    results: int = 0


#: `new`: it passed before; `still`: it failed before; `flaky`: it did both without a change of the project.
NEW, STILL, FLAKY_TEST, UNKNOWN = WORDS = ("new", "still", "flaky", "unknown")


class CheckedOut(Fact, frozen=True):
    """What git had checked out when the run began."""

    commit: str = ""  # empty before the first
    branch: str = ""  # empty where HEAD names none
    dirty: bool = False  # with changes that were not committed


class HistoryCompared(Fact, frozen=True):
    """What the history of the project says of this run."""

    tests: dict[str, TestHistory] = {}  # that ended badly, and files that could not be collected
    fixed: tuple[str, ...] = ()  # tests that failed before, and pass now
    compared_with: EarlierRun | None = None  # the newest run that counted; None: there is none
    checkout: CheckedOut | None = None  # None: without git, or nobody knows


#: How a test that failed here ends with the code and the tests of another commit.
FAILS, PASSES, ABSENT, CANNOT_TELL = BASELINE_WORDS = ("fails", "passes", "absent", "unknown")


class BaselineCompared(Fact, frozen=True):
    """How the tests that failed end with the code and the tests of another commit."""

    ref: str  # as it was asked for, or where the branch began
    commit: str = ""
    tests: dict[str, str] = {}  # each with one of BASELINE_WORDS
    reason: str = ""  # why some, or all, cannot be told
    reasons: dict[str, str] = {}  # of single tests, where they have other reasons


class SuiteFinished(Fact, frozen=True):
    """How one suite ended."""

    outcome: RunOutcome
    seconds: Seconds = 0.0
    not_run: tuple[str, ...] = ()
    reason: str = ""
    foreign: dict[str, Any] = {}  # as of SuiteStarted


class RunFinished(Fact, frozen=True):
    """Always the last entry."""

    outcome: RunOutcome
    seconds: Seconds = 0.0
    not_run: tuple[str, ...] = ()
    reason: str = ""


Event: TypeAlias = (
    TestStarted
    | TestFinished
    | AttemptFailed
    | TestOverdue
    | TestsQuarantined
    | SessionStarted
    | ResultAmended
    | FileAttached
    | OutputReceived
    | RunStarted
    | TestsPlanned
    | SuiteEntered
    | SuiteDescribed
    | CollectorFinished
    | TestsSelected
    | TestsDeselected
    | SuiteStarted
    | CollectionFailed
    | WarningRecorded
    | SessionInterrupted
    | SessionBroke
    | SessionFinished
    | StatusExplained
    | OutputQuoted
    | ChannelBroken
    | FaultTraced
    | RunStopped
    | ProcessExited
    | SuiteMissing
    | SummaryPrinted
    | Noticed
    | HistoryCompared
    | BaselineCompared
    | SuiteFinished
    | RunFinished
)


class Entry(Fact, frozen=True):
    """A fact with its place in the run: order, seconds since the start, and the number of its suite."""

    seq: int
    at: float
    suite: int  # 0 is the first; of a fact about the run as a whole it says nothing
    event: Event

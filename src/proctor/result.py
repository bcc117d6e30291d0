"""A run as far as it is known: what `fold` builds and every reader reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from itertools import chain
from typing import Any, TypeVar

import msgspec

from proctor.events import (
    UNKNOWN,
    BaselineCompared,
    CollectionFailed,
    CollectorFinished,
    FaultTraced,
    File,
    HistoryCompared,
    OutputQuoted,
    Place,
    ProcessExited,
    RunStarted,
    SessionBroke,
    SessionFinished,
    SessionInterrupted,
    StatusExplained,
    SuiteDescribed,
    SuiteEntered,
    SuiteMissing,
    TestFinished,
    TestHistory,
    TestsPlanned,
    WarningRecorded,
)
from proctor.outcome import BAD, EXIT_CODES, FLAKY, QUARANTINED, Outcome, RunOutcome

T = TypeVar("T")

SEVERAL = "suites"  # what documents, and logs of version 1, say of the source of a run with several suites
KEPT = 1 << 20  # characters of a text that stay in memory: half at its head, half at its tail


class Excerpt:
    """A text that may grow without end: its head and its tail are kept, the middle is counted."""

    def __init__(self, kept: int = KEPT) -> None:
        self._half = kept // 2
        self._head: list[str] = []
        self._head_size = 0
        self._tail: list[str] = []
        self._tail_size = 0
        self.dropped = 0

    def add(self, text: str) -> None:
        room = self._half - self._head_size
        if room > 0:
            self._head.append(text[:room])
            self._head_size += min(room, len(text))
            text = text[room:]
        if not text:
            return
        self._tail.append(text)
        self._tail_size += len(text)
        if self._tail_size > 2 * self._half:
            whole = "".join(self._tail)
            self._tail = [whole[-self._half :]]
            self.dropped += len(whole) - self._half
            self._tail_size = self._half

    def text(self, whole: str = "") -> str:
        """What is kept; a cut is marked, with `whole` as the place where everything is."""
        tail = "".join(self._tail)
        cut = self.dropped
        if cut or len(tail) > self._half:
            cut += max(0, len(tail) - self._half)
            tail = tail[-self._half :]
            where = f"; the whole is in {whole}" if whole else ""
            tail = f"\n[... {cut} characters left out{where} ...]\n{tail}"
        return "".join(self._head) + tail


class _Joined(Mapping[str, T]):
    """Several dictionaries as one, without a copy: ids are unique in a run."""

    def __init__(self, parts: list[dict[str, T]]) -> None:
        self._parts = parts

    def __getitem__(self, name: str) -> T:
        for part in self._parts:
            if name in part:
                return part[name]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(name in part for part in self._parts)

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._parts)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def items(self) -> ItemsView[str, T]:
        return _Items(self, self._parts)

    def values(self) -> ValuesView[T]:
        return _Values(self, self._parts)


class _Items(ItemsView[str, T]):
    """Without a search for each of them: there may be a thousand parts."""

    def __init__(self, whole: Mapping[str, T], parts: list[dict[str, T]]) -> None:
        super().__init__(whole)
        self._parts = parts

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return chain.from_iterable(part.items() for part in self._parts)


class _Values(ValuesView[T]):
    """Likewise."""

    def __init__(self, whole: Mapping[str, T], parts: list[dict[str, T]]) -> None:
        super().__init__(whole)
        self._parts = parts

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(part.values() for part in self._parts)


def _joined(parts: list[dict[str, T]]) -> Mapping[str, T]:
    return parts[0] if len(parts) == 1 else _Joined(parts)


def _first(values: Iterable[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)


def _worst_end(ends: Iterable[ProcessExited | None]) -> ProcessExited | None:
    """The first process that did not end with 0, or else the last."""
    known = [end for end in ends if end is not None]
    return next((end for end in known if end.exit_code), known[-1] if known else None)


class Session(msgspec.Struct):
    """What one session of a suite reported, and how its process ended. A restart begins a new session."""

    described: SuiteDescribed | None = None
    interrupted: SessionInterrupted | None = None
    broke: SessionBroke | None = None
    finished: SessionFinished | None = None
    explained: StatusExplained | None = None
    quoted: OutputQuoted | None = None  # where no test explains the exit status
    fault: FaultTraced | None = None
    printed: str = ""  # by plugins of the framework, after its tests
    channel_error: str | None = None
    exited: ProcessExited | None = None  # of several processes, the first that did not end with 0
    overdue: dict[str, float] = {}  # tests that we interrupted, and how long each was allowed to take
    lost: tuple[str, ...] = ()  # tests that were running when its process ended
    follows_death: bool = False  # the session before it died
    round: int = 0  # as of SessionStarted

    @property
    def died(self) -> bool:
        """It ended before it was finished, and nobody stopped it, except for a test that took too long."""
        if self.overdue:
            return True
        if self.finished is not None or self.exited is None or self.exited.signal == "SIGINT":
            return False
        stopped = (self.broke, self.explained, self.interrupted, self.channel_error)
        return all(reason is None for reason in stopped)


class Doubled(msgspec.Struct):
    """Tests of one name."""

    times: int  # that it was selected
    left: int  # of these, how many have not begun


class SuiteResult(msgspec.Struct):
    """The tests of one framework or one set of programs, as far as they are known."""

    run: RunStarted  # what it is a part of
    entered: SuiteEntered
    started: float = 0.0  # seconds since the start of the run
    sessions: list[Session] = msgspec.field(default_factory=lambda: [Session()])
    stopped: RunOutcome | None = None  # the run was stopped before this suite ended
    count: int | None = None  # tests that are to run, once that is known
    build: str = ""
    title: str = ""  # as SuiteStarted has its name
    filtered_out: int = 0  # likewise
    foreign: dict[str, Any] = {}  # likewise
    foreign_end: dict[str, Any] = {}  # as SuiteFinished has it
    selected: dict[str, None] = {}  # in the order in which they run; each once
    doubled: dict[str, Doubled] = {}  # those that were selected several times
    places: dict[str, Place] = {}
    markers: dict[str, tuple[str, ...]] = {}
    groups: dict[str, str] = {}  # as of TestsSelected
    deselected: list[str] = []
    collectors: list[CollectorFinished] = []
    collected: int = 0  # tests that they found
    errors: list[CollectionFailed] = []
    tests: dict[str, TestFinished] = {}
    parts: int = 0  # how many of these are results that tests reported beside their own
    attempts: dict[str, list[TestFinished]] = {}  # tries at tests that may run again, oldest first
    quarantined: dict[str, str] = {}  # tests whose failures do not count, and why
    running: dict[str, float] = {}
    attached: dict[str, list[File]] = {}  # of results that are not closed yet
    counts: Counter[Outcome] = msgspec.field(default_factory=Counter)  # without the next two
    flaky: int = 0  # tests that passed when they ran again
    excused: int = 0  # tests that ended badly in quarantine
    warnings: list[WarningRecorded] = []
    outcome: RunOutcome = RunOutcome.RUNNING
    reason: str = ""  # why the outcome is what it is, where the tests alone do not say it
    seconds: float = 0.0
    not_run: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.entered.name

    @property
    def source(self) -> str:
        return self.entered.source

    @property
    def whole_name(self) -> str:
        """The same for all shards of a suite, and for the suite that is not divided."""
        return self.entered.shard_of or self.name

    @property
    def retold(self) -> bool:
        """Its record leaves out how its sessions went: a document or a public stream."""
        return self.run.retold or self.entered.retold

    @property
    def session(self) -> Session:
        """The newest."""
        return self.sessions[-1]

    @property
    def described(self) -> SuiteDescribed | None:
        return self.sessions[0].described

    @property
    def broke(self) -> SessionBroke | None:
        return _first(session.broke for session in self.sessions)

    @property
    def exited(self) -> ProcessExited | None:
        return _worst_end(session.exited for session in self.sessions)

    @property
    def quoted(self) -> OutputQuoted | None:
        return _first(session.quoted for session in self.sessions)

    @property
    def printed(self) -> str:
        """By plugins of the framework, after its tests."""
        return "".join(session.printed for session in self.sessions)

    @property
    def restarts(self) -> int:
        """Sessions after the first."""
        return len(self.sessions) - 1

    @property
    def restarted(self) -> bool:
        """A session died, and another one went on: fixtures of sessions were set up again."""
        return any(session.follows_death for session in self.sessions)

    def excuses(self, test: TestFinished) -> bool:
        """Whether it ended badly and that does not count: it is in quarantine."""
        return test.outcome in BAD and test.test in self.quarantined

    def counted(self, test: TestFinished) -> str:
        """As what a test counts: its outcome, unless that is not all there is to it."""
        if self.quarantined and self.excuses(test):
            return QUARANTINED
        return FLAKY if test.attempts and test.flaky else test.outcome

    @property
    def bad(self) -> int:
        """Tests that have ended badly so far, also those that may run again."""
        return sum(self.counts[outcome] for outcome in BAD) + len(self.attempts)

    def makes_good(self, test: str) -> bool:
        """Whether it does not matter that a session was lost with it: it is in quarantine or passed later."""
        ended = self.tests.get(test)
        return test in self.quarantined or (ended is not None and ended.flaky)

    @property
    def done(self) -> int:
        """Of the tests that are expected, those that have a result."""
        return len(self.tests) - self.parts + len(self.errors)

    @property
    def left_out(self) -> int:
        """Tests that were there and were not asked for, named or only counted."""
        return self.filtered_out or len(self.deselected)


class RunResult(msgspec.Struct):
    """Facts in, conclusions out; nothing here reads a clock or a file. Totals are those of the suites."""

    run: RunStarted
    suites: list[SuiteResult]  # at least one
    stopped: RunOutcome | None = None
    outcome: RunOutcome = RunOutcome.RUNNING
    reason: str = ""
    seconds: float = 0.0
    missing: list[SuiteMissing] = []  # suites that could not be started
    planned: TestsPlanned | None = None  # None: the run is no part of a plan
    not_found: tuple[str, ...] = ()  # tests of the plan that no suite has, once the run is over
    notices: list[str] = []
    waiting: str = ""  # what keeps all tests from going on: shown while that lasts, and no part of the end
    history: HistoryCompared | None = None  # None: it was not compared with earlier runs
    baseline: BaselineCompared | None = None  # None: nobody asked for it
    output: Excerpt = msgspec.field(default_factory=Excerpt)
    stderr: Excerpt = msgspec.field(default_factory=Excerpt)

    @property
    def several(self) -> bool:
        """It has more than one suite, or was meant to have."""
        return len(self.suites) > 1 or self.run.suites > 1 or self.run.source == SEVERAL

    @property
    def tests(self) -> Mapping[str, TestFinished]:
        return _joined([suite.tests for suite in self.suites])

    @property
    def running(self) -> Mapping[str, float]:
        return _joined([suite.running for suite in self.suites])

    @property
    def selected(self) -> Mapping[str, None]:
        return _joined([suite.selected for suite in self.suites])

    @property
    def places(self) -> Mapping[str, Place]:
        return _joined([suite.places for suite in self.suites])

    @property
    def markers(self) -> Mapping[str, tuple[str, ...]]:
        return _joined([suite.markers for suite in self.suites])

    @property
    def attached(self) -> Mapping[str, list[File]]:
        return _joined([suite.attached for suite in self.suites])

    @property
    def deselected(self) -> list[str]:
        return [test for suite in self.suites for test in suite.deselected]

    @property
    def collectors(self) -> list[CollectorFinished]:
        return [collector for suite in self.suites for collector in suite.collectors]

    @property
    def collection_errors(self) -> list[CollectionFailed]:
        return [error for suite in self.suites for error in suite.errors]

    @property
    def warnings(self) -> list[WarningRecorded]:
        return [warning for suite in self.suites for warning in suite.warnings]

    @property
    def not_run(self) -> tuple[str, ...]:
        return (*(test for suite in self.suites for test in suite.not_run), *self.not_found)

    @property
    def counts(self) -> Counter[Outcome]:
        return sum((suite.counts for suite in self.suites[1:]), self.suites[0].counts)

    @property
    def flaky(self) -> int:
        return sum(suite.flaky for suite in self.suites)

    @property
    def bad(self) -> int:
        return sum(suite.bad for suite in self.suites)

    @property
    def excused(self) -> int:
        return sum(suite.excused for suite in self.suites)

    @property
    def restarts(self) -> int:
        return sum(suite.restarts for suite in self.suites)

    @property
    def restarted(self) -> bool:
        return any(suite.restarted for suite in self.suites)

    @property
    def quarantined(self) -> Mapping[str, str]:
        return _joined([suite.quarantined for suite in self.suites])

    @property
    def left_out(self) -> int:
        return sum(suite.left_out for suite in self.suites)

    @property
    def described(self) -> SuiteDescribed | None:
        return _first(suite.described for suite in self.suites)

    @property
    def broke(self) -> SessionBroke | None:
        return _first(suite.broke for suite in self.suites)

    @property
    def exited(self) -> ProcessExited | None:
        return _worst_end(suite.exited for suite in self.suites)

    @property
    def finished(self) -> SessionFinished | None:
        """Of the only session; several have no end in common."""
        return None if self.several else self.suites[0].session.finished

    @property
    def current_test(self) -> str | None:
        """The first test that was running when its process ended before its time."""
        lost = (Outcome.CRASH, Outcome.TIMEOUT)
        for suite in self.suites:
            if any(suite.counts[outcome] for outcome in lost):
                tests = (test for test in suite.tests.values() if not suite.excuses(test))
                return next(test.test for test in tests if test.outcome in lost)
        return None

    @property
    def expected(self) -> int | None:
        """Tests of the run, as far as its suites have counted them; None while one under way has not."""
        if any(suite.count is None and suite.outcome is RunOutcome.RUNNING for suite in self.suites):
            return None
        return sum(suite.count or 0 for suite in self.suites)

    @property
    def done(self) -> int:
        """Of the tests that are expected, those that have a result."""
        return sum(suite.done for suite in self.suites)

    @property
    def collecting(self) -> str:
        """What to show while the tests are not counted yet."""
        found = sum(suite.collected for suite in self.suites)
        return f"collecting ({found:,} so far)" if found else "collecting"

    @property
    def failing(self) -> list[str]:
        """Files that could not be collected, then tests that crashed or took too long, then the others."""
        bad = [
            test
            for suite in self.suites
            for test in suite.tests.values()
            if test.outcome in BAD and not suite.excuses(test)
        ]
        bad.sort(key=lambda test: test.outcome not in (Outcome.CRASH, Outcome.TIMEOUT))
        files = (error.file for error in self.collection_errors)
        return list(dict.fromkeys([*files, *(test.test for test in bad)]))

    def earlier(self, test: str) -> TestHistory | None:
        """What earlier runs say of a test that ended badly; None where they say nothing."""
        found = self.history.tests.get(test) if self.history is not None else None
        return None if found is None or found.word == UNKNOWN else found

    def find_missing(self) -> tuple[str, ...]:
        """Tests that the run owes, and no suite has."""
        if self.planned is None or self.run.collect_only:
            return ()
        known = set[str]().union(*(names for suite in self.suites for names in (suite.selected, suite.tests)))
        known.update(test for suite in self.suites for test in suite.not_run)
        owed = dict.fromkeys((*self.planned.tests, *self.planned.more))
        return tuple(test for test in owed if test not in known)

    @property
    def exit_code(self) -> int:
        """proctor's own exit code for this outcome. Having no tests is no fault of a part of a plan."""
        part = self.planned if self.planned is not None and self.planned.shard else None
        nothing_owed = part is not None and not (part.tests or part.gaps or part.more)
        return 0 if self.outcome is RunOutcome.NO_TESTS and nothing_owed else EXIT_CODES[self.outcome]

    def summary(self) -> dict[str, Any]:
        """The counts as the document has them: each test once, collection errors beside them."""
        counts, deselected = self.counts, sum(len(suite.deselected) for suite in self.suites)
        errors = counts[Outcome.ERROR] + counts[Outcome.CRASH] + counts[Outcome.TIMEOUT]
        return {
            "total": sum(len(suite.tests) for suite in self.suites),
            "passed": counts[Outcome.PASSED],
            "failed": counts[Outcome.FAILED],
            "skipped": counts[Outcome.SKIPPED],
            "errors": errors + len(self.collection_errors),
            "xfailed": counts[Outcome.XFAILED],
            "xpassed": counts[Outcome.XPASSED],
            "flaky": self.flaky,
            "quarantined": self.excused,
            "info": counts[Outcome.INFO],
            "warn": counts[Outcome.WARN],
            "deselected": deselected,
            "not_run": len(self.not_run),
            "duration": round(self.seconds, 6),
        }

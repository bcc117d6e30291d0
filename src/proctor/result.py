"""A run as far as it is known: what `fold` builds and every reader reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from proctor.events import (
    CollectionFailed,
    CollectorFinished,
    FaultTraced,
    File,
    Place,
    ProcessExited,
    RunStarted,
    SessionBroke,
    SessionFinished,
    SessionInterrupted,
    SuiteDescribed,
    SuiteEntered,
    SuiteFinished,
    TestFinished,
    WarningRecorded,
)
from proctor.outcome import EXIT_CODES, Outcome, RunOutcome

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


class Mark(msgspec.Struct, frozen=True):
    """How much a result held at some moment: between two of them lies what is one suite's."""

    at: float = 0.0
    tests: int = 0
    selected: int = 0
    deselected: int = 0
    collection_errors: int = 0
    counts: dict[Outcome, int] = {}


class SuiteRecord(msgspec.Struct, frozen=True):
    """One of several suites, when it has ended."""

    entered: SuiteEntered
    finished: SuiteFinished
    described: SuiteDescribed | None
    count: int | None
    filtered_out: int
    broke: SessionBroke | None
    exited: ProcessExited | None
    begin: Mark
    end: Mark

    def tests(self, result: Result) -> Iterator[TestFinished]:
        return islice(result.tests.values(), self.begin.tests, self.end.tests)

    @property
    def counts(self) -> dict[Outcome, int]:
        """Its tests by their outcomes, those that have any."""
        begin = self.begin.counts
        grown = {outcome: count - begin.get(outcome, 0) for outcome, count in self.end.counts.items()}
        return {outcome: count for outcome, count in grown.items() if count}


class Result(msgspec.Struct):
    """Facts in, conclusions out; nothing here reads a clock or a file.

    Of a run with several suites: while it runs, what is said of processes and sessions is the present
    suite's; tests, counts, errors and warnings are always the run's.
    """

    run: RunStarted
    suites: list[SuiteRecord] = []  # that have ended; none in a run of a single one
    entered: SuiteEntered | None = None  # the present suite, or the newest
    in_suite: bool = False
    mark: Mark = Mark()  # when it began
    suite: SuiteDescribed | None = None
    count: int | None = None  # tests that are to run, once that is known
    build: str = ""
    filtered_out: int = 0
    selected: dict[str, None] = {}  # in the order in which they run; each once
    places: dict[str, Place] = {}
    markers: dict[str, tuple[str, ...]] = {}
    deselected: list[str] = []
    collectors: list[CollectorFinished] = []
    collection_errors: list[CollectionFailed] = []
    tests: dict[str, TestFinished] = {}
    parts: int = 0  # of these: what tests reported beside their own results
    running: dict[str, float] = {}
    attached: dict[str, list[File]] = {}  # of results that are not closed yet
    counts: Counter[Outcome] = msgspec.field(default_factory=Counter)
    warnings: list[WarningRecorded] = []
    interrupted: SessionInterrupted | None = None
    broke: SessionBroke | None = None
    finished: SessionFinished | None = None
    fault: FaultTraced | None = None
    channel_error: str | None = None
    stopped: RunOutcome | None = None
    exited: ProcessExited | None = None
    outcome: RunOutcome = RunOutcome.RUNNING
    reason: str = ""  # why the outcome is what it is, where the tests alone do not say it
    seconds: float = 0.0
    current_test: str | None = None  # what was running when the process ended before its time
    not_run: tuple[str, ...] = ()
    notices: list[str] = []
    output: Excerpt = msgspec.field(default_factory=Excerpt)
    stderr: Excerpt = msgspec.field(default_factory=Excerpt)

    @property
    def source(self) -> str:
        """The voice of the present suite."""
        return self.entered.source if self.entered is not None else self.run.source

    @property
    def expected(self) -> int | None:
        """Tests of the run, as far as its suites have counted them; None while the present one has not."""
        if not self.suites or (self.in_suite and self.count is None):
            return self.count
        return sum(suite.count or 0 for suite in self.suites) + ((self.count or 0) if self.in_suite else 0)

    @property
    def done(self) -> int:
        """Of the tests that are expected, those that have a result."""
        return len(self.tests) - self.parts + len(self.collection_errors)

    def own_tests(self) -> Iterator[TestFinished]:
        """Of the present suite."""
        return islice(self.tests.values(), self.mark.tests, None)

    def own_selected(self) -> Iterator[str]:
        return islice(self.selected, self.mark.selected, None)

    def own_deselected(self) -> list[str]:
        return self.deselected[self.mark.deselected :] if self.mark.deselected else self.deselected

    def own_errors(self) -> list[CollectionFailed]:
        return self.collection_errors[self.mark.collection_errors :]

    def own_counts(self) -> Counter[Outcome]:
        return Counter({outcome: n - self.mark.counts.get(outcome, 0) for outcome, n in self.counts.items()})

    def marked(self, at: float) -> Mark:
        """As much as there is now."""
        return Mark(
            at,
            len(self.tests),
            len(self.selected),
            len(self.deselected),
            len(self.collection_errors),
            dict(self.counts),
        )

    @property
    def exit_code(self) -> int:
        """proctor's own exit code for this outcome."""
        return EXIT_CODES[self.outcome]

    def summary(self) -> dict[str, Any]:
        """The counts as the document has them: each test once, collection errors beside them."""
        counts = self.counts
        errors = counts[Outcome.ERROR] + counts[Outcome.CRASH] + counts[Outcome.TIMEOUT]
        return {
            "total": len(self.tests),
            "passed": counts[Outcome.PASSED],
            "failed": counts[Outcome.FAILED],
            "skipped": counts[Outcome.SKIPPED],
            "errors": errors + len(self.collection_errors),
            "xfailed": counts[Outcome.XFAILED],
            "xpassed": counts[Outcome.XPASSED],
            "info": counts[Outcome.INFO],
            "warn": counts[Outcome.WARN],
            "deselected": len(self.deselected),
            "not_run": len(self.not_run),
            "duration": round(self.seconds, 6),
        }

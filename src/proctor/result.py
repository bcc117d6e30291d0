"""A run as far as it is known: what `fold` builds and every reader reads."""

from __future__ import annotations

from collections import Counter
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


class Result(msgspec.Struct):
    """Facts in, conclusions out; nothing here reads a clock or a file."""

    run: RunStarted
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

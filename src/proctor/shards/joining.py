"""Publishes the entries of one run again as entries of another, which gets its suites under new numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from proctor import events as e
from proctor.outcome import QUIET
from proctor.result import RunResult, SuiteResult

#: What a run says of itself as a whole: the one that it becomes a part of has its own.
_OF_THE_RUN = (e.RunStarted, e.TestsPlanned, e.HistoryCompared, e.BaselineCompared, e.RunFinished)


class Joined(Protocol):
    """The run that others become a part of."""

    def enter(self, suite: e.SuiteEntered, at: float) -> int:
        """A suite begins; returns its number."""
        ...

    def publish(self, event: e.Event, at: float, suite: int) -> None: ...


class Joining:
    """A sink of the one run. What it publishes belongs to the other."""

    name = "the run that this one is a part of"

    def __init__(
        self,
        joined: Joined,
        label: str = "",
        tries: int = 1,
        wanted: Callable[[e.Entry], e.Event | None] = lambda entry: entry.event,
        shift: float = 0.0,
    ) -> None:
        """`label`: added to the names of the suites, such as `3/10`. `wanted` returns the event as the other
        run gets it, or None. `shift`: seconds from the start of the other run to the start of this one."""
        self._joined, self._label, self._tries = joined, label, tries
        self._wanted, self._shift = wanted, shift
        self._numbers: dict[int, int] = {}
        self._ended: set[int] = set()

    def handle(self, entry: e.Entry, so_far: RunResult) -> None:
        if isinstance(entry.event, e.RunStopped) and not entry.event.only_suite:
            stopped = e.RunStopped(entry.event.reason, only_suite=True)
            for number in [*self._numbers]:
                self._take(e.Entry(entry.seq, entry.at, number, stopped), so_far)
        else:
            self._take(entry, so_far)

    def _take(self, entry: e.Entry, so_far: RunResult) -> None:
        event, at = self._wanted(entry), entry.at + self._shift
        if event is None:
            return
        if isinstance(event, e.RunFinished):
            for number, suite in enumerate(so_far.suites):
                end = self._wanted(e.Entry(entry.seq, entry.at, number, _end(suite)))
                if end is not None and number not in self._ended and not _is_empty(suite):
                    self._publish(end, at, number, so_far)
        elif isinstance(event, e.Noticed):
            text = f"shard {self._label}: {event.text}" if self._label else event.text
            self._joined.publish(e.Noticed(text), at, 0)
        elif isinstance(event, e.SuiteMissing):
            self._joined.publish(event, at, 0)
        elif isinstance(event, e.SuiteEntered):
            self._number(entry.suite, so_far, at)
        elif isinstance(event, e.SuiteStarted):
            name = f"{event.name} {self._label}".strip()
            self._publish(msgspec.structs.replace(event, name=name), at, entry.suite, so_far)
        elif not isinstance(event, _OF_THE_RUN):
            self._publish(event, at, entry.suite, so_far)

    def tick(self, now: float, so_far: RunResult) -> None:
        del now, so_far

    def _publish(self, event: e.Event, at: float, suite: int, so_far: RunResult) -> None:
        if suite in self._ended:
            return
        if isinstance(event, e.SuiteFinished):
            self._ended.add(suite)
        self._joined.publish(event, at, self._number(suite, so_far, at))

    def _number(self, suite: int, so_far: RunResult, at: float) -> int:
        """The number of the suite in the other run, which it enters with its first event."""
        if suite not in self._numbers:
            known = so_far.suites[suite]
            is_shard = so_far.planned is not None and so_far.planned.shard > 0
            entered = msgspec.structs.replace(
                known.entered,
                name=f"{known.name} {self._label}".strip(),
                shard_of=known.whole_name if is_shard else known.entered.shard_of,
                tries=known.entered.tries + self._tries - 1,
                following=0,
                retold=known.retold,
            )
            self._numbers[suite] = self._joined.enter(entered, at)
        return self._numbers[suite]


def _is_empty(suite: SuiteResult) -> bool:
    """A shard that has nothing to run has no suite worth a line."""
    return suite.outcome in QUIET and not (
        suite.selected or suite.tests or suite.errors or suite.reason or suite.deselected
    )


def _end(suite: SuiteResult) -> e.SuiteFinished:
    return e.SuiteFinished(suite.outcome, suite.seconds, suite.not_run, suite.reason, suite.foreign_end)

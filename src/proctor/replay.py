"""Publishes recorded runs again, to the same readers as a live run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from proctor import events as e
from proctor.fold import closing_events
from proctor.outcome import RunOutcome
from proctor.relay import Fault, Relay, Sink
from proctor.result import RunResult
from proctor.verdict import disputed, disputed_run

_UNKNOWN = e.RunStarted("", "", (), "", "", "")
_TESTS = (e.TestStarted, e.TestFinished)


class Replay:
    """Takes entries of one run after another; each run gets readers of its own."""

    def __init__(self, readers: Callable[[], Sequence[Sink]], done: Callable[[RunResult], None]) -> None:
        self._readers, self._done = readers, done
        self._relay: Relay | None = None
        self._at = 0.0
        self._ended = False  # a run has
        self.gaps: list[str] = []  # why runs were cut short, or what in them disagrees
        self._faults: list[Fault] = []

    def take(self, entries: Iterable[e.Entry]) -> None:
        for (at, suite, together), group in groupby(entries, _moment):
            if together and self._relay is not None:
                self._at = at
                self._relay.publish_all([entry.event for entry in group], at, suite)
            else:
                for entry in group:
                    self._publish(entry)

    def tick(self, now: float) -> None:
        if self._relay is not None:
            self._relay.tick(now)

    @property
    def settled(self) -> bool:
        """A run was published, and none is under way. A public stream may still have more suites."""
        if self._relay is None:
            return self._ended
        result = self._relay.result
        return result.run.retold and all(suite.outcome is not RunOutcome.RUNNING for suite in result.suites)

    def check(self) -> None:
        """Raise what made a reader stop: for who tells a run again, being read is all there is to it."""
        if self._faults:
            raise self._faults[0][1]

    def close(self, under_way: str = "") -> None:
        """The input has ended: a run without an end is incomplete.

        `under_way`: a note that the run is still going on; it is then shown as it is so far.
        """
        if self._relay is None:
            return
        if under_way:
            events = (e.Noticed(under_way), e.RunFinished(RunOutcome.RUNNING, self._at))
            self._relay.publish_all(events, self._at)
            self._end(self._relay)
        else:
            self._cut(self._relay, "the stream ends without its final line")

    def _publish(self, entry: e.Entry) -> None:
        event, self._at = entry.event, entry.at
        if isinstance(event, e.RunStarted):
            if self._relay is not None:
                self._cut(self._relay, "another run begins before the final line of this one")
            self._relay = Relay(event, self._readers(), self._faults)
            return
        if self._relay is None:
            self._relay = Relay(_UNKNOWN, self._readers(), self._faults)
        self._relay.publish(self._judged(event, entry.suite, self._relay.result), entry.at, entry.suite)
        if isinstance(event, e.RunFinished):
            self._end(self._relay)

    def _judged(self, event: e.Event, suite: int, result: RunResult) -> e.Event:
        """An end, with the verdict by the facts if that is worse: a record may have been changed."""
        if isinstance(event, e.SuiteFinished):
            found = disputed(result.suites[suite], event.outcome) if suite < len(result.suites) else None
        elif isinstance(event, e.RunFinished):
            found = disputed_run(result, event.outcome)
        else:
            return event
        if found is None:
            return event
        outcome, reason = found
        self.gaps.append(reason)
        return replace(event, outcome=outcome, reason=reason)

    def _cut(self, relay: Relay, reason: str) -> None:
        self.gaps.append(reason)
        for suite, event in cut_short(relay.result, self._at, reason):
            relay.publish(event, self._at, suite)
        self._end(relay)

    def _end(self, relay: Relay) -> None:
        relay.tick(self._at)
        self._relay, self._ended = None, True
        self._done(relay.result)


def _moment(entry: e.Entry) -> tuple[float, int, bool]:
    """Entries of one moment are published together, unless one of them needs a check of its own."""
    return entry.at, entry.suite, type(entry.event) in _TESTS


def cut_short(result: RunResult, at: float, reason: str) -> Iterator[tuple[int, e.Event]]:
    """Endings for a record that ends before its run did: from what is missing, nothing is concluded.

    Each comes with the number of its suite, and is to be folded before the next is asked for.
    """
    for number, suite in enumerate(result.suites):
        if suite.outcome is RunOutcome.RUNNING:
            yield number, e.ChannelBroken(reason)
    outcome = result.stopped or RunOutcome.INCOMPLETE
    for number, event in closing_events(result, at):
        if isinstance(event, e.SuiteFinished):
            suite = result.suites[number]
            why = f"{reason}{_missing(suite.done, suite.count)}"
            event = e.SuiteFinished(outcome, event.seconds, event.not_run, why)
        elif isinstance(event, e.RunFinished):
            event = e.RunFinished(
                outcome, at, event.not_run, f"{reason}{_missing(result.done, result.expected)}"
            )
        yield number, event


def _missing(seen: int, count: int | None) -> str:
    return f"; {count - seen} of {count} tests have no result" if count and seen < count else ""

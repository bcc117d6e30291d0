"""One run from many. Each is read, judged by its own facts, and becomes suites of one result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from proctor import events as e
from proctor.errors import StreamError, UsageError
from proctor.relay import Relay, Sink
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.shards.joining import Joining
from proctor.shards.part import planned
from proctor.shards.plan import Plan
from proctor.wire.relabel import SuiteLabels


class Recorded(msgspec.Struct, frozen=True):
    """A run that was written down."""

    name: str  # what users call it: a path, the id of a run
    entries: Callable[[], Iterator[Sequence[e.Entry]]]  # read anew with each call


class _Merged:
    """The run that the others become parts of."""

    def __init__(self, relay: Relay) -> None:
        self._relay, self._labels = relay, SuiteLabels(())
        self._entered = 0
        self.until = 0.0

    def enter(self, suite: e.SuiteEntered, at: float) -> int:
        number, self._entered = self._entered, self._entered + 1
        self.publish(suite, at, number)
        return number

    def publish(self, event: e.Event, at: float, suite: int) -> None:
        self.until = max(self.until, at)
        self._relay.publish(self._labels.relabelled(event, suite), at, suite)


def merge(
    runs: Sequence[Recorded], plan: Plan | None, started: e.RunStarted, sinks: Iterable[Sink]
) -> RunResult:
    """Publishes all of them to the readers."""
    seen = [_seen(run) for run in runs]
    relay = Relay(started, sinks)
    merged = _Merged(relay)
    due = _due([result.planned for result in seen if result.planned is not None], plan)
    if due is not None:
        relay.publish(due, 0.0)
    for run, result in zip(runs, seen, strict=True):
        label = f"{result.planned.shard}/{result.planned.shards}" if result.planned is not None else ""
        _replay(run, [Joining(merged, label)])
    return relay.close(merged.until)


def _seen(run: Recorded) -> RunResult:
    results = _replay(run, [])
    if len(results) != 1:
        raise UsageError(f"{run.name} has {len(results)} runs: expected one")
    return results[0]


def _replay(run: Recorded, readers: list[Sink]) -> list[RunResult]:
    results: list[RunResult] = []
    replay = Replay(lambda: readers, results.append)
    try:
        for entries in run.entries():
            replay.take(entries)
    except StreamError as error:
        raise UsageError(f"{run.name} cannot be merged: {error}") from None
    replay.close()
    replay.check()
    return results


def _due(found: Sequence[e.TestsPlanned], plan: Plan | None) -> e.TestsPlanned | None:
    """What the merged run has to have."""
    if plan is not None:
        return planned(plan, 0)
    if not found:
        return None
    shards, have = found[0].shards, {one.shard for one in found}
    gaps = tuple(f"shard {one}/{shards} is not here" for one in range(1, shards + 1) if one not in have)
    tests = tuple(test for one in found for test in one.tests)
    return e.TestsPlanned(tests, found[0].plan, 0, shards, gaps=gaps)

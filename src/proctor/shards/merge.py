"""One run from many: each record is read to decide what counts, then read again and published as suites of
one result."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from proctor import events as e
from proctor.errors import UsageError
from proctor.outcome import RunOutcome
from proctor.relay import Relay, Sink
from proctor.result import RunResult
from proctor.shards.account import Account, account
from proctor.shards.compared import Compared, joined
from proctor.shards.families import Counted, Family
from proctor.shards.file_paths import absolute, moved
from proctor.shards.gaps import Gap
from proctor.shards.joining import Joining
from proctor.shards.leaving_out import Unwanted, without
from proctor.shards.part import opening
from proctor.shards.plan import Plan
from proctor.shards.record import Recorded, Seen, look, replay
from proctor.text import named
from proctor.wire.relabel import SuiteLabels, relabelled

_EMPTY = "is empty: its run was ended before it wrote anything"
_LONGEST = 1e9  # seconds between two starts: what is further apart are wrong clocks


class Merging(msgspec.Struct, frozen=True):
    """What is to become one run."""

    recorded: Sequence[Recorded]
    plan: Plan | None = None  # whose tests must all have a result
    notices: tuple[str, ...] = ()  # that the reader should know


def merge(merging: Merging, started: e.RunStarted, sinks: Iterable[Sink]) -> RunResult:
    """Publishes all of them to the sinks, as one run. Raises UsageError for what is no record of a run."""
    seen = {number: look(one, number) for number, one in enumerate(merging.recorded)}
    if not any(seen.values()):
        raise UsageError(f"{merging.recorded[0].name} {_EMPTY}")
    found = account([run for runs in seen.values() for run in runs], merging.plan)
    found.notices[:0] = merging.notices
    for number, one in enumerate(merging.recorded):
        if not seen[number]:
            found.gaps.append(Gap(f"tests {os.path.basename(one.name)}", "", f"the file {_EMPTY}"))
    merged = _Merged(Relay(_started(started, found), sinks), found)
    for number, one in enumerate(merging.recorded):
        if seen[number]:
            merged.publish_record(one, [run for run in found.runs if run.seen.source == number])
    return merged.close()


def _started(given: e.RunStarted, found: Account) -> e.RunStarted:
    counted = [run.seen for run in found.counted]
    first = min((seen for seen in counted if seen.started), key=lambda seen: seen.started, default=None)
    runners = {suite.runner for seen in counted for suite in seen.suites if suite.runner}
    return replace(
        given,
        started=first.run.started if first is not None else given.started,
        runner=", ".join(sorted(runners)),
        host=named(sorted({seen.run.host for seen in counted if seen.run.host})),
        suites=max(1, sum(_heard(run) for run in found.counted) + len(found.gaps)),
        everything=all(seen.run.everything for seen in counted),
    )


class _Merged:
    """The run that the others become parts of."""

    def __init__(self, relay: Relay, found: Account) -> None:
        self._relay, self._found = relay, found
        self._labels = SuiteLabels(())
        self.entered = 0
        self._until = 0.0
        self._first = min((run.seen.started for run in found.runs if run.seen.started), default=0.0)
        self._missing: set[e.SuiteMissing] = set()
        self._compared: list[Compared] = []
        self._renamed: dict[int, dict[str, str]] = {}  # names of tests, by the id of their family

    def enter(self, suite: e.SuiteEntered, at: float) -> int:
        number, self.entered = self.entered, self.entered + 1
        self.publish(suite, at, number)
        return number

    def publish(self, event: e.Event, at: float, suite: int) -> None:
        if isinstance(event, e.SuiteMissing):
            if event in self._missing:
                return
            self._missing.add(event)
        self._until = max(self._until, at)
        self._relay.publish(self._labels.relabelled(event, suite), at, suite)

    def publish_record(self, recorded: Recorded, runs: Sequence[Counted]) -> None:
        """The second reading. `runs` are those that the first has found in the record."""
        waiting, publishing = iter(runs), list[_Publishing]()

        def readers() -> list[Sink]:
            run = next(waiting, None)
            if run is None:
                raise UsageError(f"{recorded.name} has changed while it was read")
            publishing.append(_Publishing(self, run, recorded.directory, self._shift(run.seen)))
            return publishing[-1].readers

        replay(recorded, readers, lambda _: publishing[-1].close())
        if next(waiting, None) is not None:
            raise UsageError(f"{recorded.name} has changed while it was read")

    def _shift(self, seen: Seen) -> float:
        shift = seen.started - self._first if seen.started else 0.0
        return shift if shift < _LONGEST else 0.0

    def add_comparison(self, run: Counted, first: int, until: float) -> None:
        """Called when a run has become the suites from number `first` on: it ended after `until` seconds."""
        self._until = max(self._until, until)
        own = self._rename(run.family, range(first, self.entered))
        lost = set[str]().union(*run.dropped.values())

        def name(test: str) -> str:
            known = run.ids.get(test, test)
            return "" if known in lost else own.get(known, known)

        self._compared.append(Compared(run.seen.history, run.seen.baseline, name))

    def _rename(self, family: Family | None, suites: Iterable[int]) -> dict[str, str]:
        """Tests of these suites that have other names here, by their own."""
        given = [self._labels.given(suite).items() for suite in suites]
        own = {name: label for names in given for name, label in names if name != label}
        self._renamed.setdefault(id(family), {}).update(own)
        return own

    def close(self) -> RunResult:
        for gap in self._found.gaps:
            self._enter_gap(gap)
        if not self.entered:
            self._enter_nothing()
        for text in (*self._found.notices, *_notices(self._found.counted)):
            self._relay.publish(e.Noticed(text), self._until)
        for event in (*self._planned(), *joined(self._compared)):
            self._relay.publish(event, self._until)
        return self._relay.close(self._until)

    def _enter_gap(self, gap: Gap) -> None:
        number = self.enter(e.SuiteEntered(gap.suite, gap.runner, (), ""), self._until)
        if gap.tests:
            self.publish(e.TestsSelected(gap.tests), self._until, number)
            self._rename(gap.family, [number])
        self.publish(e.ChannelBroken(gap.reason), self._until, number)
        self._relay.close_suite(self._until, number)

    def _enter_nothing(self) -> None:
        """No run has tests, which is the verdict."""
        run = self._relay.result.run
        number = self.enter(e.SuiteEntered(run.runner, run.runner, (), run.cwd), self._until)
        self.publish(e.StatusExplained(RunOutcome.NO_TESTS, ""), self._until, number)
        self._relay.close_suite(self._until, number)

    def _planned(self) -> Iterator[e.Event]:
        """What the merged run had to have, by the names that it has for the tests."""
        families = [family for family in self._found.families if family.runs or family.owed]
        if families:
            tests = [test for family in families for test in self._names(family)]
            plan = "+".join(family.plan for family in families)
            shards, own = sum(family.shards for family in families), all(family.own for family in families)
            yield from e.TestsPlanned(tuple(tests), plan, 0, shards, own).parts()

    def _names(self, family: Family) -> Iterator[str]:
        renamed = self._renamed.get(id(family), {})
        return (renamed.get(test, test) for test in family.owed)


class _Publishing:
    """One run, published again."""

    def __init__(self, merged: _Merged, run: Counted, directory: str, shift: float) -> None:
        self._merged, self._run, self._directory, self._shift = merged, run, directory, shift
        self._first = merged.entered
        self._silent = {number for number in range(len(run.seen.suites)) if _is_silent(run, number)}
        self._unwanted = {number: _unwanted(run, number) for number in {*run.dropped, *run.errors}}
        joining = Joining(merged, run.label, run.tries, self._wanted, shift)
        self.readers: list[Sink] = [] if run.left_out else [joining]

    def close(self) -> None:
        if self.readers:
            self._merged.add_comparison(self._run, self._first, self._shift + self._run.seen.seconds)

    def _wanted(self, entry: e.Entry) -> e.Event | None:
        event: e.Event = entry.event
        of_suite = not isinstance(event, (e.SuiteMissing, e.RunFinished))
        if isinstance(event, e.Noticed) or (of_suite and entry.suite in self._silent):
            return None
        if self._run.ids:
            event = relabelled(event, lambda name: self._run.ids.get(name, name))
        if isinstance(event, e.TestsDeselected):
            return self._deselected(event)
        if self._directory:
            event = moved(event, partial(absolute, directory=self._directory))
        unwanted = self._unwanted.get(entry.suite)
        return without(event, unwanted) if unwanted is not None else event

    def _deselected(self, event: e.TestsDeselected) -> e.Event:
        """What another run has run, or has left out as well, is not left out here."""
        family = self._run.family
        assert family is not None
        left = [test for test in dict.fromkeys(event.tests) if test not in family.owners]
        new = tuple(test for test in left if test not in family.deselected)
        family.deselected.update(new)
        return e.TestsDeselected(new)


def _heard(run: Counted) -> int:
    """How many suites of it become suites of the merged run."""
    return sum(not _is_silent(run, number) for number in range(len(run.seen.suites)))


def _is_silent(run: Counted, number: int) -> bool:
    """Whether nothing of the suite is published: it has no tests, or all of them count in other runs."""
    suite, dropped = run.seen.suites[number], run.dropped.get(number, ())
    if suite.outcome is RunOutcome.PASSED and not suite.errors:
        return 0 < len(dropped) == len(suite.tests)
    return run.seen.planned is not None and suite.is_empty


def _unwanted(run: Counted, number: int) -> Unwanted:
    suite = run.seen.suites[number]
    tests, errors = run.dropped.get(number, set()), run.errors.get(number, set())
    count = sum(suite.times.get(test, 1) for test in tests) + len(errors)
    return Unwanted(tests, errors, count)


def _own_notices(seen: Seen) -> Iterator[str]:
    """The notices of a run, without the words about which shard it is: the merged run has all shards."""
    share = opening(seen.planned) if seen.planned is not None else None
    for text in seen.notices:
        if share is not None and text.startswith(share):
            text = text.partition("; ")[2]
        if text:
            yield text


def _notices(runs: Sequence[Counted]) -> Iterator[str]:
    """Those of all runs, each once."""
    owners: dict[str, list[str]] = {}
    for run in runs:
        for text in dict.fromkeys(_own_notices(run.seen)):
            owners.setdefault(text, []).append(run.label)
    for text, labels in owners.items():
        if len(labels) == len(runs):
            yield text
        else:
            yield f"{named(labels)}: {text}"

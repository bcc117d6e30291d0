"""Decides what `proctor watch` runs next. Pure, apart from two questions about names that it asks others.

A change goes through rounds, the quick ones first: what failed, what the change touches, everything. A round
that does not pass is the last one: its failures are known now. What was not run stays pending, and is run
after a later change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto
from pathlib import Path

import msgspec

from proctor.archive.last_failed import target
from proctor.history.rows import base_of, by_chance
from proctor.outcome import BAD, QUIET, RunOutcome
from proctor.result import RunResult, SuiteResult
from proctor.spec import TARGET_BYTES, Selection
from proctor.watching.present import present as present_now

_COMPLETE = (RunOutcome.PASSED, RunOutcome.FAILED, RunOutcome.NO_TESTS)
_BROKEN = (RunOutcome.CRASHED, RunOutcome.TIMEOUT, RunOutcome.INCOMPLETE, RunOutcome.INTERNAL_ERROR)


class Kind(Enum):
    FAILED = auto()
    TOUCHED = auto()
    MATCHING = auto()
    ALL = auto()


class Round(msgspec.Struct, frozen=True):
    """A run of some of the tests, or of all."""

    name: str  # for people
    selection: Selection | None  # None: what the command line asked for
    kind: Kind = Kind.ALL
    change: int = 0  # the number of the newest change that it has seen
    by_hand: bool = False  # somebody asked for it: nothing follows


class Rounds:
    """What is known of the tests, and what follows from it. Not for several threads."""

    def __init__(
        self,
        selection: Selection,
        affected: Callable[[frozenset[str]], tuple[str, ...]],
        present: Callable[[str, Path, bool], str] = present_now,
    ) -> None:
        """`selection`: of the command line. `affected`: the test files that a change of these files touches.
        `present`: what runs a test that failed before, see `watching.present`."""
        self._selection, self._affected, self._present = selection, affected, present
        self._change = 0  # numbers the changes
        self._pending: dict[str, int] = {}  # changed files whose tests have not run, by their newest change
        self._failed: dict[str, None] = {}  # targets, in the order in which they ended
        self._known: dict[str, str] = {}  # tests by ID: their targets
        self._root = Path()
        self._passed_at = -1  # the change after which everything passed

    @property
    def green(self) -> bool:
        """Everything that was asked for has passed since the last change, and nothing has failed since."""
        return self._passed_at == self._change

    def begin(self) -> Round:
        """Everything that was asked for."""
        return self._all()

    def changed(self, paths: frozenset[str]) -> Round:
        """The first round after a change of these files, which are relative to the root."""
        self._change += 1
        self._pending |= dict.fromkeys(paths, self._change)
        return self._of_failed() or self._of_touched() or self._all()

    def asked(self, key: str, pattern: str = "") -> Round | None:
        """The round that somebody asks for: "all", "failed" (None without failures), or "pattern"."""
        if key == "failed":
            found = self._of_failed(shorten=False)
        elif key == "pattern" and pattern.strip():
            found = self._matching(pattern.strip())
        else:
            found = self._all() if key in ("all", "pattern") else None
        return msgspec.structs.replace(found, by_hand=True) if found else None

    def ended(self, round: Round, result: RunResult) -> Round | None:
        """The round that follows at once; None: wait for a change or a key."""
        self._learn(round, result)
        if round.by_hand or round.kind is Kind.ALL or round.change != self._change:
            return None  # after a newer change, `changed` has said what is next
        if result.stopped is not None:
            return None
        if result.outcome is RunOutcome.USAGE_ERROR:
            return self.refused(round)
        if result.outcome not in QUIET:
            return None
        touched = self._of_touched() if round.kind is Kind.FAILED else None
        if touched and set(_targets(touched)) <= set(_targets(round)):
            touched = None  # they have just run
        return touched or self._all()

    def refused(self, round: Round) -> Round | None:
        """What follows one that could not run at all: perhaps it asks for a test that is no longer there."""
        follows = not round.by_hand and round.kind is not Kind.ALL and round.change == self._change
        return self._all() if follows else None

    def not_run(self, round: Round, result: RunResult) -> str:
        """What the round left out, for people; empty if that is nothing."""
        if round.selection is None:
            return ""
        others = self._known.keys() - set(result.selected) - set(result.tests)
        if not others:
            return "no other tests were run"
        return f"{len(others)} other tests were not run" if len(others) > 1 else "1 other test was not run"

    def _all(self) -> Round:
        name = "all tests" if self._selection.everything else "all selected tests"
        return Round(name, None, Kind.ALL, self._change)

    def _of_failed(self, shorten: bool = True) -> Round | None:
        found = (self._present(test, self._root, _file(test) in self._pending) for test in self._failed)
        return self._of(found, "failed tests", Kind.FAILED, shorten)

    def _of_touched(self) -> Round | None:
        found = (part for file in self._affected(frozenset(self._pending)) for part in self._asked_of(file))
        return self._of(found, "changed tests", Kind.TOUCHED)

    def _of(self, targets: Iterable[str], name: str, kind: Kind, shorten: bool = True) -> Round | None:
        """None without targets; and, to shorten the way, if they are all that there is."""
        chosen = dict.fromkeys(filter(None, targets))
        if sum(len(os.fsencode(one)) + 1 for one in chosen) > TARGET_BYTES:
            chosen = dict.fromkeys(map(_file, chosen))
        if not chosen or (shorten and self._known and not self._leave_out(chosen)):
            return None
        selection = msgspec.structs.replace(self._selection, targets=tuple(chosen))
        return Round(name, selection, kind, self._change)

    def _leave_out(self, targets: dict[str, None]) -> bool:
        """Whether a test is known that is none of these targets."""
        return any(not any(part in targets for part in _wider(test)) for test in self._known.values())

    def _matching(self, pattern: str) -> Round:
        own = self._selection.keywords
        keywords = f"({own}) and ({pattern})" if own else pattern
        selection = msgspec.structs.replace(self._selection, keywords=keywords)
        return Round(f"tests matching {pattern!r}", selection, Kind.MATCHING, self._change)

    def _asked_of(self, file: str) -> Iterator[str]:
        """Those parts of a test file that the command line has among its targets."""
        if not self._selection.targets:
            yield file
        for asked in self._selection.targets:
            place, mark, names = asked.partition("::")
            if os.path.isabs(place):
                place = os.path.relpath(place, self._root)
            place = os.path.normpath(place)
            if place == file:
                yield f"{file}{mark}{names}"
            elif not mark and (place == os.curdir or file.startswith(f"{place}/")):
                yield file

    def _learn(self, round: Round, result: RunResult) -> None:
        """What ended is known, also of a run that was stopped. Only a complete run says what there is not."""
        self._root = Path(result.run.cwd)
        whole, complete = round.kind is Kind.ALL, _is_complete(result)
        ends = self._ends(result)
        files = {_file(test) for test in ends}  # that could be collected, unless one is itself among the ends
        for test in list(self._failed):
            if not ends.get(test, not (test in files or (whole and complete))):
                del self._failed[test]
        self._failed |= dict.fromkeys(test for test, bad in ends.items() if bad)
        if complete:
            self._forget(round)
        for suite in result.suites:
            self._known |= {test: self._target(test, suite) for test in suite.selected}
        if complete and (whole or round.kind is Kind.TOUCHED):
            self._pending = {path: at for path, at in self._pending.items() if at > round.change}
        if whole and result.outcome is RunOutcome.PASSED:
            self._passed_at = round.change
        elif whole or any(ends.values()):
            self._passed_at = -1

    def _forget(self, round: Round) -> None:
        """The tests of all that has run as a whole: those that are there are in its result."""
        chosen = round.selection
        if chosen is None:
            self._known = {}
        elif (chosen.keywords, chosen.markers) == (self._selection.keywords, self._selection.markers):
            files = set(chosen.targets)
            self._known = {test: of for test, of in self._known.items() if _file(of) not in files}

    def _ends(self, result: RunResult) -> dict[str, bool]:
        """By target, whether it ended badly. What a session never came to when it broke did, too."""
        bad: dict[str, bool] = {}
        for suite in result.suites:
            unknown = by_chance(suite)
            for name, end in suite.tests.items():
                if name not in unknown:
                    of = self._target(end.part_of or name, suite)
                    bad[of] = bad.get(of, False) or (end.outcome in BAD and name not in suite.quarantined)
            bad |= {self._target(error.file, suite): True for error in suite.errors}
            if suite.stopped is None and suite.outcome in _BROKEN:
                bad |= {self._target(test, suite): True for test in suite.not_run}
        return bad

    def _target(self, test: str, suite: SuiteResult) -> str:
        return target(test, base_of(suite), self._root)


def _is_complete(result: RunResult) -> bool:
    return result.stopped is None and result.outcome in _COMPLETE and not result.not_run


def _targets(round: Round) -> tuple[str, ...]:
    return round.selection.targets if round.selection else ()


def _file(test: str) -> str:
    return test.partition("::")[0]


def _wider(test: str) -> Iterator[str]:
    """The test, its function, its classes and its file."""
    yield test
    test = test.partition("[")[0]
    while test:
        yield test
        test = test.rpartition("::")[0]

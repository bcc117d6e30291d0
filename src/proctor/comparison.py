"""Two runs, compared: which failures are new, which tests came, went, or need another time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from proctor.outcome import BAD, EXIT_CODES, Outcome, RunOutcome
from proctor.remembered import slower
from proctor.result import RunResult
from proctor.wire.reports.junit_names import collector_name

SCHEMA = "proctor.comparison/1"
_ENDED = (RunOutcome.PASSED, RunOutcome.FAILED, RunOutcome.COLLECTION_ERROR, RunOutcome.NO_TESTS)
_FAILED, _INCOMPLETE = 1, 2


class End(msgspec.Struct, frozen=True):
    """How a test ended, or that a file could not be collected."""

    outcome: str
    seconds: float = 0.0
    message: str = ""
    is_file: bool = False

    @property
    def bad(self) -> bool:
        return self.outcome in BAD

    @property
    def passed(self) -> bool:
        return self.outcome == Outcome.PASSED


class Side(msgspec.Struct, frozen=True):
    """One of the two runs."""

    name: str
    outcome: RunOutcome
    ends: Mapping[str, End]
    not_run: frozenset[str] = frozenset()
    whole: bool = True  # all tests were asked for
    reason: str = ""  # why the outcome is what it is, where the tests alone do not say it

    @property
    def ended(self) -> bool:
        """What it does not have, and does not name as not run, was not there."""
        return self.outcome in _ENDED

    @property
    def complete(self) -> bool:
        """All its tests have a result."""
        return self.ended and not self.not_run

    def has_file(self, file: str) -> bool:
        return any(name.startswith(f"{file}::") for name in self.ends)


class Timed(msgspec.Struct, frozen=True):
    node_id: str
    before: float  # seconds
    after: float


class Comparison(msgspec.Struct, frozen=True):
    before: Side
    after: Side
    new: tuple[str, ...]  # bad ends now, that were none before
    fixed: tuple[str, ...]
    still: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    slower: tuple[Timed, ...]
    faster: tuple[Timed, ...]

    @property
    def exit_code(self) -> int:
        """1 if something is new; else what the second run gets if it is not complete; else 0."""
        if self.new:
            return _FAILED
        code = EXIT_CODES[self.after.outcome]
        return code if code > _FAILED else 0 if self.after.complete else _INCOMPLETE

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        sides = {
            word: {"run_id": side.name, "outcome": str(side.outcome), "whole": side.whole}
            for word, side in (("before", self.before), ("after", self.after))
        }
        lists = {name: msgspec.to_builtins(getattr(self, name)) for name in LISTS}
        return {"schema": SCHEMA, **sides, **lists}


LISTS = ("new", "fixed", "still", "added", "removed", "slower", "faster")


def side(result: RunResult, name: str) -> Side:
    """A run. Failures of tests in quarantine are none."""
    ends = {
        test: End(suite.counted(end) if suite.excuses(end) else end.outcome, end.seconds, end.message or "")
        for suite in result.suites
        for test, end in suite.tests.items()
    }
    for error in result.collection_errors:
        ends[error.file] = End(Outcome.ERROR, 0.0, error.failure.message, is_file=True)
    not_run = frozenset({*result.not_run, *result.running})
    return Side(name, result.outcome, ends, not_run, result.run.everything, result.reason)


def compare(before: Side, after: Side) -> Comparison:
    """Tests are the same if their ids are, or if one is what JUnit makes of the other."""
    before, after = _renamed(before, after), _renamed(after, before)
    old, new = before.ends, after.ends
    both = [test for test in new if test in old]
    lost = {test for test, end in new.items() if end.is_file}  # files whose tests nobody has seen
    unseen = {test for test, end in old.items() if end.is_file}
    mended = [file for file in old if file in unseen and file not in new and after.has_file(file)]
    passes = [test for test in both if old[test].passed and new[test].passed]
    times = [Timed(test, old[test].seconds, new[test].seconds) for test in passes]
    return Comparison(
        before,
        after,
        new=tuple(test for test, end in new.items() if end.bad and not (test in old and old[test].bad)),
        fixed=(*mended, *(test for test in both if old[test].bad and new[test].passed)),
        still=tuple(test for test in both if old[test].bad and new[test].bad),
        added=tuple(_only(after, before, unseen)),
        removed=tuple(test for test in _only(before, after, lost) if test not in mended),
        slower=tuple(one for one in times if slower(one.before, one.after)),
        faster=tuple(one for one in times if slower(one.after, one.before)),
    )


def _only(side: Side, other: Side, files: set[str]) -> Iterable[str]:
    """What the other run does not have, and would have if it were there: it is complete, and the file of
    the test is none of those that it could not collect."""
    for test in side.ends if other.ended else ():
        file = test.partition("::")[0]
        if test not in other.ends and test not in other.not_run and (file == test or file not in files):
            yield test


def _renamed(side: Side, other: Side) -> Side:
    """If it is a report with JUnit's names (`tests.test_a.TestX::test_m`): with ids, as far as the other run
    has tests of these files."""
    heads = {test.partition("::")[0] for test in other.ends}
    paths = {dotted: path for path in heads if (dotted := collector_name(path).name) != path}
    if not paths:
        return side
    names = {}
    for test in side.ends:
        name = test if test in other.ends else _id(test, paths)
        names[test] = test if name in side.ends else name
    return msgspec.structs.replace(side, ends={names[test]: end for test, end in side.ends.items()})


def _id(test: str, paths: Mapping[str, str]) -> str:
    owner, separator, name = test.partition("::")
    parts = owner.split(".")
    for count in range(len(parts), 0, -1):
        path = paths.get(".".join(parts[:count]))
        if path and path != owner:
            return "::".join([path, *parts[count:]]) + separator + name
    return test

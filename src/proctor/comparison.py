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
_FAILED = 1


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
    def complete(self) -> bool:
        """Whether it ran to its end: what it does not have was not there."""
        return self.outcome in _ENDED

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
        """1 if something is new; else what the second run gets if it did not run to its end; else 0."""
        if self.new:
            return _FAILED
        code = EXIT_CODES[self.after.outcome]
        return code if code > _FAILED else 0

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
    """Tests are the same if their ids are, or if one id is what JUnit makes of the other."""
    before, after = _same_names(before, after)
    old, new = before.ends, after.ends
    both = [test for test in new if test in old]
    lost = {test for test, end in new.items() if end.is_file}  # files whose tests nobody has seen
    unseen = {test for test, end in old.items() if end.is_file}
    mended = [file for file in unseen if file not in new and after.has_file(file)]
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
    """What the other run does not have, and would have if it were there: it came to its end, and the file of
    the test is none of those that it could not collect."""
    for test in side.ends if other.complete else ():
        file = test.partition("::")[0]
        if test not in other.ends and test not in other.not_run and (file == test or file not in files):
            yield test


def _same_names(before: Side, after: Side) -> tuple[Side, Side]:
    """Where one of the two is a report with JUnit's names for tests, it gets those of the other."""
    theirs = {_dotted(test): test for test in after.ends if test not in before.ends}
    ours: dict[str, str] = {}
    others: dict[str, str] = {}
    for test in before.ends:
        if test not in after.ends:
            if test in theirs:
                ours[test] = theirs[test]
            elif (dotted := _dotted(test)) in after.ends:
                others[dotted] = test
    return _renamed(before, ours), _renamed(after, others)


def _renamed(side: Side, names: Mapping[str, str]) -> Side:
    if not names:
        return side
    ends = {names.get(test, test): end for test, end in side.ends.items()}
    return msgspec.structs.replace(side, ends=ends)


def _dotted(test: str) -> str:
    """As the reader of JUnit names it."""
    return "::".join(part for part in collector_name(test) if part)

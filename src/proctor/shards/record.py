"""The first of two readings of a recorded run: what a merge must know before it publishes anything.

Only the names of tests and how they ended are kept, so memory does not grow with the texts of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from proctor import events as e
from proctor.digest import blake2b
from proctor.errors import StreamError, UsageError
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Sink
from proctor.replay import Replay
from proctor.result import RunResult, SuiteResult
from proctor.verdict import rank
from proctor.wire.reports.any_report import AnyReport
from proctor.wire.reports.report import moment

#: How bad a result is, from the best to the worst; the place of a test without a result is 0.
_BETTER_FIRST = (
    *(Outcome.INFO, Outcome.PASSED, Outcome.WARN, Outcome.XPASSED, Outcome.XFAILED, Outcome.SKIPPED),
    *("flaky", "quarantined", Outcome.FAILED, Outcome.ERROR, Outcome.TIMEOUT, Outcome.CRASH),
)
_PLACES = {str(word): place for place, word in enumerate(_BETTER_FIRST, 1)}
NO_RESULT = 0


class Recorded(msgspec.Struct, frozen=True):
    """Something that holds runs: a log, a document, a report."""

    name: str  # what users call it: a path, the id of a run
    pieces: Callable[[], Iterator[bytes]]  # all of it, from its beginning with each call
    form: str = "auto"
    directory: str = ""  # to which the paths of attached files are relative; empty: not known


class SeenSuite(msgspec.Struct):
    runner: str
    outcome: RunOutcome
    reason: str
    tests: dict[str, int]  # how bad the result of each is, NO_RESULT for those that have none
    times: dict[str, int]  # those that were selected more than once
    errors: dict[str, str]  # files that could not be collected, and why

    @property
    def is_empty(self) -> bool:
        """It had no tests, and nothing to report."""
        return self.outcome is RunOutcome.NO_TESTS and not (self.tests or self.errors or self.reason)


class Seen(msgspec.Struct):
    """What decides how a run counts."""

    name: str
    source: int  # the number of what it was read from
    content: str  # a hash of that and of the number of the run in it: equal where a file was copied
    run: e.RunStarted
    seconds: float
    planned: e.TestsPlanned | None
    suites: list[SeenSuite]
    notices: list[str]
    history: e.HistoryCompared | None
    baseline: e.BaselineCompared | None
    lacking: str  # why the run is worse than its suites, if it is
    ended: bool  # it ran to its end, and its record is whole

    @property
    def started(self) -> float:
        """Seconds since the epoch; 0: not known."""
        return moment(self.run.started)

    @property
    def runner(self) -> str:
        return self.run.runner or next((suite.runner for suite in self.suites if suite.runner), "")

    @property
    def bad(self) -> list[str]:
        """Tests that ended badly where that counts."""
        return [test for suite in self.suites for test, place in suite.tests.items() if is_bad(place)]


def is_bad(place: int) -> bool:
    return place >= _PLACES[Outcome.FAILED]


def look(recorded: Recorded, number: int) -> list[Seen]:
    """The runs in a record, which is the one with this number; none if it is empty. Raises UsageError for
    what is no record of a run."""
    found: list[Seen] = []
    content, empty = blake2b(digest_size=16), True

    def see(result: RunResult) -> None:
        found.append(_seen(result, recorded.name, number))

    def hear(piece: bytes) -> None:
        nonlocal empty
        content.update(piece)
        empty = empty and not piece.strip()

    try:
        replay(recorded, lambda: [], see, hear)
    except UsageError:
        if empty:
            return []
        raise
    if not found:
        raise UsageError(f"{recorded.name} has no run: expected a log, a document or a report")
    for place, seen in enumerate(found):
        seen.content = f"{content.hexdigest()} {place}"
        if len(found) > 1:
            seen.name = f"{recorded.name} (run {place + 1})"
    return found


def replay(
    recorded: Recorded,
    readers: Callable[[], Sequence[Sink]],
    done: Callable[[RunResult], None],
    heard: Callable[[bytes], None] | None = None,
) -> None:
    """Publishes the runs to readers. `heard` gets the bytes."""
    report, replay = AnyReport(recorded.name, recorded.form), Replay(readers, done)
    try:
        for piece in recorded.pieces():
            if heard is not None:
                heard(piece)
            replay.take(report.feed(piece))
        replay.take(report.close())
    except StreamError as error:
        raise UsageError(f"{recorded.name} cannot be merged: {error}") from None
    replay.close()
    replay.check()


def _seen(result: RunResult, name: str, number: int) -> Seen:
    if result.run.collect_only:
        raise UsageError(f"{name} is a list of tests: expected a run")
    return Seen(
        name,
        number,
        "",
        result.run,
        result.seconds,
        result.planned,
        [_suite(suite) for suite in result.suites],
        list(result.notices),
        result.history,
        result.baseline,
        _lacking(result),
        _ended(result),
    )


def _suite(suite: SuiteResult) -> SeenSuite:
    tests = dict.fromkeys((*suite.selected, *suite.not_run, *suite.running), NO_RESULT)
    for test, ended in suite.tests.items():
        if not ended.part_of:
            tests[test] = _PLACES.get(suite.counted(ended), NO_RESULT)
    times = {test: doubled.times for test, doubled in suite.doubled.items()}
    errors = {error.file: error.failure.message for error in suite.errors}
    return SeenSuite(suite.entered.runner, suite.outcome, suite.reason, tests, times, errors)


def _ended(result: RunResult) -> bool:
    """A run that crashed or timed out in one test has ended, too, if every other test has a result."""
    if rank(result.outcome) < 2:
        return True
    if result.outcome not in (RunOutcome.CRASHED, RunOutcome.TIMEOUT) or result.stopped is not None:
        return False
    return not (result.not_run or result.find_missing())


def _lacking(result: RunResult) -> str:
    """Why the run is worse than its suites and the gaps of its plan: something happened between or after."""
    ranks = [rank(suite.outcome) for suite in result.suites]
    gaps = result.planned.gaps if result.planned is not None else ()
    if gaps or any(missing.required for missing in result.missing) or result.find_missing():
        ranks.append(rank(RunOutcome.INCOMPLETE))
    if rank(result.outcome) <= max(ranks):
        return ""
    words = result.outcome.replace("_", " ")
    return f"{words}: {result.reason}" if result.reason else words

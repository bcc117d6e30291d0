"""How far a run is: what is shown of it while it goes on, on a terminal or in a log."""

from __future__ import annotations

import msgspec

from proctor.events import Event, SessionStarted
from proctor.launch import Voice
from proctor.outcome import RunOutcome
from proctor.render.neutral import neutral
from proctor.result import RunResult, SuiteResult


class Progress(msgspec.Struct, frozen=True):
    done: int  # tests that have a result
    total: int  # tests that are known so far
    complete: bool = True  # no more tests can become known
    left: int = 0  # tests that are still to run
    counted: bool = True  # the suite in progress has said how many tests it has
    doing: str = ""  # while nothing has run: what is done instead
    suite: str = ""  # `node 2/3`, if there are several; `2/3 shards`, which run at once

    @property
    def text(self) -> str:
        """`12/40`; `12/40+` while more suites are to come; `12 done` while the number is not known."""
        if self.doing:
            return self.doing
        if self.complete or (self.counted and self.done < self.total):
            more = "" if self.complete else "+"
            return f"{self.done:>{len(str(self.total))}}/{self.total}{more}"
        return f"{self.done} done"


def progress(result: RunResult, least: int = 0) -> Progress:
    """`least` is the total that was shown before: a total never shrinks."""
    current = next((s for s in reversed(result.suites) if s.outcome is RunOutcome.RUNNING), result.suites[-1])
    done, complete = result.done, _is_complete(result)
    return Progress(
        done,
        max(least, sum(map(_known, result.suites))),
        complete,
        sum(_known(suite) - suite.done for suite in result.suites if suite.outcome is RunOutcome.RUNNING),
        current.count is not None,
        "" if done or complete or current.count is not None or result.running else _doing(result, current),
        _label(result, current),
    )


def _known(suite: SuiteResult) -> int:
    """Tests of the suite. Once counted, it keeps its count; until then it has the tests that it named."""
    return max(len(suite.selected) if suite.count is None else suite.count, suite.done)


def _is_complete(result: RunResult) -> bool:
    last = result.suites[-1]
    if last.entered.following or last.source == Voice.BUILD or len(result.suites) < _planned(result):
        return False
    return all(suite.count is not None or suite.outcome is not RunOutcome.RUNNING for suite in result.suites)


def _planned(result: RunResult) -> int:
    """Suites that the run was to have from the start; what is built says itself how many follow."""
    return 0 if any(suite.source == Voice.BUILD for suite in result.suites) else result.run.suites


def _doing(result: RunResult, current: SuiteResult) -> str:
    return "building" if current.source == Voice.BUILD else result.collecting


def _label(result: RunResult, current: SuiteResult) -> str:
    """The name of the suite in progress, and which of how many it is. A build is none of them. Of shards,
    how many have ended."""
    if not result.several:
        return ""
    if result.planned is not None and result.planned.shards > 1 and not result.planned.shard:
        shards = result.planned.shards
        running = sum(suite.outcome is RunOutcome.RUNNING for suite in result.suites)
        return f"{max(0, shards - running)}/{shards} shards"
    name = neutral(current.name)
    if current.source == Voice.BUILD:
        return name
    suites = [suite for suite in result.suites if suite.source != Voice.BUILD]
    number = next(number for number, suite in enumerate(suites, 1) if suite is current)
    following = result.suites[-1].entered.following
    total = len(suites) + following if following else max(len(suites), _planned(result))
    return f"{name} {number}/{total}" if total > 1 else name


def session_line(event: Event) -> str:
    """`session 2: 9,700 tests that never began`; empty for any event that begins no session."""
    if not isinstance(event, SessionStarted):
        return ""
    tests = f"{event.tests:,} {'test' if event.tests == 1 else 'tests'}"
    return f"session {event.number}: {tests} {'to be run again' if event.round else 'that never began'}"

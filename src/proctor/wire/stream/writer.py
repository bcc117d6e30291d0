"""The public stream: `suite`, `test` and `final` lines and nothing else, written from the events of a run.

A suite line has the number of its tests, so it is written when that number is known. Tests beyond the number
get a suite of their own afterwards; missing ones are written as not run. So the number is right, unless more
than a thousand tests are missing whose names are unknown.
"""

from __future__ import annotations

import msgspec

from proctor import events as e
from proctor.launch import Voice
from proctor.outcome import RunOutcome
from proctor.result import RunResult, Session, SuiteResult
from proctor.text import first_line, literal
from proctor.unique_names import UniqueNames
from proctor.wire.literal import encode_line
from proctor.wire.stream.objects import collection_object, final_object, native_id, suite_object, test_object
from proctor.wire.stream.turns import Turns
from proctor.wire.stream.words import MISSING, NOT_RUN, Object, one_line

_NAMELESS = 1000  # tests without a name that get a line each: a plan may have any number
_PARTS_UNKNOWN = Voice.PROGRAM  # tests report on parts whose number is unknown before
#: Facts that no line has. What earlier runs say is known only when the lines of the tests are written.
_OF_THE_RUN = (
    *(e.RunStarted, e.TestsPlanned, e.RunStopped, e.SuiteMissing, e.Noticed),
    *(e.HistoryCompared, e.BaselineCompared),
)
_QUIET = (RunOutcome.PASSED, RunOutcome.NO_TESTS)  # endings that need no failure to explain them


class StrictStream:
    """Entries in, lines out. One for a whole output: labels are unique in all of its suites."""

    def __init__(self) -> None:
        self._labels = UniqueNames()
        self._suites: dict[int, _SuiteLines] = {}
        self._ended: set[int] = set()
        self._turns: Turns[Object] = Turns()

    def lines(self, entry: e.Entry, so_far: RunResult) -> list[bytes]:
        """The lines that can be written after this entry; `so_far` includes it."""
        if isinstance(entry.event, e.RunFinished):
            found = [line for number in range(len(so_far.suites)) for line in self._end(number, so_far)]
            found += self._missing(so_far) or self._explained(so_far)
            self._suites, self._ended = {}, set()
        elif isinstance(entry.event, e.SuiteFinished):
            found = self._end(entry.suite, so_far)
        elif isinstance(entry.event, _OF_THE_RUN):
            return []
        else:
            lines = self._lines(entry.suite).objects(entry.event, so_far.suites[entry.suite])
            found = self._turns.take(entry.suite, lines) if lines else []
        return [encode_line(line) for line in found]

    def _end(self, number: int, so_far: RunResult) -> list[Object]:
        """The remaining lines of a suite; of one that has ended, those of tests that came too late."""
        suite, lines = so_far.suites[number], self._lines(number)
        left = lines.rest(suite) if number in self._ended else lines.end(suite)
        self._ended.add(number)
        return self._turns.take(number, left, ended=True)

    def _lines(self, number: int) -> _SuiteLines:
        if number not in self._suites:
            self._suites[number] = _SuiteLines(self._labels)
        return self._suites[number]

    def _missing(self, so_far: RunResult) -> list[Object]:
        """A suite without tests for each that could not be started; with a failure if the run needs it."""
        found = []
        for missing in so_far.missing:
            suite = SuiteResult(so_far.run, e.SuiteEntered(missing.runner, missing.runner, (), ""))
            suite.outcome = RunOutcome.INCOMPLETE if missing.required else RunOutcome.NO_TESTS
            suite.reason = f"not run: {missing.reason}"
            facts = {MISSING: {"reason": missing.reason, "required": missing.required}}
            lines = _SuiteLines(self._labels)
            lines.objects(e.SuiteStarted(suite.name, so_far.run.started, 0, foreign={"extra": facts}), suite)
            found += lines.end(suite)
        return found

    def _explained(self, so_far: RunResult) -> list[Object]:
        """A suite with the reason why the run failed, where none of its suites failed."""
        if so_far.outcome in _QUIET or any(suite.outcome not in _QUIET for suite in so_far.suites):
            return []
        run = SuiteResult(so_far.run, e.SuiteEntered(so_far.run.runner, so_far.run.runner, (), ""))
        run.outcome, run.reason, run.seconds = so_far.outcome, so_far.reason, so_far.seconds
        return _SuiteLines(self._labels).end(run)


class _SuiteLines:
    """The lines of one suite."""

    def __init__(self, labels: UniqueNames) -> None:
        self._labels = labels
        self._suite: e.SuiteStarted | None = None
        self._written: int | None = None  # tests, since the suite line was
        self._held: list[Object] = []
        self._beyond: list[Object] = []
        self._tally = {"ok": 0, "fail": 0, "ignore": 0}
        self._seen: set[str] = set()

    def objects(self, event: e.Event, suite: SuiteResult) -> list[Object]:
        """The objects that can be written after this event."""
        if isinstance(event, e.SuiteStarted):
            if self._written is None:
                self._suite = event
            return []
        found: list[Object] = []
        if self._suite is not None and self._written is None and not _held(suite):
            found = self._open(self._suite.count, suite)
        if isinstance(event, e.TestFinished):
            self._seen.add(event.test)
            timed = not suite.retold and suite.source != Voice.REPORT
            excuse = suite.quarantined.get(event.test)
            test = test_object(self._label(event.test), event, timed, excuse)
            found += self._add(test, counted=suite.retold or not event.part_of)
        elif isinstance(event, e.CollectionFailed):
            found += self._add(collection_object(self._label(event.file), event))
        return found

    def _add(self, test: Object, counted: bool = True) -> list[Object]:
        if self._written is None or self._suite is None:
            self._held.append(test)
            return []
        if self._written == self._suite.count or not counted:
            self._beyond.append(test)
            return []
        self._written += 1
        self._tally[test["status"]] += 1
        return [test]

    def _open(self, count: int, suite: SuiteResult) -> list[Object]:
        assert self._suite is not None
        self._suite = msgspec.structs.replace(self._suite, count=count)
        self._written = 0
        found = [suite_object(self._suite, suite)]
        held, self._held = self._held, []
        for test in held:
            found += self._add(test)
        return found

    def end(self, suite: SuiteResult) -> list[Object]:
        """The objects that are left when the suite has ended."""
        tests = dict.fromkeys((*suite.selected, *suite.not_run))
        missing = [self._not_run(test) for test in tests if test not in self._seen]
        why = self._explanation(suite)
        if suite.source == Voice.BUILD and self._written is None and not (self._held or why):
            return []  # a build that went well is no suite
        found: list[Object] = []
        self._suite = self._suite or e.SuiteStarted(suite.name, suite.run.started, 0)
        reserved = 0
        if self._written is None:
            promised = self._suite.count if suite.source != _PARTS_UNKNOWN else 0
            reserved = len(why)
            found = self._open(max(promised, len(self._held) + len(missing)) + reserved, suite)
        for test in missing:
            found += self._add(test)
        written = self._written or 0
        for number in range(written, min(self._suite.count - reserved, written + _NAMELESS)):
            nameless = f"{first_line(self._suite.name, 40)}: test {number + 1} of {self._suite.count}"
            found += self._add(self._not_run(nameless))
        for test in why:
            found += self._add(test)
        found.append(final_object(self._tally, suite))
        return found + self.rest(suite)

    def rest(self, suite: SuiteResult) -> list[Object]:
        """A suite for what came beyond the count, or after the end."""
        beyond, self._held, self._beyond = [*self._held, *self._beyond], [], []
        if not beyond:
            return []
        first = self._suite or e.SuiteStarted(suite.name, suite.run.started, 0)
        more = e.SuiteStarted(f"{first.name} (beyond the count)", first.build, len(beyond))
        tally = _tally(beyond)
        outcome = RunOutcome.FAILED if tally["fail"] else RunOutcome.PASSED
        facts = {"outcome": outcome, "reason": "", "seconds": 0.0, "foreign_end": {}, "sessions": [Session()]}
        end = msgspec.structs.replace(suite, **facts)  # how the process ended is told with the suite itself
        return [suite_object(more, suite), *beyond, final_object(tally, end)]

    def _label(self, name: str) -> str:
        return self._labels.unique(literal(name) or "unnamed")

    def _not_run(self, name: str) -> Object:
        label = self._label(name)
        test: Object = {"type": "test", "status": "ignore", "label": label}
        return {**test, "extra": {**native_id(label, name), "outcome": NOT_RUN}}

    def _explanation(self, suite: SuiteResult) -> list[Object]:
        """A test that fails, for a suite that failed though no test did: it must not count as a pass."""
        tests = (*self._held, *self._beyond)
        if suite.outcome in _QUIET or self._tally["fail"] or any(test["status"] == "fail" for test in tests):
            return []
        reason = ": ".join(part for part in (suite.outcome.replace("_", " "), suite.reason) if part)
        label = self._label(suite.name or "run")
        test: Object = {"type": "test", "status": "fail", "reason": one_line(reason), "label": label}
        return [{**test, "extra": {"outcome": "error", "phase": "run"}}]


def _held(suite: SuiteResult) -> bool:
    """Whether the number of its tests is unknown until its end, or only stated by another writer."""
    return suite.source == _PARTS_UNKNOWN or suite.retold


def _tally(tests: list[Object]) -> dict[str, int]:
    return {status: sum(test["status"] == status for test in tests) for status in ("ok", "fail", "ignore")}

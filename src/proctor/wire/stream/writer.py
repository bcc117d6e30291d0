"""The public stream: `suite`, `test` and `final` lines and nothing else, projected from the events of a run.

Pure: the same entries give the same lines, live or replayed. A suite line promises a number of tests, so it
is written when that number is known and not before; what comes beyond it gets a suite of its own afterwards,
and what was promised and never came is said to be not run: the promise is kept, whatever the tests do, unless
more than a thousand tests are missing that nobody has named.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from proctor import events as e
from proctor.launch import Voice
from proctor.outcome import RunOutcome
from proctor.result import Result
from proctor.text import first_line, literal
from proctor.unique_names import UniqueNames
from proctor.wire.literal import encode_line
from proctor.wire.stream.objects import (
    collection_object,
    final_object,
    native_id,
    suite_object,
    test_object,
)
from proctor.wire.stream.words import NOT_RUN, Object, one_line

_Ending: TypeAlias = e.RunFinished | e.SuiteFinished

_NAMELESS = 1000  # tests of which only the number is known that get a line each: a plan may say anything
_PARTS_UNKNOWN = Voice.PROGRAM  # tests report on parts that nobody can count before
_QUIET = (RunOutcome.PASSED, RunOutcome.NO_TESTS)  # endings that need no failure to explain them


class StrictStream:
    """Entries in, lines out. One for a whole output: labels are unique in all of its suites."""

    def __init__(self) -> None:
        self._labels = UniqueNames()
        self._begin()

    def _begin(self) -> None:
        self._suite: e.SuiteStarted | None = None
        self._written: int | None = None  # tests, since the suite line was
        self._held: list[Object] = []
        self._beyond: list[Object] = []
        self._tally = {"ok": 0, "fail": 0, "ignore": 0}
        self._seen: set[str] = set()

    def lines(self, entry: e.Entry, so_far: Result) -> list[bytes]:
        """What can be said now that this entry is known; `so_far` includes it."""
        event = entry.event
        found: list[Object] = []
        if isinstance(event, e.RunStarted):
            self._begin()
        elif isinstance(event, e.SuiteStarted):
            if self._written is None:
                self._suite = event
        elif isinstance(event, e.SuiteEntered):
            self._begin()
        elif isinstance(event, e.SuiteFinished):
            found = self._end(event, so_far)
            self._begin()
        elif isinstance(event, e.RunFinished):
            found = self._end_of_several(event, so_far) if so_far.suites else self._end(event, so_far)
        else:
            if self._suite is not None and self._written is None and so_far.source != _PARTS_UNKNOWN:
                found = self._open(self._suite.count, so_far)
            if isinstance(event, e.TestFinished):
                self._seen.add(event.test)
                test = test_object(self._label(event.test), event)
                found += self._add(test, counted=not event.part_of)
            elif isinstance(event, e.CollectionFailed):
                found += self._add(collection_object(self._label(event.file), event))
        return [encode_line(line) for line in found]

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

    def _open(self, count: int, result: Result) -> list[Object]:
        assert self._suite is not None
        self._suite = msgspec.structs.replace(self._suite, count=count)
        self._written = 0
        found = [suite_object(self._suite, result)]
        held, self._held = self._held, []
        for test in held:
            found += self._add(test)
        return found

    def _end(self, event: _Ending, result: Result) -> list[Object]:
        tests = dict.fromkeys((*result.own_selected(), *event.not_run))
        missing = [self._not_run(test) for test in tests if test not in self._seen]
        why = self._explanation(event, result)
        if result.source == Voice.BUILD and self._written is None and not (self._held or why):
            return []  # a build that went well is no suite
        found: list[Object] = []
        if self._suite is None:
            name = result.entered.name if result.entered else result.run.runner
            self._suite = e.SuiteStarted(name, result.run.started, 0)
        if self._written is None:
            promised = self._suite.count if result.source != _PARTS_UNKNOWN else 0
            known = len(self._held) + len(missing)
            found = self._open(max(promised, known) + len(why), result)
            reserved = len(why)
        else:
            reserved = 0
        for test in missing:
            found += self._add(test)
        written = self._written or 0
        for number in range(written, min(self._suite.count - reserved, written + _NAMELESS)):
            nameless = f"{first_line(self._suite.name, 40)}: test {number + 1} of {self._suite.count}"
            found += self._add(self._not_run(nameless))
        for test in why:
            found += self._add(test)
        found.append(final_object(self._tally, event, result))
        return found + self._rest(event, result)

    def _end_of_several(self, event: e.RunFinished, result: Result) -> list[Object]:
        """Each suite has its end. What came after the last, and why the run failed if no suite says it, has
        one more."""
        said = any(suite.finished.outcome not in _QUIET for suite in result.suites)
        late = [*self._held, *([] if said else self._explanation(event, result))]
        suite = e.SuiteStarted(result.run.runner, result.run.started, len(late))
        self._begin()
        return [suite_object(suite, result), *late, final_object(_tally(late), event, result)] if late else []

    def _rest(self, event: _Ending, result: Result) -> list[Object]:
        """A suite for what came beyond the count of the first."""
        beyond = self._beyond
        if not beyond or self._suite is None:
            return []
        more = e.SuiteStarted(f"{self._suite.name} (beyond the count)", self._suite.build, len(beyond))
        return [suite_object(more, result), *beyond, final_object(_tally(beyond), event, result)]

    def _label(self, name: str) -> str:
        return self._labels.unique(literal(name) or "unnamed")

    def _not_run(self, name: str) -> Object:
        label = self._label(name)
        test: Object = {"type": "test", "status": "ignore", "label": label}
        return {**test, "extra": {**native_id(label, name), "outcome": NOT_RUN}}

    def _explanation(self, event: _Ending, result: Result) -> list[Object]:
        """For a run that did not pass though none of its tests failed: nobody shall count that as a pass."""
        tests = (*self._held, *self._beyond)
        if event.outcome in _QUIET or self._tally["fail"] or any(test["status"] == "fail" for test in tests):
            return []
        told = ": ".join(part for part in (event.outcome.replace("_", " "), event.reason) if part)
        label = self._label(result.entered.name if result.entered else result.run.runner or "run")
        test: Object = {"type": "test", "status": "fail", "reason": one_line(told), "label": label}
        return [{**test, "extra": {"outcome": "error", "phase": "run"}}]


def _tally(tests: list[Object]) -> dict[str, int]:
    return {status: sum(test["status"] == status for test in tests) for status in ("ok", "fail", "ignore")}

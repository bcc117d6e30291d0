"""Whether a failure of the run under way is a new one: the run is to stop there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from proctor import events as e
from proctor.history.memory import Memory
from proctor.outcome import BAD, RunOutcome
from proctor.result import RunResult, SuiteResult


class FirstNew:
    """Looks at each test that ended badly, once. By the same rule as the words at the end: a test without an
    earlier result is not new, and neither is a flaky one."""

    def __init__(self, memory: Memory, own_name: Callable[[str, int], str]) -> None:
        self._memory, self._own_name = memory, own_name
        self._ends: dict[int, int] = {}  # by suite, how many tests were looked at
        self._asked: set[str] = set()
        self.found = ""  # the test

    def look(self, result: RunResult) -> bool:
        """Whether there has been one."""
        for number, suite in enumerate(result.suites):
            if self.found:
                break
            self._look_at(number, suite, result)
        return bool(self.found)

    def _look_at(self, number: int, suite: SuiteResult, result: RunResult) -> None:
        fresh = len(suite.tests) - self._ends.get(number, 0)
        if fresh <= 0:
            return
        self._ends[number] = len(suite.tests)
        # At its end, the tests of a suite are put in another order.
        ends: Iterable[e.TestFinished] = suite.tests.values()
        if suite.outcome is RunOutcome.RUNNING:
            ends = islice(reversed(suite.tests.values()), fresh)
        bad = [end.test for end in ends if end.outcome in BAD and end.test not in suite.quarantined]
        for test in bad:
            if test not in self._asked:
                self._asked.add(test)
                if self._memory.is_new(test, number, result, self._own_name):
                    self.found = test
                    return

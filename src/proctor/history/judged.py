"""What earlier results say of each test of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor import events as e
from proctor.history.earlier import Earlier
from proctor.history.rows import Keys, by_chance
from proctor.history.words import Past, is_fixed, word
from proctor.outcome import BAD, Outcome
from proctor.result import RunResult, SuiteResult


class Judged:
    """The tests of a run, held against earlier runs."""

    def __init__(self, result: RunResult, keys: Keys, environments: Sequence[str], earlier: Earlier) -> None:
        """`environments` are one for each suite."""
        self._result, self._keys, self._environments, self._earlier = result, keys, environments, earlier
        self._failed_once = earlier.failed_once()

    def words(self, now: e.EarlierRun, same: frozenset[str]) -> dict[str, e.TestHistory]:
        """Of tests that ended badly, and files that could not be collected. `same` is what this run has in
        common with runs of the same files."""
        present = Past(now, bad=True, same=same)
        found = {}
        for number, suite in enumerate(self._result.suites):
            by_accident = by_chance(suite)
            for test, end in suite.tests.items():
                if end.outcome in BAD:
                    found[test] = word(present, [] if test in by_accident else self._of_test(test, number))
            for error in suite.errors:
                found[error.file] = word(present, self._of_file(error.file, number))
        return found

    def fixed(self, now: e.EarlierRun, same: frozenset[str]) -> tuple[str, ...]:
        """Tests that failed before and pass now, and files that could not be collected and now have tests."""
        found = []
        for number, suite in enumerate(self._result.suites if self._failed_once else ()):
            for test, end in suite.tests.items():
                if end.outcome is Outcome.PASSED and self._keys.of(test, number) in self._failed_once:
                    present = Past(now, bad=False, retried=end.flaky, same=same)
                    if is_fixed(present, self._of_test(test, number)):
                        found.append(test)
            for file in _collected(suite):
                present = Past(now, bad=False, same=same)
                if self._keys.of(file, number) in self._failed_once and is_fixed(
                    present, self._of_file(file, number)
                ):
                    found.append(file)
        return tuple(found)

    def newest(self) -> e.EarlierRun | None:
        """The newest run that has results of the same tests in the same environment."""
        return self._earlier.newest(
            (self._keys.of(test, number), self._environments[number])
            for number, suite in enumerate(self._result.suites)
            for test in _all(suite)
        )

    def _of_test(self, test: str, number: int) -> Sequence[Past]:
        return self._earlier.of_test(self._keys.of(test, number), self._environments[number])

    def _of_file(self, file: str, number: int) -> list[Past]:
        return self._earlier.of_file(self._keys.of(file, number), self._environments[number])


def bad_ends(result: RunResult) -> list[str]:
    """Tests that ended badly, and files that could not be collected."""
    bad = [test.test for test in result.tests.values() if test.outcome in BAD]
    return [*bad, *(error.file for error in result.collection_errors)]


def _collected(suite: SuiteResult) -> list[str]:
    """Files that could be collected, because tests of theirs have results."""
    broken, without = {error.file for error in suite.errors}, by_chance(suite)
    tests = (test for test in suite.tests if "::" in test and test not in without)
    found = dict.fromkeys(test.partition("::")[0] for test in tests)
    return [file for file in found if file not in broken]


def _all(suite: SuiteResult) -> Iterator[str]:
    yield from (error.file for error in suite.errors)
    yield from suite.tests

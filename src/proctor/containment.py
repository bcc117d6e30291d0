"""Decides which session of a suite follows one that has ended, so that a crash costs one test and a test that
ended badly may run again. Pure: sessions are started elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from proctor.outcome import RunOutcome
from proctor.result import Session, SuiteResult
from proctor.spec import RunSpec

_EARLY_DEATHS = 3  # sessions in a row that die in their first test


class Next(msgspec.Struct, frozen=True):
    """A session that is to follow."""

    tests: tuple[str, ...]  # in the order of the collection; one that is there twice may stand here twice
    skip: dict[str, int]  # how many tests of that name, the first ones, have begun already
    died: bool  # the session before ended before it was finished
    round: int  # as of `events.SessionStarted`
    data_lost: bool  # a session died before it could write its data, such as coverage


class Containment:
    """What is left to do of one suite, session by session."""

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec
        self.notice = ""  # why tests that are left do not run, or do not run again
        self._restarts = 0
        self._early_deaths = 0
        self._ends = 0  # of tests, before the newest session
        self._again: tuple[str, ...] = ()  # the tests of this round, unless it is the first

    def following(self, suite: SuiteResult) -> Next | None:
        """What follows the newest session, whose tests all have an end or run again."""
        session, ends = suite.session, _ends(suite)
        progress, self._ends = ends - self._ends, ends
        dead = session.died
        if not dead and not _came_to_its_end(session):
            return None
        if dead:
            left = self._left(suite)
            if not self._may_restart(progress, bool(left), session.round):
                return None
            if left:
                self._restarts += 1
                return _next(suite, left, dead, session.round)
        return self._retry(suite, dead)

    def _left(self, suite: SuiteResult) -> list[str]:
        """Tests of this round that never began, or that were running when another one was interrupted."""
        if not suite.session.round:
            return list(_never_began(suite))
        number, tests, tries = suite.session.round, suite.tests, suite.attempts
        return [test for test in self._again if test not in tests and len(tries.get(test, ())) <= number]

    def _may_restart(self, progress: int, tests_left: bool, number: int) -> bool:
        early = progress <= 1 and not number  # where tests run again, each may well be the end of its session
        self._early_deaths = self._early_deaths + 1 if early else 0
        if not progress:
            self.notice = "no test came to an end" if tests_left else ""
        elif self._early_deaths == _EARLY_DEATHS:
            self.notice = f"{_EARLY_DEATHS} sessions in a row died in their first test" if tests_left else ""
        elif self._restarts == self._spec.max_restarts:
            limit = f"max_restarts = {self._spec.max_restarts}"
            self.notice = limit if tests_left and self._spec.max_restarts else ""
        else:
            return True
        if self.notice:
            self.notice = f"the tests that are left were not started: {self.notice}"
        return not tests_left

    def _retry(self, suite: SuiteResult, dead: bool) -> Next | None:
        number = suite.session.round
        bad = [test for test, tries in suite.attempts.items() if not tries[-1].part_of]
        if not bad or number >= self._spec.retries:
            return None
        if not number and len(bad) > self._spec.max_retried:
            self.notice = (
                f"{len(bad)} tests ended badly: more than max_retried = {self._spec.max_retried},"
                " so none of them ran again"
            )
            return None
        order = {test: at for at, test in enumerate(suite.selected)}
        bad.sort(key=lambda test: order.get(test, len(order)))
        times = {test: suite.doubled[test].times for test in bad if test in suite.doubled}
        self._again = tuple(test for test in bad for _ in range(times.get(test, 1)))
        return _next(suite, list(self._again), dead, number + 1)


def _next(suite: SuiteResult, tests: list[str], dead: bool, number: int) -> Next:
    begun = {} if number else {test: known.times - known.left for test, known in suite.doubled.items()}
    skip = {test: times for test in tests if (times := begun.get(test))}
    lost = any(session.finished is None for session in suite.sessions)
    return Next(tuple(tests), skip, dead, number, lost)


def _came_to_its_end(session: Session) -> bool:
    if session.finished is None or session.broke is not None or session.interrupted is not None:
        return False
    explained, exited = session.explained, session.exited
    nothing = explained is not None and explained.outcome is RunOutcome.NO_TESTS
    return (explained is None or nothing) and exited is not None and exited.signal is None


def _ends(suite: SuiteResult) -> int:
    """How often a test has come to an end, well or badly."""
    finished = sum(1 + len(test.attempts) for test in suite.tests.values() if not test.part_of)
    return finished + sum(map(len, suite.attempts.values()))


def _never_began(suite: SuiteResult) -> Iterator[str]:
    for test in suite.selected:
        if test in suite.doubled:
            yield from [test] * suite.doubled[test].left
        elif test not in suite.tests and test not in suite.attempts:
            yield test

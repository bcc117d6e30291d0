"""How a suite and a run ended. `passed` is what remains when every other explanation has been ruled out:
the session's own end, the exit status of the process and the counts must all agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from proctor.events import SuiteMissing, TestsPlanned
from proctor.launch import Voice
from proctor.outcome import BAD, EXIT_CODES, MAXFAIL, QUIET, WORST_FIRST, Outcome, RunOutcome
from proctor.phases import is_collector
from proctor.result import RunResult, Session, SuiteResult
from proctor.text import named

#: The outcome, and the reason for it where the tests alone do not give it.
Verdict: TypeAlias = tuple[RunOutcome, str]

#: What a later session makes of a run: the tests that it was asked for were there before.
_OF_LATER = {RunOutcome.USAGE_ERROR: RunOutcome.INCOMPLETE, RunOutcome.NO_TESTS: RunOutcome.PASSED}

NOTHING = EXIT_CODES[RunOutcome.NO_TESTS]  # pytest's status for it, and that of others


def verdict(suite: SuiteResult) -> Verdict:
    if suite.stopped is not None:
        return suite.stopped, ""
    if suite.source == Voice.PROGRAM:
        return _programs(suite)
    if suite.source == Voice.REPORT:
        return _reported(suite)
    outcome, why = _of_sessions(suite)
    if outcome is RunOutcome.PASSED and suite.flaky and suite.run.flaky_fails:
        return RunOutcome.FAILED, "flaky tests count as failures"
    return outcome, why


def _of_sessions(suite: SuiteResult) -> Verdict:
    """The worst of them; what one lost and another one has made good does not count."""
    found = [_of_session(suite, session) for session in suite.sessions]
    if len(found) == 1:
        return found[0]
    outcomes = [found[0][0], *(_OF_LATER.get(outcome, outcome) for outcome, _ in found[1:])]
    outcome = next(outcome for outcome in WORST_FIRST if outcome in outcomes)
    if outcome in QUIET:
        return _missing(suite) or (outcome, "")
    told = [why for session, (_, why) in zip(suite.sessions, found, strict=True) if not session.lost]
    return outcome, "; ".join(dict.fromkeys(filter(None, told)))  # what tests were lost by, they say


def _of_session(suite: SuiteResult, session: Session) -> Verdict:
    exited = session.exited
    if session.interrupted is not None and session.interrupted.failure.type == MAXFAIL:
        return RunOutcome.FAILED, session.interrupted.failure.message
    blamed = (*session.overdue,) or session.lost
    if session.died and blamed and all(map(suite.makes_good, blamed)):
        return _spoiled(suite) or _missing(suite) or (RunOutcome.PASSED, "")
    if session.overdue:
        return RunOutcome.TIMEOUT, ""
    if exited is None:
        return _unseen(suite)
    if exited.signal == "SIGINT":
        return RunOutcome.INTERRUPTED, "SIGINT"
    if exited.signal:
        after = " after the session had finished" if session.finished else ""
        return RunOutcome.CRASHED, f"{exited.signal}{after}"
    if session.channel_error is not None:
        return RunOutcome.INCOMPLETE, session.channel_error
    if suite.source == Voice.BUILD:
        return _built(suite, exited.exit_code)
    if session.finished is None:
        return _cut_short(suite, session, exited.exit_code)
    return _told(suite, session, exited.exit_code)


def worst(result: RunResult) -> Verdict:
    """Of the run: the worst of its suites, unless the run itself was stopped. All their reasons count."""
    if result.stopped is not None:
        last = result.suites[-1]
        return result.stopped, f"during {last.name}" if last.source == Voice.BUILD else ""
    return _by_plan(result, *without(result.missing, *_of_suites(result)))


def _of_suites(result: RunResult) -> Verdict:
    if not result.several:
        return result.suites[0].outcome, result.suites[0].reason
    outcome, why = _combined([(suite.name, suite.outcome, suite_reason(suite)) for suite in result.suites])
    if outcome is RunOutcome.PASSED and not (result.selected if result.run.collect_only else result.tests):
        outcome = RunOutcome.NO_TESTS
    return outcome, why if outcome is not RunOutcome.NO_TESTS else ""


def without(missing: Iterable[SuiteMissing], outcome: RunOutcome, why: str) -> Verdict:
    """The verdict on the suites that ran, unless a required one did not: the run is then incomplete."""
    lacking = missing_reason(missing)
    if not lacking:
        return outcome, why
    worst = next(word for word in WORST_FIRST if word in (outcome, RunOutcome.INCOMPLETE))
    return worst, f"{why}; {lacking}" if why else lacking


def _by_plan(result: RunResult, outcome: RunOutcome, why: str) -> Verdict:
    """Likewise, unless tests of the plan were not found."""
    if result.planned is None:
        return outcome, why
    lacking = [*result.planned.gaps]
    lacking += _not_found(result.find_missing(), result.planned)
    if not lacking:
        return outcome, why
    worst = next(word for word in WORST_FIRST if word in (outcome, RunOutcome.INCOMPLETE))
    return worst, "; ".join(filter(None, (why, *lacking)))


def _not_found(names: Sequence[str], planned: TestsPlanned) -> Iterator[str]:
    more = set(planned.more)
    if known := [name for name in names if name not in more]:
        yield f"{len(known)} of {len(planned.tests)} tests of the plan were not found: {named(known)}"
    if lost := [name for name in names if name in more]:
        of = f"{len(lost)} of {len(planned.more)} tests that are not in the plan"
        yield f"{of} were listed, and then not found: {named(lost)}"


def missing_reason(missing: Iterable[SuiteMissing]) -> str:
    """Which required suites could not be started, and why; empty if none of them is required."""
    return "; ".join(not_run_reason(suite) for suite in missing if suite.required)


def not_run_reason(missing: SuiteMissing) -> str:
    return f"{missing.runner}: not run: {missing.reason}"


def combined(suites: Sequence[tuple[str, RunOutcome, str]]) -> Verdict:
    """The verdict on suites of which only name, outcome and reason are known."""
    return suites[0][1:] if len(suites) == 1 else _combined(suites)


def _combined(suites: Sequence[tuple[str, RunOutcome, str]]) -> Verdict:
    outcomes = {outcome for _, outcome, _ in suites}
    outcome = next(outcome for outcome in WORST_FIRST if outcome in outcomes)
    return outcome, "; ".join(f"{name}: {why}" if name else why for name, _, why in suites if why)


def suite_reason(suite: SuiteResult) -> str:
    """The reason for the outcome of one of several suites, if its tests do not show it."""
    return suite.reason or ("no tests" if suite.outcome is RunOutcome.NO_TESTS else "")


def disputed(suite: SuiteResult, said: RunOutcome) -> Verdict | None:
    """The verdict by the facts of a record, if that is worse than the one that the record itself has."""
    return _worse(said, _retold(suite) if suite.retold else verdict(suite))


def disputed_run(result: RunResult, said: RunOutcome) -> Verdict | None:
    """Likewise, of a run whose suites have ended; one that has not is the only one, and ends with the run."""
    broken = next((why for suite in result.suites if (why := suite.session.channel_error)), None)
    if broken is not None and said in QUIET:
        return _worse(said, (RunOutcome.INCOMPLETE, broken))
    under_way = [suite for suite in result.suites if suite.outcome is RunOutcome.RUNNING]
    if under_way:
        found = next((found for suite in under_way if (found := disputed(suite, said))), None)
        return found or _worse(said, without(result.missing, said, ""))
    return _worse(said, worst(result))


def _worse(said: RunOutcome, found: Verdict) -> Verdict | None:
    outcome, why = found
    if said is RunOutcome.NO_TESTS and outcome is RunOutcome.PASSED:
        outcome, why = RunOutcome.INCOMPLETE, "there are tests"
    quiet = said in QUIET and outcome in QUIET
    if (outcome is said) if quiet else rank(outcome) <= rank(said):
        return None
    more = f": {why}" if why else ""
    return outcome, f"the record says {_words(said)}, and its facts say {_words(outcome)}{more}"


def rank(outcome: RunOutcome) -> int:
    """How bad an outcome is: 0 nothing failed, 1 something failed, 2 the run was not completed."""
    return 0 if outcome in QUIET else 1 if EXIT_CODES[outcome] == 1 else 2


def _words(outcome: RunOutcome) -> str:
    return outcome.replace("_", " ")


def _retold(suite: SuiteResult) -> Verdict:
    """By what a document or a stream has of a suite."""
    exited, session = suite.session.exited, suite.session
    if session.channel_error is not None:
        return RunOutcome.INCOMPLETE, session.channel_error
    if exited is not None and exited.signal and not _excuses_death(suite):
        return RunOutcome.CRASHED, exited.signal
    if spoiled := _spoiled(suite):
        return spoiled
    code = exited.exit_code if exited is not None and suite.source != Voice.PROGRAM else 0
    if (code == 1 and _excuses(suite)) or _excuses_death(suite):
        code = 0
    if suite.source == Voice.BUILD:
        return _built(suite, code)
    nothing = all(map(is_collector, suite.tests.values()))  # modules that skipped themselves have no tests
    if code == NOTHING and nothing:
        return RunOutcome.NO_TESTS, ""
    if code != 0:
        return RunOutcome.FAILED, f"exit status {code}, though no test failed"
    missing = sum(test not in suite.tests for test in suite.selected)
    if missing and not suite.run.collect_only:
        return RunOutcome.INCOMPLETE, f"{missing} of {len(suite.selected)} tests have no result"
    return (RunOutcome.PASSED if suite.tests or suite.run.collect_only else RunOutcome.NO_TESTS), ""


def _excuses_death(suite: SuiteResult) -> bool:
    """A test with which its process ended is one whose failures do not count."""
    if not _excuses(suite):
        return False
    lost = (Outcome.CRASH, Outcome.TIMEOUT)
    return any(
        (test.outcome in lost and test.test in suite.quarantined)
        or (test.flaky and any(one.outcome in lost for one in test.attempts))
        for test in suite.tests.values()
    )


def _unseen(suite: SuiteResult) -> Verdict:
    """No process has ended here."""
    if suite.session.channel_error is not None:
        return RunOutcome.INCOMPLETE, suite.session.channel_error
    if suite.session.explained is not None:
        return suite.session.explained.outcome, suite.session.explained.reason
    if suite.run.collect_only and suite.source == Voice.LINES and suite.count is not None:
        return (RunOutcome.PASSED if suite.count else RunOutcome.NO_TESTS), ""
    return RunOutcome.INCOMPLETE, "the end of the process was not seen"


def _built(suite: SuiteResult, code: int) -> Verdict:
    """A build has no tests; its errors are those of what could not be built."""
    if suite.errors:
        return RunOutcome.COLLECTION_ERROR, ""
    if code != 0:
        explained = suite.session.explained
        why = explained.reason if explained else ""
        return RunOutcome.COLLECTION_ERROR, why or f"the build ended with {code}"
    return RunOutcome.PASSED, ""


def _programs(suite: SuiteResult) -> Verdict:
    """Each test was a process of its own, and its end is in its own outcome."""
    counts = suite.counts
    for outcome, of_run in ((Outcome.CRASH, RunOutcome.CRASHED), (Outcome.TIMEOUT, RunOutcome.TIMEOUT)):
        if counts[outcome]:
            return of_run, ""
    if any(counts[outcome] for outcome in BAD):
        return RunOutcome.FAILED, ""
    if not suite.selected:
        return RunOutcome.NO_TESTS, ""
    missing = sum(test not in suite.tests for test in suite.selected)
    if missing and not suite.run.collect_only:
        return RunOutcome.INCOMPLETE, f"{missing} of {len(suite.selected)} tests have no result"
    return RunOutcome.PASSED, ""


def _reported(suite: SuiteResult) -> Verdict:
    """Another tool's report. No process was seen: it must have its own end and hold together by itself."""
    session = suite.session
    if session.channel_error is not None:
        return RunOutcome.INCOMPLETE, session.channel_error
    if session.finished is None:
        return RunOutcome.INCOMPLETE, "the report has no end"
    return _told(suite, session, session.finished.exit_status or 0)


def _cut_short(suite: SuiteResult, session: Session, code: int) -> Verdict:
    """The process is gone and the session never came to its end."""
    if suite.errors and not suite.running and not suite.tests:
        return RunOutcome.COLLECTION_ERROR, ""
    if session.broke is not None:
        return RunOutcome.INTERNAL_ERROR, session.broke.failure.message
    if session.explained is not None:
        return session.explained.outcome, session.explained.reason
    why = f"the process exited with {code} before the session finished"
    return RunOutcome.CRASHED, _with_output(session, why)


def _with_output(session: Session, why: str) -> str:
    """Why the process ended as it did, in its own words if it had any."""
    quoted = session.quoted
    return f"{why}: {'; '.join(quoted.lines)}" if quoted is not None and quoted.explains else why


def _told(suite: SuiteResult, session: Session, code: int) -> Verdict:
    """The session reported its end: the verdict depends on whether everything else agrees."""
    explained = session.explained
    if explained is not None and explained.outcome is not RunOutcome.NO_TESTS:
        return explained.outcome, explained.reason
    if session.broke is not None:
        return RunOutcome.INTERNAL_ERROR, session.broke.failure.message
    if spoiled := _spoiled(suite):
        return spoiled
    if explained is not None:
        return explained.outcome, explained.reason or _nothing_left(suite)
    return _unspoiled(suite, session, code)


def _nothing_left(suite: SuiteResult) -> str:
    """Why there are no tests, where something was found."""
    skipped = bool(suite.tests) and all(map(is_collector, suite.tests.values()))
    return "everything was skipped before a test was found" if skipped else ""


def _spoiled(suite: SuiteResult) -> Verdict | None:
    """What went wrong in the suite, if anything did."""
    if suite.errors:
        return RunOutcome.COLLECTION_ERROR, ""
    if suite.counts[Outcome.TIMEOUT] and suite.source == Voice.CONTROL:  # of other tools, it is a failure
        return RunOutcome.TIMEOUT, ""  # before a crash, as of two sessions
    if suite.counts[Outcome.CRASH]:
        return RunOutcome.CRASHED, "" if suite.restarts else "a worker process died during a test"
    if any(suite.counts[outcome] for outcome in BAD):
        return RunOutcome.FAILED, ""
    if suite.running:
        return RunOutcome.INCOMPLETE, f"{len(suite.running)} tests started and never finished"
    if suite.session.interrupted is not None and not suite.session.overdue:
        return RunOutcome.INCOMPLETE, suite.session.interrupted.failure.message
    return None


def _unspoiled(suite: SuiteResult, session: Session, code: int) -> Verdict:
    """Nothing failed; whether that makes it a pass is a matter of status and counts."""
    finished = session.finished
    said = finished.exit_status if finished else None
    if said is not None and said != code:
        why = f"the session ended with status {said}, the process with {code}"
        return RunOutcome.INCOMPLETE, _with_output(session, why)
    if code != 0 and not (_excuses(suite) and finished is not None and finished.by_tests == code):
        unexplained = "which no test that counts explains" if _excuses(suite) else "though no test failed"
        return RunOutcome.FAILED, _with_output(session, f"exit status {code}, {unexplained}")
    if suite.run.collect_only:
        return (RunOutcome.PASSED if suite.selected else RunOutcome.NO_TESTS), ""
    return _missing(suite) or ((RunOutcome.PASSED if suite.tests else RunOutcome.NO_TESTS), "")


def _excuses(suite: SuiteResult) -> bool:
    """Tests ended badly whose failures do not count: because of quarantine, or because they passed later."""
    return bool(suite.flaky or suite.excused)


def _missing(suite: SuiteResult) -> Verdict | None:
    """Tests that were to run and have no result."""
    expected = max(suite.count or 0, len(suite.selected))
    unnamed = expected - (len(suite.tests) - suite.parts)
    missing = max(unnamed, sum(test not in suite.tests for test in suite.selected))
    if suite.run.collect_only or missing <= 0:
        return None
    return RunOutcome.INCOMPLETE, f"{missing} of {expected} tests have no result"

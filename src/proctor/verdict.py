"""How a whole run ended. `passed` is what remains when every other explanation has been ruled out:
the session's own end, the exit status of the process and the counts must all agree."""

from __future__ import annotations

from proctor.events import SuiteFinished
from proctor.launch import Voice
from proctor.outcome import BAD, ENOUGH, WORST_FIRST, Outcome, RunOutcome
from proctor.result import Result

# pytest's exit codes
_STOPPED, _INTERNAL, _USAGE, _NOTHING = 2, 3, 4, 5
_CONFTEST = "while loading conftest"


def verdict(result: Result) -> tuple[RunOutcome, str]:
    """The outcome, and the reason for it where the tests alone do not give it: of the present suite, which
    is the run if it has no other."""
    if result.stopped is not None:
        return result.stopped, ""
    if result.source == Voice.PROGRAM:
        return _programs(result)
    if result.source == Voice.REPORT:
        return _reported(result)
    if result.interrupted is not None and result.interrupted.failure.type == ENOUGH:
        return RunOutcome.FAILED, result.interrupted.failure.message
    if result.exited is None:
        return _unseen(result)
    if result.exited.signal == "SIGINT":
        return RunOutcome.INTERRUPTED, "SIGINT"
    if result.exited.signal:
        after = " after the session had finished" if result.finished else ""
        return RunOutcome.CRASHED, f"{result.exited.signal}{after}"
    if result.channel_error is not None:
        return RunOutcome.INCOMPLETE, result.channel_error
    if result.source == Voice.BUILD:
        return _built(result, result.exited.exit_code)
    if result.finished is None:
        return _cut_short(result, result.exited.exit_code)
    if result.source == Voice.LINES:
        return _spoiled(result) or _unspoiled(result, result.exited.exit_code)
    return _told(result, result.exited.exit_code)


def run_verdict(result: Result, last: SuiteFinished | None = None) -> tuple[RunOutcome, str]:
    """Of several suites, `last` among them: the worst, unless the run itself was ended. All reasons count."""
    ended = [(suite.entered.name, suite.finished) for suite in result.suites]
    if last is not None and result.entered is not None:
        ended.append((result.entered.name, last))
    reasons = [f"{name}: {suite_reason(suite)}" for name, suite in ended if suite_reason(suite)]
    if result.stopped is not None:
        building = result.entered is not None and result.entered.source == Voice.BUILD
        return result.stopped, f"during {ended[-1][0]}" if building else ""
    outcomes = {suite.outcome for _, suite in ended}
    worst = next(outcome for outcome in WORST_FIRST if outcome in outcomes)
    if worst is RunOutcome.PASSED and not (result.selected if result.run.collect_only else result.tests):
        worst = RunOutcome.NO_TESTS
    return worst, "; ".join(reasons) if worst is not RunOutcome.NO_TESTS else ""


def suite_reason(suite: SuiteFinished) -> str:
    """Why one of several suites ended as it did, where its tests do not say it."""
    return suite.reason or ("no tests" if suite.outcome is RunOutcome.NO_TESTS else "")


def _unseen(result: Result) -> tuple[RunOutcome, str]:
    """No process has ended here."""
    if result.channel_error is not None:
        return RunOutcome.INCOMPLETE, result.channel_error
    if result.run.collect_only and result.source == Voice.LINES and result.count is not None:
        return (RunOutcome.PASSED if result.count else RunOutcome.NO_TESTS), ""
    return RunOutcome.INCOMPLETE, "the end of the process was not seen"


def _built(result: Result, code: int) -> tuple[RunOutcome, str]:
    """A build has no tests; its errors are those of what could not be built."""
    if result.own_errors():
        return RunOutcome.COLLECTION_ERROR, ""
    if code != 0:
        return RunOutcome.COLLECTION_ERROR, _complaint(result) or f"the build ended with {code}"
    return RunOutcome.PASSED, ""


def _programs(result: Result) -> tuple[RunOutcome, str]:
    """Each test was a process of its own, and its end is in its own outcome."""
    counts = result.own_counts()
    for outcome, worst in ((Outcome.CRASH, RunOutcome.CRASHED), (Outcome.TIMEOUT, RunOutcome.TIMEOUT)):
        if counts[outcome]:
            return worst, ""
    if any(counts[outcome] for outcome in BAD):
        return RunOutcome.FAILED, ""
    selected = list(result.own_selected())
    if not selected:
        return RunOutcome.NO_TESTS, ""
    missing = sum(test not in result.tests for test in selected)
    if missing and not result.run.collect_only:
        return RunOutcome.INCOMPLETE, f"{missing} of {len(selected)} tests have no result"
    return RunOutcome.PASSED, ""


def _reported(result: Result) -> tuple[RunOutcome, str]:
    """Another tool's report. No process was seen: it must have its own end and hold together by itself."""
    if result.channel_error is not None:
        return RunOutcome.INCOMPLETE, result.channel_error
    if result.finished is None:
        return RunOutcome.INCOMPLETE, "the report has no end"
    return _told(result, result.finished.exit_status or 0)


def _cut_short(result: Result, code: int) -> tuple[RunOutcome, str]:
    """The process is gone and the session never came to its end."""
    if result.own_errors() and not result.running and not any(result.own_tests()):
        return RunOutcome.COLLECTION_ERROR, ""
    if result.broke is not None:
        return RunOutcome.INTERNAL_ERROR, result.broke.failure.message
    complaint = _complaint(result)
    begun = result.suite is not None
    if code == _USAGE and complaint and not begun and result.source != Voice.LINES:
        if _CONFTEST in result.stderr.text():  # all that a pytest too old for the plugin says about it
            return RunOutcome.COLLECTION_ERROR, complaint
        return RunOutcome.USAGE_ERROR, complaint
    return RunOutcome.CRASHED, f"the process exited with {code} before the session finished"


def _told(result: Result, code: int) -> tuple[RunOutcome, str]:
    """The session came to its end and said so: does everything else agree?"""
    said = result.finished.exit_status if result.finished else None
    agreed = code if said in (None, code) else None  # a test can end the process with any status
    stop = result.interrupted.failure if result.interrupted else None
    if stop and stop.type == "KeyboardInterrupt":
        return (
            RunOutcome.INTERRUPTED,
            f"KeyboardInterrupt at {stop.place}" if stop.place else "KeyboardInterrupt",
        )
    if result.broke is not None:
        return RunOutcome.INTERNAL_ERROR, result.broke.failure.message
    if stop and stop.type == "Exit":  # with any status
        return (RunOutcome.INTERRUPTED if code == _STOPPED else RunOutcome.INCOMPLETE), stop.message
    if agreed == _INTERNAL:
        return RunOutcome.INTERNAL_ERROR, _complaint(result)
    if agreed == _USAGE:
        return RunOutcome.USAGE_ERROR, _complaint(result)
    if spoiled := _spoiled(result):
        return spoiled
    if agreed == _NOTHING:
        return RunOutcome.NO_TESTS, ""
    return _unspoiled(result, code)


def _spoiled(result: Result) -> tuple[RunOutcome, str] | None:
    """What went wrong in the session, if anything did."""
    if result.own_errors():
        return RunOutcome.COLLECTION_ERROR, ""
    counts = result.own_counts()
    if counts[Outcome.CRASH]:
        return RunOutcome.CRASHED, "a worker process died during a test"
    if any(counts[outcome] for outcome in BAD):
        return RunOutcome.FAILED, ""
    if result.running:
        return RunOutcome.INCOMPLETE, f"{len(result.running)} tests started and never finished"
    if result.interrupted is not None:
        return RunOutcome.INCOMPLETE, result.interrupted.failure.message
    return None


def _unspoiled(result: Result, code: int) -> tuple[RunOutcome, str]:
    """Nothing failed; whether that makes it a pass is a matter of status and counts."""
    said = result.finished.exit_status if result.finished else None
    if said is not None and said != code:
        return RunOutcome.INCOMPLETE, f"the session ended with status {said}, the process with {code}"
    if code != 0:
        return RunOutcome.FAILED, f"exit status {code}, though no test failed"
    selected = sum(1 for _ in result.own_selected())
    if result.run.collect_only:
        return (RunOutcome.PASSED if selected else RunOutcome.NO_TESTS), ""
    expected = max(result.count or 0, selected)
    told = sum(not test.part_of for test in result.own_tests())
    if told < expected:
        return RunOutcome.INCOMPLETE, f"{expected - told} of {expected} tests have no result"
    return (RunOutcome.PASSED if any(result.own_tests()) else RunOutcome.NO_TESTS), ""


def _complaint(result: Result) -> str:
    """What the framework wrote to stderr about a request it could not carry out."""
    lines = result.stderr.text().splitlines()
    for line in lines:
        if ": error: " in line:
            return line.partition(": error: ")[2].strip()
    for line in lines:
        if line.startswith(("ERROR: ", "error: ")) and not line.startswith("ERROR: usage:"):
            return line[len("ERROR: ") :].strip()
    return lines[-1].removeprefix("E ").strip() if lines else ""

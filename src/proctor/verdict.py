"""How a whole run ended. `passed` is what remains when every other explanation has been ruled out:
the session's own end, the exit status of the process and the counts must all agree."""

from __future__ import annotations

from proctor.launch import Voice
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.result import Result

# pytest's exit codes
_STOPPED, _INTERNAL, _USAGE, _NOTHING = 2, 3, 4, 5
_CONFTEST = "while loading conftest"


def verdict(result: Result) -> tuple[RunOutcome, str]:
    """The outcome, and the reason for it where the tests alone do not give it."""
    if result.stopped is not None:
        return result.stopped, ""
    if result.run.source == Voice.PROGRAM:
        return _programs(result)
    if result.run.source == Voice.REPORT:
        return _reported(result)
    if result.exited is None:
        return RunOutcome.INCOMPLETE, "the end of the process was not seen"
    if result.exited.signal == "SIGINT":
        return RunOutcome.INTERRUPTED, "SIGINT"
    if result.exited.signal:
        after = " after the session had finished" if result.finished else ""
        return RunOutcome.CRASHED, f"{result.exited.signal}{after}"
    if result.channel_error is not None:
        return RunOutcome.INCOMPLETE, result.channel_error
    if result.finished is None:
        return _cut_short(result, result.exited.exit_code)
    return _told(result, result.exited.exit_code)


def _programs(result: Result) -> tuple[RunOutcome, str]:
    """Each test was a process of its own, and its end is in its own outcome."""
    for outcome, worst in ((Outcome.CRASH, RunOutcome.CRASHED), (Outcome.TIMEOUT, RunOutcome.TIMEOUT)):
        if result.counts[outcome]:
            return worst, ""
    if any(result.counts[outcome] for outcome in BAD):
        return RunOutcome.FAILED, ""
    if not result.selected:
        return RunOutcome.NO_TESTS, ""
    missing = sum(test not in result.tests for test in result.selected)
    if missing and not result.run.collect_only:
        return RunOutcome.INCOMPLETE, f"{missing} of {len(result.selected)} tests have no result"
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
    if result.collection_errors and not result.running and not result.tests:
        return RunOutcome.COLLECTION_ERROR, ""
    if result.broke is not None:
        return RunOutcome.INTERNAL_ERROR, result.broke.failure.message
    if code == _USAGE:
        complaint = _complaint(result)
        if _CONFTEST in result.stderr.text():  # all that a pytest too old for the plugin says about it
            return RunOutcome.COLLECTION_ERROR, complaint
        return RunOutcome.USAGE_ERROR, complaint
    return RunOutcome.CRASHED, f"the process exited with {code} before the session finished"


def _told(result: Result, code: int) -> tuple[RunOutcome, str]:
    """The session came to its end and said so: does everything else agree?"""
    stop = result.interrupted.failure if result.interrupted else None
    if stop and stop.type == "KeyboardInterrupt":
        return (
            RunOutcome.INTERRUPTED,
            f"KeyboardInterrupt at {stop.place}" if stop.place else "KeyboardInterrupt",
        )
    if result.broke is not None or code == _INTERNAL:
        return RunOutcome.INTERNAL_ERROR, result.broke.failure.message if result.broke else _complaint(result)
    if code == _USAGE:
        return RunOutcome.USAGE_ERROR, _complaint(result)
    if stop and stop.type == "Exit":
        return (RunOutcome.INTERRUPTED if code == _STOPPED else RunOutcome.INCOMPLETE), stop.message
    if result.collection_errors:
        return RunOutcome.COLLECTION_ERROR, ""
    if result.counts[Outcome.CRASH]:
        return RunOutcome.CRASHED, "a worker process died during a test"
    if any(result.counts[outcome] for outcome in BAD):
        return RunOutcome.FAILED, ""
    if result.running:
        return RunOutcome.INCOMPLETE, f"{len(result.running)} tests started and never finished"
    if stop is not None:
        return RunOutcome.INCOMPLETE, stop.message
    return _unspoiled(result, code)


def _unspoiled(result: Result, code: int) -> tuple[RunOutcome, str]:
    """Nothing failed; whether that makes it a pass is a matter of status and counts."""
    said = result.finished.exit_status if result.finished else None
    if said is not None and said != code:
        return RunOutcome.INCOMPLETE, f"the session ended with status {said}, the process with {code}"
    if code == _NOTHING:
        return RunOutcome.NO_TESTS, ""
    if code != 0:
        return RunOutcome.FAILED, f"exit status {code}, though no test failed"
    if result.run.collect_only:
        return (RunOutcome.PASSED if result.selected else RunOutcome.NO_TESTS), ""
    expected = max(result.count or 0, len(result.selected))
    told = sum(not test.part_of for test in result.tests.values())
    if told < expected:
        return RunOutcome.INCOMPLETE, f"{expected - told} of {expected} tests have no result"
    return (RunOutcome.PASSED if result.tests else RunOutcome.NO_TESTS), ""


def _complaint(result: Result) -> str:
    """What the framework wrote to stderr about a request it could not carry out."""
    lines = result.stderr.text().splitlines()
    for line in lines:
        if ": error: " in line:
            return line.partition(": error: ")[2].strip()
    for line in lines:
        if line.startswith("ERROR: ") and not line.startswith("ERROR: usage:"):
            return line.removeprefix("ERROR: ").strip()
    return lines[-1].removeprefix("E ").strip() if lines else ""

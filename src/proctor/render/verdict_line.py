"""The first line of every answer: the verdict, with every count that is not zero."""

from __future__ import annotations

from proctor.outcome import Outcome, RunOutcome
from proctor.render.history_words import verdict_notes
from proctor.render.neutral import neutral
from proctor.result import RunResult

#: What is not the outcome's name in capitals. Counts alone say that a run passed, and mostly that it failed.
_WORDS = {
    RunOutcome.PASSED: "",
    RunOutcome.FAILED: "",
    RunOutcome.NO_TESTS: "no tests",
    RunOutcome.CRASHED: "CRASH",
    RunOutcome.RUNNING: "running",
}
_COUNTED = (Outcome.SKIPPED, Outcome.XFAILED, Outcome.XPASSED, Outcome.WARN, Outcome.INFO)
_TIMES = {1: "once", 2: "twice"}

_MOST_SUITES = 5  # that could not be started and are named


def verdict_line(result: RunResult, reasons: bool = True) -> str:
    """`2 failed 140 passed, all new, node: not run`; `reasons`: also why a baseline says nothing."""
    return ", ".join([*filter(None, [verdict_of_tests(result)]), *notes(result, reasons)])


def notes(result: RunResult, reasons: bool = True) -> list[str]:
    """What else the verdict has to say: what is new, fixed or was so before, that sessions were set up again,
    and which suites did not run."""
    restarted = ["restarted"] if result.restarted else []
    return [*verdict_notes(result, reasons), *restarted, *suites_not_run(result)]


def suites_not_run(result: RunResult) -> list[str]:
    """`node: not run` for each suite that could not be started."""
    named = [f"{neutral(missing.runner)}: not run" for missing in result.missing]
    more = len(named) - _MOST_SUITES
    return named if more <= 1 else [*named[:_MOST_SUITES], f"{more} more suites: not run"]


def verdict_of_tests(result: RunResult) -> str:
    """The line without the suites that could not be started."""
    word = _WORDS.get(result.outcome, result.outcome.upper().replace("_", " "))
    if (
        result.outcome is RunOutcome.FAILED
        and not result.counts[Outcome.FAILED] + result.counts[Outcome.ERROR]
    ):
        word = "FAILED"
    return " ".join([*([word] if word else []), *counts(result)])


def counts(result: RunResult) -> list[str]:
    tally = result.counts
    errors, crashed, late = tally[Outcome.ERROR], tally[Outcome.CRASH], tally[Outcome.TIMEOUT]
    errors += len(result.collection_errors)
    # The word for the run tells of a single one.
    crashed -= crashed == 1 and result.outcome is RunOutcome.CRASHED
    late -= late == 1 and result.outcome is RunOutcome.TIMEOUT
    rows = [
        (tally[Outcome.FAILED], "failed"),
        (errors, "error" if errors == 1 else "errors"),
        (crashed, "crashed"),
        (late, "timed out"),
        (tally[Outcome.PASSED], "passed"),
        (result.flaky, f"flaky{_lost_tries(result)}"),
        *((tally[outcome], outcome) for outcome in _COUNTED),
        (result.excused, "quarantined"),
        (_pending(result), "to be run again"),
        (result.left_out, "deselected"),
        (len(result.not_run), "not run"),
    ]
    return [f"{count} {word}" for count, word in rows if count]


def _pending(result: RunResult) -> int:
    """Tests that failed and may run again, while they still can."""
    running = result.outcome is RunOutcome.RUNNING
    return sum(len(suite.attempts) for suite in result.suites) if running else 0


def _lost_tries(result: RunResult) -> str:
    """` (crashed once)` of a flaky test that did more than fail; ` (2 crashed)` of several flaky tests."""
    if not result.flaky:
        return ""
    words = {Outcome.CRASH: "crashed", Outcome.TIMEOUT: "timed out"}
    tries = [[one.outcome for one in test.attempts] for test in result.tests.values() if test.flaky]
    said = []
    for outcome, word in words.items():
        if len(tries) == 1 and (times := tries[0].count(outcome)):
            said.append(f"{word} {_TIMES.get(times, f'{times} times')}")
        elif count := sum(outcome in outcomes for outcomes in tries):
            said.append(f"{count} {word}")
    return f" ({', '.join(said)})" if said else ""

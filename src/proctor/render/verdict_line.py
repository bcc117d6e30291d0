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
_SAID: dict[str, str] = {Outcome.CRASH: "crashed", Outcome.TIMEOUT: "timed out"}
_TIMES = {1: "once", 2: "twice"}

_MOST_SUITES = 5  # that could not be started and are named


def verdict_line(result: RunResult, reasons: bool = True) -> str:
    """`2 failed 140 passed, all new, node: not run`; `reasons`: also why a baseline says nothing."""
    return ", ".join([*filter(None, [verdict_of_tests(result)]), *notes(result, reasons)])


def notes(result: RunResult, reasons: bool = True) -> list[str]:
    """What else the verdict has to say: what is new, fixed or was so before, that sessions were set up again,
    and which suites did not run."""
    return [*verdict_notes(result, reasons), *own_notes(result)]


def own_notes(result: RunResult) -> list[str]:
    """Those that are about the run itself, without any other."""
    return [*(["restarted"] if result.restarted else []), *suites_not_run(result)]


def suites_not_run(result: RunResult) -> list[str]:
    """`node: not run` for each suite that could not be started."""
    named = [f"{neutral(missing.runner)}: not run" for missing in result.missing]
    more = len(named) - _MOST_SUITES
    return named if more <= 1 else [*named[:_MOST_SUITES], f"{more} more suites: not run"]


def verdict_of_tests(result: RunResult) -> str:
    """The line without the suites that could not be started."""
    word = verdict_word(result)
    return " ".join([*([word] if word else []), *counts(result)])


def verdict_word(result: RunResult) -> str:
    """What stands before the counts; empty where they say it all."""
    word = _WORDS.get(result.outcome, result.outcome.upper().replace("_", " "))
    if (
        result.outcome is RunOutcome.FAILED
        and not result.counts[Outcome.FAILED] + result.counts[Outcome.ERROR]
    ):
        word = "FAILED"
    return word


def counts(result: RunResult, every: bool = False) -> list[str]:
    """`every`: also the one test that crashed or was too slow, of which the word for the run tells."""
    tally = result.counts
    errors, crashed, late = tally[Outcome.ERROR], tally[Outcome.CRASH], tally[Outcome.TIMEOUT]
    errors += len(result.collection_errors)
    if not every:
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


def counted(count: int, word: str) -> str:
    """`2 errors`, `1 crashed`, `3 not run`: so many tests with this outcome, in the words of the verdict."""
    said = _SAID.get(word, word.replace("_", " "))
    return f"{count} {said}{'s' * (word == Outcome.ERROR and count != 1)}"


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

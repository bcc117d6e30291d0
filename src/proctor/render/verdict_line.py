"""The first line of every answer: the verdict, with every count that is not zero."""

from __future__ import annotations

from proctor.outcome import Outcome, RunOutcome
from proctor.result import RunResult

_WORDS = {
    RunOutcome.COLLECTION_ERROR: "COLLECTION ERROR",
    RunOutcome.NO_TESTS: "no tests",
    RunOutcome.USAGE_ERROR: "USAGE ERROR",
    RunOutcome.INTERNAL_ERROR: "INTERNAL ERROR",
    RunOutcome.INTERRUPTED: "INTERRUPTED",
    RunOutcome.TIMEOUT: "TIMEOUT",
    RunOutcome.CRASHED: "CRASH",
    RunOutcome.INCOMPLETE: "INCOMPLETE",
    RunOutcome.CANCELLED: "CANCELLED",
    RunOutcome.RUNNING: "running",
}


def verdict_line(result: RunResult) -> str:
    word = _WORDS.get(result.outcome, "")
    text = " ".join([*([word] if word else []), *counts(result)])
    if result.outcome is RunOutcome.FAILED and not any(result.counts[bad] for bad in Outcome if bad in _BAD):
        text = f"FAILED {text}"
    return text


_BAD = (Outcome.FAILED, Outcome.ERROR)


def counts(result: RunResult) -> list[str]:
    tally = result.counts
    errors = tally[Outcome.ERROR] + len(result.collection_errors)
    several = {Outcome.CRASH: "crashed", Outcome.TIMEOUT: "timed out"}
    rows = [
        (tally[Outcome.FAILED], "failed"),
        (errors, "error" if errors == 1 else "errors"),
        *((tally[outcome], word) for outcome, word in several.items() if tally[outcome] > 1),
        (tally[Outcome.PASSED], "passed"),
        (tally[Outcome.SKIPPED], "skipped"),
        (tally[Outcome.XFAILED], "xfailed"),
        (tally[Outcome.XPASSED], "xpassed"),
        (tally[Outcome.WARN], "warn"),
        (tally[Outcome.INFO], "info"),
        (result.left_out, "deselected"),
        (len(result.not_run), "not run"),
    ]
    return [f"{count} {word}" for count, word in rows if count]

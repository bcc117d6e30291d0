"""The words for how a test and how a run ended, the same for every runner and every format."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How one test ended."""

    __hash__ = str.__hash__  # that of an enumeration is a Python function, and every test is counted by this

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    ERROR = "error"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    CRASH = "crash"
    TIMEOUT = "timeout"
    NOT_RUN = "not_run"
    INFO = "info"
    WARN = "warn"


#: The type of a session's interruption when the limit of failures (`--maxfail`) was reached.
MAXFAIL = "maxfail"

#: What a person reads from the first Ctrl-C until the run has ended.
INTERRUPTING = "interrupting… (again to kill)"

#: A run with one of these cannot have passed.
BAD = frozenset({Outcome.FAILED, Outcome.ERROR, Outcome.CRASH, Outcome.TIMEOUT})

#: What a test is called that ended badly where that does not count: it passed later, or nobody relies on it.
FLAKY, QUARANTINED = "flaky", "quarantined"


class RunOutcome(StrEnum):
    """How the whole run ended. PASSED is earned, never assumed."""

    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    COLLECTION_ERROR = "collection_error"
    NO_TESTS = "no_tests"
    USAGE_ERROR = "usage_error"
    INTERNAL_ERROR = "internal_error"
    INTERRUPTED = "interrupted"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    INCOMPLETE = "incomplete"
    CANCELLED = "cancelled"


#: Nothing failed.
QUIET = frozenset({RunOutcome.PASSED, RunOutcome.NO_TESTS})

#: Of several suites the worst speaks for all: the first of these that one of them has. That a suite has no
#: tests is no fault where another one has some.
WORST_FIRST = (
    RunOutcome.INTERNAL_ERROR,
    RunOutcome.USAGE_ERROR,
    RunOutcome.INTERRUPTED,
    RunOutcome.CANCELLED,
    RunOutcome.TIMEOUT,
    RunOutcome.CRASHED,
    RunOutcome.RUNNING,
    RunOutcome.INCOMPLETE,
    RunOutcome.COLLECTION_ERROR,
    RunOutcome.FAILED,
    RunOutcome.PASSED,
    RunOutcome.NO_TESTS,
)

EXIT_CODES = {
    RunOutcome.PASSED: 0,
    RunOutcome.FAILED: 1,
    RunOutcome.COLLECTION_ERROR: 1,
    RunOutcome.RUNNING: 2,
    RunOutcome.INTERRUPTED: 2,
    RunOutcome.TIMEOUT: 2,
    RunOutcome.CRASHED: 2,
    RunOutcome.INCOMPLETE: 2,
    RunOutcome.CANCELLED: 2,
    RunOutcome.INTERNAL_ERROR: 3,
    RunOutcome.USAGE_ERROR: 4,
    RunOutcome.NO_TESTS: 5,
}

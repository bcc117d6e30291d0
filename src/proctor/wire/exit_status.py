"""What an exit status of pytest means, and of every framework that uses its numbers."""

from __future__ import annotations

from proctor.events import Failure, SessionBroke, StatusExplained
from proctor.outcome import RunOutcome
from proctor.result import Session

STOPPED, INTERNAL, USAGE, NOTHING = 2, 3, 4, 5
_NOT_EVALUATED = ("RecursionError", "MemoryError", "SyntaxError", "ValueError", "OverflowError")
_CONFTEST = "while loading conftest"  # as a pytest too old for the plugin writes it


def explained(session: Session, code: int, stderr: str) -> StatusExplained | None:
    """None where the status only means that something failed, or nothing did."""
    if session.finished is None:
        return _refused(session, code, stderr)
    stop = session.interrupted.failure if session.interrupted is not None else Failure()
    if stop.type == "KeyboardInterrupt":
        why = f"KeyboardInterrupt at {stop.place}" if stop.place else "KeyboardInterrupt"
        return StatusExplained(RunOutcome.INTERRUPTED, why)
    if session.broke is not None and _is_of_expression(session.broke):
        why = f"pytest cannot evaluate the expression of -k or -m: {session.broke.failure.message}"
        return StatusExplained(RunOutcome.USAGE_ERROR, why)
    if session.broke is not None:
        return StatusExplained(RunOutcome.INTERNAL_ERROR, session.broke.failure.message)
    if stop.type == "Exit":  # with any status
        outcome = RunOutcome.INTERRUPTED if code == STOPPED else RunOutcome.INCOMPLETE
        return StatusExplained(outcome, stop.message)
    if stop.type == "UsageError":  # of a reporter that knows only at the end what is not there
        return StatusExplained(RunOutcome.USAGE_ERROR, stop.message)
    if session.finished.exit_status not in (None, code):
        return None  # a test can end the process with any status
    if code == INTERNAL:
        return StatusExplained(RunOutcome.INTERNAL_ERROR, complaint(stderr))
    if code == USAGE:
        return StatusExplained(RunOutcome.USAGE_ERROR, complaint(stderr))
    return StatusExplained(RunOutcome.NO_TESTS) if code == NOTHING else None


def _is_of_expression(broke: SessionBroke) -> bool:
    """pytest's own errors in an expression are usage errors; what it does not catch is none of its code's."""
    return broke.failure.type in _NOT_EVALUATED and "_pytest/mark/" in broke.traceback.replace("\\", "/")


def _refused(session: Session, code: int, stderr: str) -> StatusExplained | None:
    """The process ended before there was a session, because of a usage error or a broken conftest."""
    why = complaint(stderr)
    if code != USAGE or session.described is not None or not why:
        return None
    outcome = RunOutcome.COLLECTION_ERROR if _CONFTEST in stderr else RunOutcome.USAGE_ERROR
    return StatusExplained(outcome, why)


def missing_target(explained: StatusExplained | None) -> str:
    """The test or file that pytest was to run and did not find; nothing if that is not what went wrong."""
    if explained is None or explained.outcome is not RunOutcome.USAGE_ERROR:
        return ""
    return explained.reason.partition("not found: ")[2]


def complaint(stderr: str) -> str:
    """The error message of a tool, from its stderr."""
    lines = stderr.splitlines()
    for line in lines:
        if ": error: " in line:
            return line.partition(": error: ")[2].strip()
    for line in lines:
        if line.startswith(("ERROR: ", "error: ")) and not line.startswith("ERROR: usage:"):
            return line[len("ERROR: ") :].strip()
    return lines[-1].removeprefix("E ").strip() if lines else ""

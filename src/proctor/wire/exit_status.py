"""What an exit status of pytest means, and of every framework that uses its numbers."""

from __future__ import annotations

import re
from itertools import islice

from proctor.events import Failure, SessionBroke, StatusExplained
from proctor.outcome import RunOutcome
from proctor.result import Session

STOPPED, INTERNAL, USAGE, NOTHING = 2, 3, 4, 5
_NOT_EVALUATED = ("RecursionError", "MemoryError", "SyntaxError", "ValueError", "OverflowError")
_FRAME = r'(?m)^ +File "([^"\n]+)", line ([0-9]{1,9})'
_LIBRARY = r"^<|[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python[0-9.]+[/\\]"
_MOST_LINES = 6  # of a complaint that goes on after a colon
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
        why = f"pytest cannot evaluate the -k or -m expression: {session.broke.failure.message}"
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
    """The process ended before there was a session: a usage error, a broken conftest, a hook that raised."""
    if session.described is not None:
        return None
    if code != USAGE:
        raised = last_exception(stderr) if code else ""
        return StatusExplained(RunOutcome.INTERNAL_ERROR, raised) if raised else None
    why = complaint(stderr)
    if not why:
        return None
    outcome = RunOutcome.COLLECTION_ERROR if _CONFTEST in stderr else RunOutcome.USAGE_ERROR
    return StatusExplained(outcome, why)


def missing_target(explained: StatusExplained | None) -> str:
    """The test or file that pytest was to run and did not find; nothing if that is not what went wrong."""
    if explained is None or explained.outcome is not RunOutcome.USAGE_ERROR:
        return ""
    return explained.reason.partition("not found: ")[2]


def last_exception(stderr: str) -> str:
    """The exception of the last Python traceback in a text, and the last line of user code in it."""
    _, found, trace = stderr.rpartition("Traceback (most recent call last):\n")
    if not found:
        return ""
    places = [f"{file}:{line}" for file, line in re.findall(_FRAME, trace) if not re.search(_LIBRARY, file)]
    words = next((line for line in trace.splitlines() if line and not line.startswith((" ", "\t"))), "")
    return f"{places[-1]} {words}" if places and words else words


def complaint(stderr: str) -> str:
    """The error message of a tool, from its stderr."""
    lines = stderr.splitlines()
    for line in lines:
        if ": error: " in line:
            return line.partition(": error: ")[2].strip()
    for at, line in enumerate(lines):
        if line.startswith(("ERROR: ", "error: ")) and not line.startswith("ERROR: usage:"):
            rest = filter(None, map(str.strip, lines[at + 1 :])) if line.rstrip().endswith(":") else iter(())
            return " ".join([line[len("ERROR: ") :].strip(), *islice(rest, _MOST_LINES)])
    return lines[-1].removeprefix("E ").strip() if lines else ""

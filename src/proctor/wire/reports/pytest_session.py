"""What the reports of pytest's plugins have in common: the exit status and collection errors."""

from __future__ import annotations

from collections.abc import Iterator

from proctor import events as e
from proctor.result import Session
from proctor.wire import exit_status


def concluded_session(finished: e.SessionFinished, not_collected: bool) -> Iterator[e.Event]:
    """The end of a session by its exit status, and its interruption, if it was interrupted."""
    stop = None
    if finished.exit_status == exit_status.STOPPED and not not_collected:
        stop = e.SessionInterrupted(e.Failure("Exit", "pytest was interrupted"))
        yield stop
    session = Session(interrupted=stop, finished=finished)
    if explained := exit_status.explained(session, finished.exit_status or 0, ""):
        yield explained
    yield finished


def not_collected(file: str, longrepr: str) -> e.CollectionFailed:
    """pytest's reason is the last of the lines that it marks with `E`."""
    marked = [line[1:].strip() for line in longrepr.splitlines() if line.startswith("E ")]
    message = marked[-1] if marked else longrepr.strip().rpartition("\n")[2]
    return e.CollectionFailed(file, e.Failure("", message), longrepr)


def disagreement(status: int, failed: bool, any_tests: bool) -> list[str]:
    """Where pytest's exit status does not fit its tests.

    Of others it can only be said that a session may end with any, for reasons of its own.
    """
    if status == 0 and failed:
        return ["pytest's exit status is 0, and tests failed"]
    if status == exit_status.NOTHING and any_tests:
        return ["pytest's exit status is 5, which means no tests, and there are some"]
    return []

"""What the reports of pytest's plugins have in common: the exit status and collection errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from proctor import events as e
from proctor.result import Session
from proctor.wire import exit_status
from proctor.wire.control.session import not_collected_but_skipped
from proctor.wire.reports.report import place_of

_SKIP = re.compile(r"\(['\"](.*)['\"], ([0-9]{1,9}), ['\"](.*)['\"]\)", re.S)  # as Python writes it


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


def skip_facts(longrepr: Any) -> tuple[str, e.Place | None]:
    """The reason of a skip and its place. pytest has (path, line, reason), as a list or as Python's text."""
    if isinstance(longrepr, str) and longrepr.endswith(("')", '")')):
        found = _SKIP.fullmatch(longrepr)
        longrepr = [found[1], int(found[2]), found[3]] if found else longrepr
    match longrepr:
        case [str(path), int(line), str(reason)]:
            return reason, place_of(path, line)
    return "", None


def skipped_collector(name: str, longrepr: Any, root: str = "") -> e.TestFinished:
    reason, place = skip_facts(longrepr)
    if place is not None and root:
        place = place_of(place.file.removeprefix(f"{root}/"), place.line)
    return not_collected_but_skipped(name, reason or str(longrepr or ""), place)


def disagreement(status: int, failed: bool, any_tests: bool) -> list[str]:
    """Where pytest's exit status does not fit its tests.

    A session may end with any other status, for reasons of its own.
    """
    if status == 0 and failed:
        return ["pytest's exit status is 0, and tests failed"]
    if status == exit_status.NOTHING and any_tests:
        return ["pytest's exit status is 5, which means no tests, and there are some"]
    return []

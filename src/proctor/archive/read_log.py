"""The result of a kept run, or its result so far, from its event log."""

from __future__ import annotations

import os

import msgspec

from proctor.archive.inside import Folder, open_inside
from proctor.archive.store import EVENTS_FILE, in_use
from proctor.errors import UsageError
from proctor.events import Entry
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.wire.stream.reader import StreamReader

_PIECE = 1 << 16  # bytes


class LoggedRun(msgspec.Struct):
    result: RunResult
    notes: list[str]  # about the record itself


def open_log(folder: Folder) -> int:
    try:
        return open_inside(folder, EVENTS_FILE)
    except OSError as error:
        raise UsageError(f"the log of run {folder.name} cannot be read: {error.strerror}") from None


def under_way(folder: Folder) -> str:
    """A note that this run goes on, or nothing. Ask before its log is read: the run may end meanwhile."""
    return f"run {folder.name} is under way: this is its record so far" if in_use(folder) else ""


def _entries(folder: Folder, reader: StreamReader) -> list[Entry]:
    found: list[Entry] = []
    with os.fdopen(open_log(folder), "rb") as file:
        while piece := file.read(_PIECE):
            found += reader.feed(piece)
    return found


def read_log(folder: Folder) -> LoggedRun:
    """The result by the log. A run that was killed gets an end here; one under way is still running."""
    goes_on = under_way(folder)
    results: list[RunResult] = []
    reader, replay = StreamReader(), Replay(lambda: [], results.append)
    replay.take(_entries(folder, reader))
    if not goes_on:
        replay.take(reader.close())  # of a run under way the last line may not be whole yet
    replay.close(goes_on)
    if not results:
        raise UsageError(f"run {folder.name} has no recorded events yet")
    notes = [f"run {folder.name} was cut short: {gap}" for gap in replay.gaps]
    return LoggedRun(results[0], [*results[0].notices, *notes])

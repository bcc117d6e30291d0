"""The result of a kept run, or its result so far, from its event log."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from proctor.archive.inside import open_inside
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


def open_log(path: Path) -> int:
    try:
        return open_inside(path, EVENTS_FILE)
    except OSError as error:
        raise UsageError(f"the log of run {path.name} cannot be read: {error.strerror}") from None


def under_way(path: Path) -> str:
    """A note that this run goes on, or nothing. Ask before its log is read: the run may end meanwhile."""
    return f"run {path.name} is under way: this is its record so far" if in_use(path) else ""


def _entries(path: Path, reader: StreamReader) -> list[Entry]:
    found: list[Entry] = []
    with os.fdopen(open_log(path), "rb") as file:
        while piece := file.read(_PIECE):
            found += reader.feed(piece)
    return found


def read_log(path: Path) -> LoggedRun:
    """What has no end because proctor was killed gets one here; in a run under way it is running."""
    goes_on = under_way(path)
    results: list[RunResult] = []
    reader, replay = StreamReader(), Replay(lambda: [], results.append)
    replay.take(_entries(path, reader))
    if not goes_on:
        replay.take(reader.close())  # of a run under way the last line may not be whole yet
    replay.close(goes_on)
    if not results:
        raise UsageError(f"nothing is on record for run {path.name}, or nothing yet")
    notes = [f"run {path.name} was cut short: {gap}" for gap in replay.gaps]
    return LoggedRun(results[0], [*results[0].notices, *notes])

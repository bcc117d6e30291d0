"""A run's event log, folded again: what the run meant, or means so far."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from proctor.archive.inside import open_inside
from proctor.archive.store import EVENTS_FILE, in_use
from proctor.errors import StreamError, UsageError
from proctor.events import Entry, RunFinished, RunStarted
from proctor.fold import begin, fold
from proctor.replay import cut_short
from proctor.result import RunResult
from proctor.wire.stream import log


class Replayed(msgspec.Struct):
    result: RunResult
    notes: list[str]  # what the reader should know about the record itself


def replay(path: Path) -> Replayed:
    """What never ended because proctor was killed gets its ending here; in a run under way it is running."""
    under_way = in_use(path)  # before it is read: a run that ends meanwhile was not cut short
    entries, damaged = _entries(path)
    if not entries or not isinstance(entries[0].event, RunStarted):
        raise UsageError(f"nothing is on record for run {path.name}, or nothing yet")
    result = begin(entries[0].event)
    for entry in entries:
        fold(result, entry)
    notes = [f"{damaged} lines of its log cannot be read"] if damaged else []
    if not isinstance(entries[-1].event, RunFinished):
        if under_way:
            notes.append(f"run {path.name} is under way: this is what there is so far")
        else:
            notes.append(f"run {path.name} was cut short: this is what there is")
            last = entries[-1]
            endings = cut_short(result, last.at, "proctor was killed, or could not write its log")
            for number, (suite, event) in enumerate(endings, last.seq + 1):
                fold(result, Entry(number, last.at, suite, event))
    return Replayed(result, notes)


def _entries(path: Path) -> tuple[list[Entry], int]:
    """All that can be read, and how many lines cannot. A last line without its end is still being written."""
    found: list[Entry] = []
    suites = log.SuiteNumbers()
    damaged = 0
    try:
        file = os.fdopen(open_inside(path, EVENTS_FILE), "rb")
    except OSError as error:
        raise UsageError(f"the log of run {path.name} cannot be read: {error.strerror}") from None
    with file:
        for line in file:
            if line.endswith(b"\n"):
                try:
                    entry = log.decode(line)
                except StreamError:
                    damaged += 1
                    continue
                if entry is not None:
                    found.append(suites.numbered(entry))
    return found, damaged

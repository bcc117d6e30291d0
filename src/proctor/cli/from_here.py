"""A kept run, with the commands that its texts name made for the directory in which they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec.structs import replace

from proctor.cli.options import current_directory
from proctor.events import Entry, Invocation, RunStarted


def from_here(entries: Iterable[Entry]) -> list[Entry]:
    """The same entries. A project that is not on this machine is left out of the commands."""
    return [
        replace(entry, event=_moved(entry.event)) if isinstance(entry.event, RunStarted) else entry
        for entry in entries
    ]


def _moved(run: RunStarted) -> RunStarted:
    asked = run.invocation or Invocation(run.cwd)
    if not asked.project or not os.path.isdir(asked.project):
        return replace(run, invocation=None)
    return replace(run, invocation=replace(asked, directory=current_directory()))

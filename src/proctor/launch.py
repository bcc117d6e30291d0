"""A process to be started, as a value: what a runner plans and what `process` carries out."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Voice(StrEnum):
    """How the process tells what happens in it."""

    CONTROL = "control"  # on the control channel: a session of many tests
    PROGRAM = "program"  # on the control channel: it is a test itself
    TEXT = "text"  # in the words of its terminal output
    REPORT = "report"  # in a report that was read when it was long gone


class Launch(msgspec.Struct, frozen=True):
    argv: tuple[str, ...]
    cwd: str
    name: str = ""  # of the test that the process is, or of the suite that it runs
    voice: Voice = Voice.CONTROL
    environment: dict[str, str] = {}  # added to the user's own
    memory: int = 0  # bytes for each process; 0: no limit
    duration: float | None = None  # seconds that it may take, unless it asks for more
    tags: tuple[str, ...] = ()

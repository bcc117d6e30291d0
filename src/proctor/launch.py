"""A process to be started, as a value: what a runner plans and what `process` carries out."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Voice(StrEnum):
    """How the process tells what happens in it."""

    CONTROL = "control"  # on the control channel: a session of many tests
    PROGRAM = "program"  # on the control channel: it is a test itself
    TEXT = "text"  # in the words of its terminal output
    LINES = "lines"  # in lines on its stdout, in a format that `wire` reads
    BUILD = "build"  # likewise, but about what it makes: it runs no tests
    SUITES = "suites"  # the run has several suites, each with a voice of its own
    REPORT = "report"  # in a report that was read when it was long gone


class KnownTest(msgspec.Struct, frozen=True):
    """A test that can be seen without starting anything."""

    name: str
    file: str
    line: int


class Artifact(msgspec.Struct, frozen=True):
    """Something that a build made and that can be started."""

    path: str
    name: str = ""
    kind: str = ""
    root: str = ""  # the directory that it belongs to


class Launch(msgspec.Struct, frozen=True):
    argv: tuple[str, ...]  # empty: nothing has to be started to know the tests
    cwd: str
    name: str = ""  # of the test that the process is, or of the suite that it runs
    voice: Voice = Voice.CONTROL
    environment: dict[str, str] = {}  # added to the user's own
    memory: int = 0  # bytes for each process; 0: no limit
    duration: float | None = None  # seconds that it may take, unless it asks for more
    tags: tuple[str, ...] = ()
    reader: str = ""  # of LINES and BUILD: the format, by its name in `wire.formats`
    prefix: str = ""  # of LINES: put before the names of tests, so that they can be run by what is shown
    known: tuple[KnownTest, ...] = ()  # tests in it, by their full names

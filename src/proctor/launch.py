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
    """A test that can be seen without running it."""

    name: str
    file: str
    line: int
    subtype: str = ""  # as for `events.TestFinished`


class Artifact(msgspec.Struct, frozen=True):
    """Something that a build made and that can be started."""

    path: str
    name: str = ""
    kind: str = ""
    root: str = ""  # the directory, or the other artifact, that it belongs to
    facts: dict[str, str] = {}  # what else its runner wants to know


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
    listed: bool = False  # these are all that will run: the process itself has said so before
    deselected: tuple[str, ...] = ()  # tests that it would run if it were not asked for others
    root: str = ""  # of the project, where `cwd` is another directory
    base: str = ""  # what the files that it names are relative to; nothing: the project
    build: str = ""  # RFC 3339: when what is started was built
    toolchain: dict[str, str] = {}  # what that was built with

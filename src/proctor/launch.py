"""A process to be started, as a value: planned by a runner, started by `process`."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar, TypeAlias

import msgspec


class Voice(StrEnum):
    """The word for how results came to be known: `source` in documents and logs."""

    CONTROL = "control"
    PROGRAM = "program"
    TEXT = "text"
    LINES = "lines"
    BUILD = "build"
    REPORT = "report"  # read from a report when its process was long gone


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


class Session(msgspec.Struct, frozen=True):
    """It reports a session of many tests on the control channel."""

    voice: ClassVar[Voice] = Voice.CONTROL
    continues: bool = False  # another session can run a part of its tests: it heeds `asking`


class Program(msgspec.Struct, frozen=True):
    """It is a test itself, judged by how it ends, and may report more on the control channel."""

    voice: ClassVar[Voice] = Voice.PROGRAM
    duration: float | None = None  # seconds that it may take, unless it asks for more
    tags: tuple[str, ...] = ()
    toolchain: dict[str, str] = {}  # what it was built with


class Text(msgspec.Struct, frozen=True):
    """It prints its results for people: a pytest that is too old for the plugin."""

    voice: ClassVar[Voice] = Voice.TEXT


class Lines(msgspec.Struct, frozen=True):
    """It prints its results on stdout, in a format that `wire` reads."""

    voice: ClassVar[Voice] = Voice.LINES
    reader: str  # the format, by its name in `wire.formats`
    prefix: str = ""  # put before the names of tests, so that they can be run by what is shown
    known: tuple[KnownTest, ...] = ()  # tests in it, by their full names
    wanted: tuple[str, ...] = ()  # names that must be among its tests, or begin those of its groups
    listed: bool = False  # these are all that will run: the process itself has said so before
    deselected: tuple[str, ...] = ()  # tests that it would run if it were not asked for others
    root: str = ""  # of the project, where the process runs in another directory
    base: str = ""  # what the files that it names are relative to; nothing: the project
    build: str = ""  # RFC 3339: when what is started was built
    toolchain: dict[str, str] = {}  # what that was built with


class Build(Lines, frozen=True):
    """It prints what it builds, and runs no tests."""

    voice: ClassVar[Voice] = Voice.BUILD


#: How a process says what happens in it.
Speech: TypeAlias = Session | Program | Text | Lines | Build


class Ahead(msgspec.Struct, frozen=True):
    """What a process can do before anybody knows what it will run: see `process/standby`."""

    words: int  # of its argv, which are the same for every run
    installed: tuple[str, ...]  # names and versions of the packages that it finds
    preload: tuple[str, ...] = ()  # packages that the project wants to be imported


class Launch(msgspec.Struct, frozen=True):
    argv: tuple[str, ...]  # empty: nothing has to be started to know the tests
    cwd: str
    name: str = ""  # of the test that the process is, or of the suite that it runs
    speech: Speech = Session()
    environment: dict[str, str] = {}  # added to the user's own
    memory: int = 0  # bytes for each process; 0: no limit
    instead: Launch | None = None  # if it ends at once because its tests have to run in another way
    ahead: Ahead | None = None  # it need not be started from nothing


#: The variable in which a session finds what somebody asked for beyond a plain run, as JSON.
ASKED_VARIABLE = "PROCTOR_ASKED"


def asking(launch: Launch, more: dict[str, Any]) -> Launch:
    """The same launch with more requests to its session."""
    import json  # a plain run asks for nothing

    known = json.loads(launch.environment.get(ASKED_VARIABLE, "{}"))
    environment = {**launch.environment, ASKED_VARIABLE: json.dumps({**known, **more})}
    return msgspec.structs.replace(launch, environment=environment)

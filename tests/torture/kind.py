"""A kind of hostile project, as a value: its files, and the truth about it, which nobody asks proctor for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

#: 5 makes 100,000 files, 5,000 tests and a million writes; 1 does for every day.
SIZE = int(os.environ.get("PROCTOR_TORTURE_SIZE", "1"))

LEDGER = '''
"""Notes what is true beside the project: tests that came to their end, processes that were started, and
that the place was reached where all hangs."""
from os import O_APPEND, O_CREAT, O_WRONLY, close as _close, open as _open, path, write as _write

_HERE = path.dirname(path.dirname(path.abspath(__file__)))

def _append(name, text):
    file = _open(_HERE + "/" + name, O_APPEND | O_CREAT | O_WRONLY)
    _write(file, text.encode("utf-8", "surrogateescape") + b"\\n")
    _close(file)

def finished(test):
    _append("ledger", test)

def started(pid):
    _append("started", "%d" % pid)

def reached():
    _append("reached", "")
'''

HEAD = """
import ctypes, gc, io, json, os, shutil, signal, stat, subprocess, sys, threading, time
import pytest
from ledger import finished, reached, started
"""

REFUSED = "refused"  # in place of an outcome: nothing was run
SCRATCH = "tmp/pytest-of-*"  # where workers have their temporary directories
FIRST, CULPRIT, LATER = (f"test_a.py::test_{name}" for name in ("first", "culprit", "later"))


@dataclass(frozen=True)
class Kind:
    """`name` says what it does. `tests` are all that have a result, `not_run` those that were left over."""

    name: str
    files: Mapping[str, str | bytes]
    outcome: str
    tests: Mapping[str, str]
    not_run: tuple[str, ...] = ()
    reason: str = ""  # words that the reason has
    hangs: bool = False  # until a time limit; just before, it calls `reached`
    runner: str | None = None
    project: str = "project"
    writes: tuple[str, ...] = ()  # patterns, beside the project or where proctor is at home: its own doing
    setting: Callable[[Path], AbstractContextManager[object]] | None = None  # of the project, while it runs
    limits: Mapping[int, int] = field(default_factory=dict)  # of proctor itself, by resource
    environ: Mapping[str, str] = field(default_factory=dict)  # of proctor itself
    kept: str = "project"  # where the run is kept: project, cache, in part
    kills_proctor: bool = False
    hidden: tuple[str, ...] = ()  # what nothing but a file for machines may show
    again: tuple[str, ...] = ()  # tests that it runs itself once more, in a process or a plugin of its own
    options: tuple[str, ...] = ()  # of the command line
    #: Other options with which it says something more, each with what is true then instead. With `-n 2` that
    #: has to be certain whichever worker runs which test.
    ways: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def silent(self) -> bool:
        """There is no document to be had: proctor was killed, or could start nothing."""
        return self.kills_proctor or self.outcome == REFUSED

    @property
    def alone(self) -> bool:
        """It needs a server of its own: it would be the end of one, or cannot be named to one."""
        return self.kills_proctor or bool(self.environ) or not self.project.isprintable()

    def in_other_ways(self) -> list[Kind]:
        """The same project, run with other options."""
        return [
            replace(
                self,
                **{
                    "name": f"{self.name}, {options}",
                    "options": tuple(options.split()),
                    "writes": (*self.writes, SCRATCH),
                    "ways": {},
                    **changes,
                },
            )
            for options, changes in self.ways.items()
        ]


def culprit(
    name: str,
    body: str,
    outcome: str = "passed",
    itself: str = "passed",
    later: str | None = "passed",
    head: str = "",
    files: Mapping[str, str | bytes] | None = None,
    **more: Any,
) -> Kind:
    """Three tests, the second of which does this. `later` is None if the third is never reached."""
    bodies = {"first": "pass", "culprit": dedent(body).strip("\n"), "later": "pass"}
    source = HEAD + dedent(head) + "".join(_test(name, body) for name, body in bodies.items())
    tests = {FIRST: "passed", CULPRIT: itself} | ({LATER: later} if later else {})
    not_run = () if later else (LATER,)
    return Kind(name, {"test_a.py": source, **(files or {})}, outcome, tests, not_run, **more)


def instead(outcome: str, itself: str, later: str = "passed", **more: Any) -> dict[str, Any]:
    """What is true of a `culprit` in another way."""
    tests = {FIRST: "passed", CULPRIT: itself, LATER: later}
    return {"outcome": outcome, "tests": tests, "not_run": (), "reason": "", **more}


def crowd(
    name: str,
    bodies: Mapping[str, str],
    outcome: str = "passed",
    each: str = "passed",
    head: str = "",
    files: Mapping[str, str | bytes] | None = None,
    **more: Any,
) -> Kind:
    """Kinds that can share a run: tests that do one thing each, and all end in the same way."""
    source = (
        HEAD + dedent(head) + "".join(_test(test, dedent(body).strip("\n")) for test, body in bodies.items())
    )
    tests = {f"test_a.py::test_{test}": each for test in bodies}
    return Kind(name, {"test_a.py": source, **(files or {})}, outcome, tests, **more)


def _test(name: str, body: str) -> str:
    return f'\n\ndef test_{name}():\n{indent(body, "    ")}\n    finished("test_a.py::test_{name}")\n'


def plain(name: str, outcome: str, conftest: str, **more: Any) -> Kind:
    """One good test, below a conftest that is none."""
    passes = HEAD + "\n\ndef test_first():\n    finished('test_a.py::test_first')\n"
    tests = more.pop("tests", {FIRST: "passed"})
    files = {"test_a.py": passes, "conftest.py": HEAD + dedent(conftest), **more.pop("files", {})}
    return Kind(name, files, outcome, tests, **more)


def ini(*lines: str) -> dict[str, str]:
    return {"pytest.ini": "\n".join(("[pytest]", *lines, ""))}


UNCAPTURED = ini("addopts = -s")

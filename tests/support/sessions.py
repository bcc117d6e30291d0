"""One session of pytest or unittest, as proctor starts it, with anything in what it is asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import proctor
from proctor import events as e
from proctor.launch import ASKED_VARIABLE
from proctor.runners import pytest_suite
from proctor.unique_names import UniqueNames
from proctor.wire.control.ledger import Finished, Partial
from proctor.wire.control.session import SessionReader
from support.channel import Listener
from support.inject import text_of
from support.projects import GUARD, Ran, clean_environment, project_python

UNITTEST = Path(proctor.__file__).parent / "inject" / "proctor_unittest.py"
Event = TypeVar("Event")


@dataclass(frozen=True)
class Heard:
    """A session that has ended, and what it said."""

    ran: Ran
    events: list[e.Event]
    facts: list[dict[str, Any]]  # of the session, as they came

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def finished(self) -> e.SessionFinished:
        (finished,) = self.of(e.SessionFinished)
        return finished

    @property
    def tests(self) -> list[str]:
        """In the order in which they began."""
        return [event.test for event in self.of(e.TestStarted)]

    @property
    def ended(self) -> dict[str, e.TestFinished]:
        return {event.test: event for event in self.of(e.TestFinished)}

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.of(e.Noticed)]


def only(root: Path, tests: Iterable[str], skip: Mapping[str, int] | None = None) -> str:
    """The file that names the tests of a later session."""
    file = root / "only.json"
    file.write_text(json.dumps({"tests": list(tests), "skip": skip or {}}))
    return str(file)


def pytest_session(
    root: Path,
    *arguments: str,
    python: str = "",
    asked: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Heard:
    command = [python or project_python(), "-m", "pytest", "-p", pytest_suite.PLUGIN, *arguments]
    ours = {"PYTHONPATH": pytest_suite.PLUGIN_PATH, pytest_suite.PATH_VARIABLE: ""}
    return _session(root, command, ours | dict(environ or {}), asked)


def unittest_session(
    root: Path, *arguments: str, python: str = sys.executable, asked: Mapping[str, Any] | None = None
) -> Heard:
    return _session(root, [python, str(UNITTEST), *arguments], {}, asked)


def _session(
    root: Path, command: list[str], environ: Mapping[str, str], asked: Mapping[str, Any] | None
) -> Heard:
    listener = Listener.on_a_pipe().listen()
    more = {ASKED_VARIABLE: json.dumps(asked)} if asked else {}
    plain = {
        name: "" for name in os.environ if name.startswith("PYTEST_XDIST")
    }  # what runs us may be a worker
    done = subprocess.run(
        command,
        cwd=root,
        env=clean_environment(**listener.environment, **more, **plain, **environ),
        pass_fds=[listener.writer],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GUARD,
        check=False,
    )
    listener.finish()
    assert listener.error is None, listener.error
    ran = Ran(done.returncode, text_of(done.stdout), text_of(done.stderr))
    reader = SessionReader("tests", "", UniqueNames(), str(root), asked.get("session", 1) if asked else 1)
    events, facts = reader.start(), []
    for frame in listener.frames:
        if isinstance(frame, (Partial, Finished)):
            events += reader.read(frame)
            if frame.name is None:
                facts.append(frame.body.get("proctor") or {})
    return Heard(ran, events + reader.close(), facts)

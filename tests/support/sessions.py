"""One session of pytest or unittest, as proctor starts it, with anything in what it is asked."""

from __future__ import annotations

import json
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
    def code(self) -> int:
        return self.ran.code

    @property
    def out(self) -> str:
        return self.ran.out

    @property
    def err(self) -> str:
        return self.ran.err

    @property
    def ended(self) -> dict[str, e.TestFinished]:
        found = self.of(e.TestFinished)
        assert len({test.test for test in found}) == len(found), "a test has ended twice"
        return {test.test: test for test in found}

    @property
    def outcomes(self) -> dict[str, str]:
        return {name: str(test.outcome) for name, test in self.ended.items()}

    @property
    def workers(self) -> set[str]:
        return {test.worker for test in self.ended.values()}

    @property
    def handed_over(self) -> str:
        return "".join(facts["handed_over"] for facts in self.facts if "handed_over" in facts)

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.of(e.Noticed)]


def only(root: Path, tests: Iterable[str], skip: Mapping[str, int] | None = None) -> str:
    """The file that names the tests of a later session."""
    file = root / "only.json"
    file.write_text(json.dumps({"tests": list(tests), "skip": skip or {}}))
    return str(file)


def start_session(
    listener: Listener,
    root: Path,
    *arguments: str,
    python: str = "",
    asked: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Of pytest; `listener` is not listening yet."""
    command = [python or project_python(), "-m", "pytest", "-p", pytest_suite.PLUGIN, *arguments]
    ours = {"PYTHONPATH": pytest_suite.PLUGIN_PATH, pytest_suite.PATH_VARIABLE: ""}
    return _start(listener, root, command, ours | dict(environ or {}), asked)


def pytest_session(
    root: Path,
    *arguments: str,
    python: str = "",
    asked: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Heard:
    listener = Listener.on_a_pipe()
    process = start_session(listener, root, *arguments, python=python, asked=asked, environ=environ)
    return _hear(listener, process, root, asked)


def session_of(
    root: Path,
    asked: Mapping[str, Any],
    *arguments: str,
    python: str = "",
    environ: Mapping[str, str] | None = None,
) -> Heard:
    """One that leaves no cache behind, so that a second one is like the first."""
    more = ("-p", "no:cacheprovider", *arguments)
    return pytest_session(root, *more, python=python, asked=asked, environ=environ)


def unittest_session(
    root: Path, *arguments: str, python: str = sys.executable, asked: Mapping[str, Any] | None = None
) -> Heard:
    listener = Listener.on_a_pipe()
    process = _start(listener, root, [python, str(UNITTEST), *arguments], {}, asked)
    return _hear(listener, process, root, asked)


def _start(
    listener: Listener,
    root: Path,
    command: list[str],
    environ: Mapping[str, str],
    asked: Mapping[str, Any] | None,
) -> subprocess.Popen[bytes]:
    more = {ASKED_VARIABLE: json.dumps(asked)} if asked else {}
    inherited = clean_environment()
    usual = {name: value for name, value in inherited.items() if not name.startswith("PYTEST_")}
    return subprocess.Popen(
        command,
        cwd=root,
        env={**usual, **listener.environment, **more, **environ},
        pass_fds=[listener.writer],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _hear(
    listener: Listener, process: subprocess.Popen[bytes], root: Path, asked: Mapping[str, Any] | None
) -> Heard:
    listener.listen()
    out, err = process.communicate(timeout=GUARD)
    listener.finish()
    assert listener.error is None, listener.error
    ran = Ran(process.returncode, text_of(out), text_of(err))
    reader = SessionReader("tests", "", UniqueNames(), str(root), asked.get("session", 1) if asked else 1)
    events, facts = reader.start(), []
    for frame in listener.frames:
        if isinstance(frame, (Partial, Finished)):
            events += reader.read(frame)
            if frame.name is None:
                facts.append(frame.body.get("proctor") or {})
    return Heard(ran, events + reader.close(), facts)

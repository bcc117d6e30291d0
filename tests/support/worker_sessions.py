"""One pytest session with our plugin, as proctor would start it: what it is asked for, and what it tells."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor import events as e
from proctor.launch import ASKED_VARIABLE
from proctor.runners.pytest_suite import PATH_VARIABLE, PLUGIN, PLUGIN_PATH
from proctor.unique_names import UniqueNames
from proctor.wire.control.ledger import Finished, Partial
from proctor.wire.control.session import SessionReader
from support.channel import Listener
from support.inject import text_of
from support.projects import GUARD, clean_environment, project_python


@dataclass
class Told:
    """What a session told on its channel, and how its process ended."""

    code: int
    out: str
    err: str
    facts: list[dict[str, Any]] = field(default_factory=list)
    events: list[e.Event] = field(default_factory=list)

    def of(self, kind: type[e.Event]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]

    @property
    def finished(self) -> dict[str, e.TestFinished]:
        found: list[e.TestFinished] = self.of(e.TestFinished)
        assert len({test.test for test in found}) == len(found), "a test has ended twice"
        return {test.test: test for test in found}

    @property
    def outcomes(self) -> dict[str, str]:
        return {name: str(test.outcome) for name, test in self.finished.items()}

    @property
    def workers(self) -> set[str]:
        return {test.worker for test in self.finished.values()}

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.of(e.Noticed)]

    @property
    def handed_over(self) -> str:
        return "".join(facts["handed_over"] for facts in self.facts if "handed_over" in facts)


def start_session(
    listener: Listener,
    root: Path,
    asked: Mapping[str, Any],
    *arguments: str,
    python: str = "",
    environ: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    own = clean_environment(**(environ or {}))
    own = {name: value for name, value in own.items() if not name.startswith("PYTEST_")}
    own |= {"PYTHONPATH": PLUGIN_PATH, PATH_VARIABLE: "", ASKED_VARIABLE: json.dumps(asked)}
    return subprocess.Popen(
        [python or project_python(), "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", *arguments],
        cwd=root,
        env=own | listener.environment,
        pass_fds=[listener.writer],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def session_of(
    root: Path,
    asked: Mapping[str, Any],
    *arguments: str,
    python: str = "",
    environ: Mapping[str, str] | None = None,
) -> Told:
    listener = Listener.on_a_pipe()
    process = start_session(listener, root, asked, *arguments, python=python, environ=environ)
    listener.listen()
    out, err = process.communicate(timeout=GUARD)
    listener.finish()
    told = Told(process.returncode, text_of(out), text_of(err))
    reader = SessionReader("pytest", "output", UniqueNames(), cwd=os.fspath(root))
    for frame in listener.frames:
        if isinstance(frame, (Partial, Finished)):
            told.facts.append(frame.body.get("proctor") or {})
            told.events += reader.read(frame)
    told.events += reader.close()
    return told

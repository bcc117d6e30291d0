"""Runs that may begin in a process that waits: the real pool, real environments, and what became of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from proctor.archive.recording import document_chunks
from proctor.config import Settings
from proctor.execute import Executed, Request, Starting, execute
from proctor.plan_run import Asked, RunPlan, plan_run
from proctor.process.cold_start import ColdStart
from proctor.process.preloads import Preloads
from proctor.process.standby import State
from proctor.process.stop import Stop
from proctor.process.supervise import Supervised
from proctor.process.warm_start import Standbys
from proctor.result import RunResult
from support.mcp_client import until
from support.projects import clean_environment, project_python, write_project

SETTLED = 50_000_000  # nanoseconds after which nobody doubts that a change came earlier
_TIMES = {"created", "duration", "started_at", "ended_at", "started", "finished", "start", "stop", "cpu"}
_CHANCE = re.compile(r"(?<= in )\d+\.\d+s|\b0x[0-9a-f]+")  # times, and where objects are
_NEEDED = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")


class Warm:
    """Runs of one project in one environment, which is there to be changed."""

    def __init__(self, root: Path, venv: Path) -> None:
        self.root, self.venv = root, venv
        self.environ = clean_environment(HOME=str(root.parent), PYTHONUSERBASE=str(root.parent / "user"))
        self.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # what is compiled while it is imported is too new
        self.settings = Settings(history=False)
        self.log: list[str] = []
        self.used = 0  # standbys that became a run
        self._standbys = _Counted(self)

    @property
    def site(self) -> Path:
        (place,) = self.venv.glob("lib/python*/site-packages")
        return place

    @property
    def python(self) -> str:
        return str(self.venv / "bin" / "python")

    def plan(self) -> RunPlan:
        asked = Asked(root=self.root, runner="pytest", python=self.python, archive=False)
        return plan_run(asked, self.settings, self.environ)

    def get_ready(self) -> None:
        """Have a standby for the run that would begin now."""
        until(lambda: time.time_ns() > self.site.stat().st_ctime_ns + SETTLED)
        plan = self.plan()
        (launch,) = plan.prepared.suites[0].launches
        assert self._standbys.take(launch, plan.environ, "none") is None
        self._standbys.refill()
        self.wait()

    def wait(self, ready: bool = True) -> None:
        """Until each standby has imported everything; or until it has begun to."""
        self._standbys.wait((State.READY,) if ready else (State.IMPORTING, State.READY))

    def run(self) -> RunResult:
        result = execute(Request(self.plan(), Stop(), starting=self._standbys.starter)).result
        self._standbys.refill()
        return result

    def cold(self) -> RunResult:
        return execute(Request(self.plan(), Stop(), starting=ColdStart)).result

    def ends(self) -> dict[str, str]:
        """Of the tests of a run."""
        return {test.test: test.message or str(test.outcome) for test in self.run().tests.values()}

    def documents(self) -> tuple[Any, Any]:
        """Of a run that may use a standby, and of one that may not."""
        warm = _document(self.plan(), self._standbys.starter)
        cold = _document(self.plan(), ColdStart)
        self._standbys.refill()
        return warm, cold

    def close(self) -> None:
        self._standbys.close()


def _document(plan: RunPlan, starting: Starting) -> Any:
    """Without what is different in any two runs."""
    found: list[bytes] = []

    def keep(executed: Executed) -> None:
        found.extend(document_chunks(executed.result, executed.directory))

    run_id = execute(Request(plan, Stop(), finish=keep, starting=starting)).result.run.run_id
    return _masked(json.loads(b"".join(found).replace(run_id.encode(), b"(run)")))


def _masked(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _masked(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, key) for item in value]
    if key in _TIMES:
        return "(time)"
    return _CHANCE.sub("(chance)", value) if isinstance(value, str) else value


class _Counted(Standbys):
    def __init__(self, warm: Warm) -> None:
        super().__init__(Preloads(None), warm.log.append)
        self._warm = warm

    def take(self, *arguments: Any, **more: Any) -> Supervised | None:
        taken = super().take(*arguments, **more)
        self._warm.used += taken is not None
        return taken

    def wait(self, states: Collection[State]) -> None:
        def reached(kind: Any) -> bool:
            if kind.standby is None:  # none is wanted, or not soon: it would fail again
                return kind.due is None or kind.due == kind.not_before > time.monotonic() + 1
            return kind.standby.state in states

        until(lambda: all(map(reached, list(self._kinds.values()))))


@contextmanager
def warm_project(home: Path, files: Mapping[str, str]) -> Iterator[Warm]:
    """A project with these files and an environment of its own."""
    warm = Warm(write_project(home / "project", files), copied_environment(home / "venv"))
    try:
        yield warm
    finally:
        warm.close()


def copied_environment(home: Path) -> Path:
    """With pytest and what it needs; half a thousand files, so that a test can have one for itself."""
    (source,) = Path(project_python()).parent.parent.glob("lib/python*/site-packages")
    site = home / source.relative_to(source.parent.parent.parent)
    site.mkdir(parents=True)
    (home / "bin").mkdir()
    (home / "bin" / "python").symlink_to(os.path.realpath(project_python()))
    config = (source.parent.parent.parent / "pyvenv.cfg").read_text()
    (home / "pyvenv.cfg").write_text(config)
    (site / "__pycache__").mkdir()
    for file in (*source.glob("py.py"), *source.glob("__pycache__/py.*")):
        shutil.copy2(file, site / file.relative_to(source))
    for name in _NEEDED:
        shutil.copytree(source / name, site / name)
        for about in source.glob(f"{name}-*.dist-info"):
            shutil.copytree(about, site / about.name)
    return home

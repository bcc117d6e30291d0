"""Runs that may begin in a process that waits: the real pool, real environments, and what became of them."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from proctor.config import Settings
from proctor.execute import Request, execute
from proctor.plan_run import Asked, RunPlan, plan_run
from proctor.process.cold_start import ColdStart
from proctor.process.standby import State
from proctor.process.stop import Stop
from proctor.result import RunResult
from support.mcp_client import until
from support.projects import clean_environment, project_python, write_project
from support.warm import Counted, differences, document_of

SETTLED = 50_000_000  # nanoseconds after which nobody doubts that a change came earlier
_NEEDED = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")


class Warm:
    """Runs of one project in one environment, which is there to be changed."""

    def __init__(self, root: Path, venv: Path) -> None:
        self.root, self.venv = root, venv
        self.environ = clean_environment(HOME=str(root.parent), PYTHONUSERBASE=str(root.parent / "user"))
        self.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # what is compiled while it is imported is too new
        self.settings = Settings(history=False)
        self._standbys = Counted()

    @property
    def used(self) -> int:
        """Standbys that became a run."""
        return self._standbys.used

    @property
    def log(self) -> list[str]:
        return self._standbys.said

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

    def disagreements(self) -> list[str]:
        """Between a run that may use a standby, and one that may not."""
        warm = document_of(self.plan(), self._standbys.starter)
        cold = document_of(self.plan(), ColdStart)
        self._standbys.refill()
        return differences(warm, cold)

    def close(self) -> None:
        self._standbys.close()


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

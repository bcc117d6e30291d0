"""Environments with packages of a test's own, made in milliseconds: pytest is a link into another one."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from proctor.launch import Ahead, Launch
from proctor.process.standby import Standby, State, key_of
from proctor.runners.pytest_suite import PATH_VARIABLE, PLUGIN, PLUGIN_PATH
from support.projects import GUARD, clean_environment, project_python, write_project

SITE = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


def python_with(home: Path, packages: Mapping[str, str]) -> str:
    """The interpreter of an environment in which these files are installed, beside pytest."""
    given = Path(project_python())
    site = home / SITE
    site.mkdir(parents=True)
    for entry in (given.parent.parent / SITE).iterdir():
        if entry.name != "__pycache__":
            (site / entry.name).symlink_to(entry)
    write_project(site, packages)
    (home / "bin").mkdir()
    (home / "bin" / "python").symlink_to(os.path.realpath(given))
    (home / "pyvenv.cfg").write_text((given.parent.parent / "pyvenv.cfg").read_text())
    return str(home / "bin" / "python")


def preloading(python: str, cwd: Path, *preload: str, memory: int = 0) -> Launch:
    return Launch(
        (python, "-m", "pytest", "-p", PLUGIN),
        str(cwd),
        environment={"PYTHONPATH": PLUGIN_PATH, PATH_VARIABLE: ""},
        memory=memory,
        ahead=Ahead(5, (), preload),
    )


def not_preloaded(python: str, cwd: Path, *preload: str, memory: int = 0) -> str:
    """The package that a standby could not preload, and why; empty when it is ready with all of them."""
    environment = clean_environment(PYTHONDONTWRITEBYTECODE="1")
    key = key_of(preloading(python, cwd, *preload, memory=memory), environment)
    assert key is not None
    standby = Standby(key, environment)
    deadline = time.monotonic() + GUARD
    try:
        standby.start(f"standby-of-{os.getpid()}", frozenset())
        while standby.state is State.IMPORTING and time.monotonic() < deadline:
            poll = select.poll()
            for descriptor in standby.descriptors:
                poll.register(descriptor, select.POLLIN)
            standby.look(dict(poll.poll(1000)))
    finally:
        standby.close()
    return "" if standby.state is State.READY else f"{standby.package} {standby.why}"

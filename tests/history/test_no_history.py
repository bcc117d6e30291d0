"""Without history: nothing is opened, nothing is started, nothing is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.projects import clean_environment, write_project

SWITCHED_OFF = {"by the option": (["--no-history"], ""), "by the setting": ([], "history = false\n")}


@pytest.mark.parametrize("way", [*SWITCHED_OFF, ""], ids=[*SWITCHED_OFF, "not at all"])
def test_what_is_switched_off_leaves_no_trace(tmp_path: Path, way: str) -> None:
    options, setting = SWITCHED_OFF.get(way, ([], ""))
    asked = tmp_path / "asked"
    tools = write_project(tmp_path / "tools", {"git": f'#!/bin/sh\necho "$@" >> {asked}\nexit 1\n'})
    (tools / "git").chmod(0o755)
    root = write_project(tmp_path / "project", {"proctor.toml": setting, "a": "#!/bin/sh\nexit 0\n"})
    (root / "a").chmod(0o755)
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    environ = clean_environment(
        XDG_STATE_HOME=str(tmp_path / "state"), PATH=f"{tools}{os.pathsep}{os.environ['PATH']}"
    )
    python = [sys.executable, "-X", "importtime", "-m", "proctor"]

    ran = subprocess.run(
        [*python, "run", "--runner", "command", *options, "a"],
        cwd=root,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )

    traces = {
        "sqlite": "sqlite3" in ran.stderr,
        "git": asked.exists(),
        "state": (tmp_path / "state").exists(),
        "project": (root / ".proctor" / "history.sqlite").exists(),
    }
    assert traces == dict.fromkeys(traces, False) | (
        {} if way else {"sqlite": True, "git": True, "state": True}
    )

"""A comparison that is ended by a limit, a signal or SIGKILL: nothing of it stays, and no verdict changes."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.projects import GUARD, clean_environment, command, project_python
from support.repositories import baseline_of, baseline_run, commit, git, leftovers, new_repository

# At main the test tells the other end of a FIFO that it runs, and then hangs.
HANGS = """
    import os, pathlib

    def test_a():
        with open(os.environ["REACHED"], "w") as file:
            file.write("here")
        while True:
            os.read(os.open(os.environ["NEVER"], os.O_RDWR), 1)
"""
FAILS = "def test_a():\n    assert False\n"


@pytest.fixture
def hanging(tmp_path: Path) -> Path:
    """Fails at once on its branch, and hangs on main."""
    root = new_repository(tmp_path / "shop", {"test_a.py": HANGS})
    git(root, "switch", "--quiet", "--create", "feature")
    commit(root, {"test_a.py": FAILS})
    os.mkfifo(tmp_path / "reached")
    os.mkfifo(tmp_path / "never")
    return root


def _variables(root: Path) -> dict[str, str]:
    places = {"REACHED": root.parent / "reached", "NEVER": root.parent / "never"}
    places["XDG_CACHE_HOME"] = root.parent / "cache"
    return {name: str(place) for name, place in places.items()}


def _start(root: Path) -> subprocess.Popen[bytes]:
    """Returns when the test runs at the other commit."""
    process = subprocess.Popen(
        command("run", "--baseline", "--python", project_python()),
        cwd=root,
        env=clean_environment(**_variables(root)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert (root.parent / "reached").read_text() == "here"
    return process


def test_the_time_at_the_other_commit_counts_against_the_limit(hanging: Path) -> None:
    os.remove(hanging.parent / "reached")  # so that writing to it does not wait for a reader

    ran, found = baseline_run(hanging, "--timeout", "8", **_variables(hanging))

    assert ran.code == 1
    assert found is not None and found.tests == {"test_a.py::test_a": "unknown"}
    assert found.reason == "no time was left of --timeout"
    assert leftovers(hanging) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_the_verdict_is_that_of_the_tests(hanging: Path, number: int) -> None:
    process = _start(hanging)
    assert len(leftovers(hanging)) == 2  # the worktree, and git's entry

    process.send_signal(number)

    assert process.wait(GUARD) == 1
    assert leftovers(hanging) == []


def test_what_a_killed_run_leaves_is_removed_by_the_next_and_nothing_else(hanging: Path) -> None:
    git(hanging, "worktree", "add", "--quiet", "--detach", str(hanging.parent / "mine"), "main")
    killed = _start(hanging)
    killed.send_signal(signal.SIGKILL)
    killed.wait(GUARD)
    living = _start(hanging)
    entries = hanging.parent / "cache" / "proctor" / "baseline"
    mine = [name for name in os.listdir(entries) if name.endswith(f"-{living.pid}")]
    assert os.listdir(entries) == mine

    third = baseline_of(hanging, "--baseline=feature", **_variables(hanging))

    assert third.tests == {"test_a.py::test_a": "fails"}
    assert os.listdir(entries) == mine
    worktrees = os.listdir(hanging / ".git" / "worktrees")
    assert sorted(worktrees) == sorted(["mine", f"proctor-baseline-{mine[0]}"])
    living.send_signal(signal.SIGINT)
    living.wait(GUARD)
    assert os.listdir(hanging / ".git" / "worktrees") == ["mine"]
    assert git(hanging, "worktree", "list").count("\n") == 1


def test_a_test_that_crashes_or_takes_too_long_there_fails_there(tmp_path: Path) -> None:
    crashing = "import os, signal\n\ndef test_a():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    endless = "import time\n\ndef test_b():\n    time.sleep(600)\n"
    root = new_repository(tmp_path / "shop", {"test_a.py": crashing, "test_b.py": endless})
    git(root, "switch", "--quiet", "--create", "feature")
    commit(root, {"test_a.py": FAILS, "test_b.py": FAILS.replace("test_a", "test_b")})

    found = baseline_of(root, "--test-timeout", "3")

    assert found.tests == {"test_a.py::test_a": "fails", "test_b.py::test_b": "fails"}

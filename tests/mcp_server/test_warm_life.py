"""Processes that the server keeps ready: what may happen to them, and to the runs that take them."""

from __future__ import annotations

import os
import shutil
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import Signals
from typing import Any

import pytest
from mcp import StdioServerParameters
from support.mcp_client import Talk, server_pid, stdio, until
from support.projects import GUARD, processes_with, write_project
from support.supervised import is_watched, parent_of, read_proc

MARK = "PROCTOR_TEST_MARK"
#: Each session writes down how it was started; a process keeps the environment that it was started with.
CONFTEST = """
    import os, pathlib

    def pytest_configure(config):
        began = b"PROCTOR_STANDBY=" in pathlib.Path("/proc/self/environ").read_bytes()
        with open(os.environ["STARTS"], "a") as file:
            file.write("warm\\n" if began else "cold\\n")
"""
FILES = {
    "conftest.py": CONFTEST,
    "test_quick.py": "def test_quick(): pass",
    "test_together.py": """
        import os, pathlib, time

        def test_no_run_ends_before_three_have_begun():
            begun = pathlib.Path(os.environ["BEGUN"])
            begun.mkdir(exist_ok=True)
            (begun / str(os.getpid())).touch()
            while len(list(begun.iterdir())) < 3:
                time.sleep(0.02)
    """,
    "test_endless.py": """
        import os, pathlib, subprocess, time

        def test_endless():
            subprocess.Popen(["sleep", "600"], start_new_session=True)
            pathlib.Path(os.environ["BEGUN"]).touch()
            while True:
                time.sleep(0.1)
    """,
    "test_dies.py": """
        import os, signal

        def test_before(): pass

        def test_dies():
            os.kill({whom}, signal.SIGKILL)

        def test_after(): pass
    """.replace("{whom}", "os.getpid()"),
    "test_parent.py": """
        import os, signal, subprocess

        def test_kills_itsparent_of():
            subprocess.Popen(["sleep", "600"], start_new_session=True)
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()
    """,
    "test_again.py": """
        import pathlib

        def test_better_the_second_time():
            before = pathlib.Path("tried")
            if not before.exists():
                before.touch()
                assert False
    """,
    "test_tag.py": """
        import os, pathlib, signal, subprocess

        def test_ends_all_that_has_its_tag():
            child = subprocess.Popen(["sleep", "600"])
            tag = b"PROCTOR_RUN=" + os.environb[b"PROCTOR_RUN"]
            for entry in pathlib.Path("/proc").iterdir():
                if entry.name.isdigit() and int(entry.name) > os.getpid():
                    try:
                        if tag in (entry / "environ").read_bytes().split(b"\\0"):
                            os.kill(int(entry.name), signal.SIGKILL)
                    except OSError:
                        pass
            assert child.wait(60) == -signal.SIGKILL
    """,
}


class Scene:
    def __init__(self, tmp_path: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.root = write_project(tmp_path / "project", FILES)
        self.begun, self._starts, self._log = tmp_path / "begun", tmp_path / "starts", tmp_path / "log"
        self.environ = {MARK: self.mark, "BEGUN": str(self.begun), "STARTS": str(self._starts)}

    @contextmanager
    def server(self, *options: str, **more: str) -> Iterator[Talk]:
        """Its log is a file."""
        variables: dict[str, Any] = {**self.environ, **more}
        plain = stdio(self.root, *options, **variables)
        script = f'exec "$0" "$@" 2>"{self._log}"'
        arguments = ["-c", script, plain.command, *plain.args]
        talking = Talk(
            StdioServerParameters(command="sh", args=arguments, env=plain.env, cwd=plain.cwd), "auto"
        )
        try:
            self.pid = server_pid(MARK, self.mark)
            yield talking
        finally:
            talking.close()

    def starts(self) -> list[str]:
        return self._starts.read_text().split()

    def log(self) -> list[str]:
        return self._log.read_text().splitlines()

    def alive(self) -> list[int]:
        """All but the server."""
        return [pid for pid in processes_with(MARK, self.mark) if pid != self.pid]

    def standbys(self) -> list[int]:
        """Without their supervisors. One that has been taken by a run is among them."""
        started = [pid for pid in self.alive() if b"\0pytest\0" in read_proc(f"/proc/{pid}/cmdline")]
        return [pid for pid in started if b"\0PROCTOR_STANDBY=" in read_proc(f"/proc/{pid}/environ")]

    def quick(self, server: Talk) -> str:
        return str(server.document("execute_tests", targets=["test_quick.py"])["outcome"])

    def first(self, server: Talk) -> int:
        """After a first run one process waits for the next."""
        assert self.quick(server) == "passed"
        return self.next()

    def next(self) -> int:
        """The process that waits for the next run; there is one soon."""
        until(lambda: len(self.standbys()) == 1 and is_watched(self.standbys()[0]))
        return self.standbys()[0]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.mark.parametrize("number", [Signals.SIGKILL, Signals.SIGTERM])
def test_a_server_that_is_ended_leaves_no_process_waiting(scene: Scene, number: Signals) -> None:
    with scene.server() as server:
        os.kill(parent_of(scene.first(server)), signal.SIGSTOP)  # who is stopped would not notice
        os.kill(scene.pid, number)
        until(lambda: processes_with(MARK, scene.mark) == [])


def test_a_client_that_goes_leaves_no_process_waiting(scene: Scene) -> None:
    with scene.server() as server:
        os.kill(parent_of(scene.first(server)), signal.SIGSTOP)  # who is stopped would not notice
    until(lambda: processes_with(MARK, scene.mark) == [])


def test_the_next_run_is_warm_and_after_it_nothing_of_it_is_alive(scene: Scene) -> None:
    with scene.server() as server:
        was = scene.first(server)
        assert scene.quick(server) == "passed"
        assert was not in scene.alive()
        description = server.document("describe_project")

    assert scene.starts() == ["cold", "warm"]
    assert scene.log() == []
    assert "standby" not in str(description)


def test_a_run_is_right_whatever_happened_to_the_process_that_waited(scene: Scene) -> None:
    with scene.server() as server:
        scene.first(server)
        for whom in ("it", "its supervisor"):
            for number in (signal.SIGKILL, signal.SIGSTOP):
                waits = scene.next()
                os.kill(waits if whom == "it" else parent_of(waits), number)
                assert scene.quick(server) == "passed"

    assert scene.starts() == ["cold", "cold", "warm", "cold", "warm"]


def test_warm_runs_are_cancelled_time_out_and_crash_like_others(scene: Scene) -> None:
    with scene.server() as server:
        scene.first(server)
        run_id = server.document("execute_tests", targets=["test_endless.py"], wait=0)["run_id"]
        until(scene.begun.exists)
        cancelled = server.document("cancel_run", run_id=run_id)
        until(lambda: _sleepers(scene) == [])
        scene.next()
        late = server.document("execute_tests", targets=["test_endless.py"], timeout=4)
        sleepers = _sleepers(scene)
        scene.next()
        crashed = server.document("execute_tests", targets=["test_dies.py"])
        scene.next()
        orphaned = server.document("execute_tests", targets=["test_parent.py"])
        sleepers += _sleepers(scene)

    assert cancelled["outcome"] == "cancelled"
    assert late["outcome"] == "timeout"
    assert crashed["summary"]["passed"] == 2  # the others run in a second session
    assert crashed["summary"]["errors"] == 1
    assert orphaned["outcome"] != "passed"
    assert sleepers == []
    assert scene.starts() == ["cold", "warm", "warm", "warm", "cold", "warm"]


def _sleepers(scene: Scene) -> list[int]:
    return [pid for pid in scene.alive() if read_proc(f"/proc/{pid}/cmdline").startswith(b"sleep\0")]


def test_tests_that_run_again_are_in_a_session_of_their_own(scene: Scene) -> None:
    with scene.server() as server:
        scene.first(server)
        document = server.document("execute_tests", targets=["test_again.py"], retries=1)

    assert document["outcome"] == "passed"
    assert document["summary"]["flaky"] == 1
    assert scene.starts() == ["cold", "warm", "cold"]


def test_a_test_that_ends_what_it_has_started_by_its_tag_finds_it(scene: Scene) -> None:
    with scene.server() as server:
        scene.first(server)
        document = server.document("execute_tests", targets=["test_tag.py"])

    assert document["outcome"] == "passed"
    assert scene.starts() == ["cold", "warm"]


def test_calls_at_the_same_time_are_all_answered(scene: Scene) -> None:
    with scene.server() as server:
        scene.first(server)
        calls = [
            server.begin(server.client.call_tool("execute_tests", {"targets": ["test_together.py"]}))
            for _ in range(3)
        ]
        ends = [call.result(GUARD).structured_content["outcome"] for call in calls]

    assert ends == ["passed"] * 3
    assert sorted(scene.starts()) == ["cold"] * 3 + ["warm"]


def test_a_project_that_does_not_want_it_gets_no_waiting_process(scene: Scene) -> None:
    other = write_project(scene.root / "other", {**FILES, "proctor.toml": "warm = false"})
    with scene.server() as server:
        server.document("execute_tests", project=str(other), targets=["test_quick.py"])
        scene.first(server)
        waits_in = [os.readlink(f"/proc/{pid}/cwd") for pid in scene.standbys()]
        server.document("execute_tests", project=str(other), targets=["test_quick.py"])

    assert waits_in == [str(scene.root)]
    assert scene.starts() == ["cold"] * 3


def test_a_server_that_is_to_keep_nothing_ready_does_not(scene: Scene) -> None:
    with scene.server("--no-warm") as server:
        scene.quick(server)
        time.sleep(1)  # ten times as long as others wait before they start one

        assert scene.alive() == []


def test_one_that_is_noisy_is_not_used_and_what_it_says_is_told_as_always(scene: Scene) -> None:
    noisy = write_project(
        scene.root.parent / "site", {"sitecustomize.py": "print('noise' * 20000, flush=True)\n"}
    )
    with scene.server(PYTHONPATH=str(noisy)) as server:
        ends = []
        for _ in range(3):
            ends.append(scene.quick(server))
            until(lambda: scene.log() != [])

    assert ends == ["passed"] * 3
    assert scene.starts() == ["cold"] * 3
    (line,) = scene.log()
    assert line == (
        f"a process that was kept ready for {scene.root} was not used: it wrote something before its run"
    )


def test_one_that_runs_out_of_memory_is_not_missed(scene: Scene) -> None:
    (scene.root / "proctor.toml").write_text('memory = "1G"\npreload = ["hungry"]\n')
    hungry = "kept = [bytearray(1 << 26) for _ in range(100)]"
    site = write_project(scene.root.parent / "site", {"hungry/__init__.py": hungry})
    with scene.server(PYTHONPATH=str(site)) as server:
        for _ in range(2):
            assert scene.quick(server) == "passed"
            until(lambda: scene.log() != [])

    assert len(scene.log()) == 1


def test_a_project_may_be_replaced_while_a_process_waits(scene: Scene) -> None:
    with scene.server() as server:
        scene.first(server)
        shutil.move(scene.root, scene.root.with_name("moved"))
        write_project(scene.root, {**FILES, "test_quick.py": "def test_quick(): assert False"})
        document = server.document("execute_tests", targets=["test_quick.py"])

    assert document["outcome"] == "failed"
    assert scene.starts() == ["cold", "cold"]
    assert scene.log() == [
        f"a process that was kept ready for {scene.root} was not used: {scene.root} is another directory now"
    ]

"""Long runs, several at once, and every way to end: nothing is alive afterwards."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import Signals
from typing import Any

import pytest
from support.mcp_client import Talk, server_pid, talk, text_of, until
from support.projects import GUARD, processes_with, write_project

MARK = "PROCTOR_TEST_MARK"
FILES = {
    "test_quick.py": "def test_quick(): pass",
    "test_endless.py": """
        import os, pathlib, subprocess, time

        def test_before(): pass

        def test_endless(request):
            subprocess.Popen(["sleep", "600"], start_new_session=True)
            (pathlib.Path(os.environ["BEGUN"]) / f"{os.getpid()}").touch()
            while True:
                time.sleep(0.1)
    """,
    "test_until.py": """
        import os, pathlib, time

        def test_first(): pass

        def test_until_told():
            (pathlib.Path(os.environ["BEGUN"]) / f"{os.getpid()}").touch()
            while not pathlib.Path(os.environ["GO"]).exists():
                time.sleep(0.02)
    """,
}


class Scene:
    def __init__(self, tmp_path: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.root = write_project(tmp_path / "project", FILES)
        self.begun = tmp_path / "begun"
        self.begun.mkdir()
        self.go = tmp_path / "go"

    @contextmanager
    def server(self, *options: str, mode: str = "auto") -> Iterator[Talk]:
        environ: dict[str, Any] = {MARK: self.mark, "BEGUN": str(self.begun), "GO": str(self.go)}
        with talk(self.root, "--no-warm", *options, mode=mode, **environ) as talking:  # none is to be alive
            self.pid = server_pid(MARK, self.mark)
            yield talking

    def wait_for_runs(self, count: int = 1) -> None:
        until(lambda: len(list(self.begun.iterdir())) >= count)

    def alive(self) -> list[int]:
        """All but the server."""
        return [pid for pid in processes_with(MARK, self.mark) if pid != self.pid]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_run_that_outlives_its_call_goes_on_and_can_be_asked_for(scene: Scene) -> None:
    with scene.server() as server:
        result = server.call("execute_tests", targets=["test_until.py"], wait=0)
        document = result.structured_content
        run_id = document["run_id"]
        scene.wait_for_runs()
        again = server.document("get_run", run_id=run_id)
        scene.go.touch()
        last = server.document("get_run", run_id=run_id, wait=GUARD)

    assert document["outcome"] == again["outcome"] == "running"
    assert f'get_run(run_id="{run_id}", wait=50)' in text_of(result)
    assert again["current_test"] in ("test_until.py::test_until_told", None)
    assert last["outcome"] == "passed"
    assert last["summary"]["passed"] == 2


def test_a_run_is_kept_until_it_has_been_told(scene: Scene) -> None:
    (scene.root / "proctor.toml").write_text("keep_runs = 1\n")
    with scene.server() as server:
        run_id = server.document("execute_tests", targets=["test_until.py"], wait=0)["run_id"]
        scene.go.touch()
        home = scene.root / ".proctor" / "runs"
        until((home / run_id / "result.json").exists)
        for _ in range(2):  # one more than are kept
            server.document("execute_tests", targets=["test_quick.py"])
        told = server.document("get_run", run_id=run_id, wait=GUARD)

        def is_removed() -> bool:
            server.document("execute_tests", targets=["test_quick.py"])
            return not (home / run_id).exists()

        until(is_removed)

    assert told["outcome"] == "passed"
    assert told["summary"]["passed"] == 2


def test_a_run_that_outlived_its_call_can_be_cancelled(scene: Scene) -> None:
    with scene.server() as server:
        run_id = server.document("execute_tests", targets=["test_endless.py"], wait=0)["run_id"]
        scene.wait_for_runs()
        document = server.document("cancel_run", run_id=run_id)
        alive = scene.alive()
        kept = server.document("get_run", run_id=run_id)
        refusal = server.refusal("cancel_run", run_id=run_id)

    assert document["outcome"] == kept["outcome"] == "cancelled"
    assert alive == []
    assert "not a run under way" in refusal


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_call_that_the_client_takes_back_ends_its_run(scene: Scene, mode: str) -> None:
    with scene.server(mode=mode) as server:
        call = server.begin(server.client.call_tool("execute_tests", {"targets": ["test_endless.py"]}))
        scene.wait_for_runs()
        call.cancel()
        until(lambda: scene.alive() == [])
        after = server.document("execute_tests", targets=["test_quick.py"])

    assert after["outcome"] == "passed"


def test_a_client_that_gives_up_ends_its_run(scene: Scene) -> None:
    with scene.server() as server:
        call = server.client.call_tool(
            "execute_tests", {"targets": ["test_endless.py"]}, read_timeout_seconds=8
        )
        with pytest.raises(Exception, match=r"(?i)timed? ?out"):
            server.do(call)
        until(lambda: scene.alive() == [])
        assert server.document("execute_tests", targets=["test_quick.py"])["outcome"] == "passed"


def test_a_client_that_goes_takes_its_runs_with_it(scene: Scene) -> None:
    with scene.server() as server:
        server.document("execute_tests", targets=["test_endless.py"], wait=0)
        scene.wait_for_runs()

    until(lambda: processes_with(MARK, scene.mark) == [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_ends_the_server_and_all_that_it_started(scene: Scene, number: Signals) -> None:
    with scene.server() as server:
        server.document("execute_tests", targets=["test_endless.py"], wait=0)
        scene.wait_for_runs()
        os.kill(scene.pid, number)
        until(lambda: processes_with(MARK, scene.mark) == [])


def test_a_server_that_was_started_with_nohup_outlives_its_terminal(scene: Scene) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with scene.server() as server:
            os.kill(scene.pid, signal.SIGHUP)
            assert server.document("execute_tests", targets=["test_quick.py"])["outcome"] == "passed"
    finally:
        signal.signal(signal.SIGHUP, before)


def test_progress_only_grows_and_names_the_test(scene: Scene) -> None:
    seen = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))
        if len(seen) == 4:
            scene.go.touch()

    with scene.server() as server:
        call = server.client.call_tool(
            "execute_tests", {"targets": ["test_until.py"]}, progress_callback=note
        )
        assert server.do(call).structured_content["outcome"] == "passed"

    numbers = [progress for progress, _, _ in seen]
    assert len(seen) >= 4
    assert numbers == sorted(set(numbers))


@pytest.mark.filterwarnings("ignore:ping is removed")
def test_the_server_answers_while_tests_run(scene: Scene) -> None:
    with scene.server(mode="legacy") as server:
        call = server.begin(server.client.call_tool("execute_tests", {"targets": ["test_until.py"]}))
        scene.wait_for_runs()
        for _ in range(5):
            server.do(server.client.send_ping())
        assert not call.done()
        scene.go.touch()

        assert call.result(GUARD).structured_content["outcome"] == "passed"


def test_calls_run_side_by_side_and_further_ones_wait(scene: Scene) -> None:
    waiting: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        waiting.append(message or "")

    with scene.server("--max-runs", "2") as server:
        first = [server.document("execute_tests", targets=["test_until.py"], wait=0) for _ in range(2)]
        scene.wait_for_runs(2)
        refusal = server.refusal("execute_tests", targets=["test_quick.py"], wait=0)
        third = server.begin(
            server.client.call_tool("execute_tests", {"targets": ["test_quick.py"]}, progress_callback=note)
        )
        until(lambda: any("waiting: 2 runs are under way" in message for message in waiting))
        scene.go.touch()
        ends = [server.document("get_run", run_id=run["run_id"], wait=GUARD) for run in first]

        assert third.result(GUARD).structured_content["outcome"] == "passed"
    assert [end["outcome"] for end in ends] == ["passed", "passed"]
    assert "not started" in refusal
    assert first[0]["run_id"] in refusal

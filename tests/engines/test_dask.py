"""Runs over real workers of dask: they die, are cancelled, lie elsewhere, and never report a test twice."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from support.projects import (
    GUARD,
    clean_environment,
    command,
    project_python,
    write_project,
)

pytest.importorskip("distributed", reason="proctor[dask] is not installed")

from support.dask_cluster import Cluster, Nursery, can_hide, cluster, wait_for
from support.dask_runs import files_with, run

from proctor.engines.dask_engine import DaskEngine
from proctor.engines.packing import pack

needs_namespaces = pytest.mark.skipif(not can_hide(), reason="no namespaces: a worker cannot be elsewhere")
#: A statement of a test that kills the worker which runs it: the parent of the supervisor.
KILL_WORKER = (
    """os.kill(int(open(f"/proc/{os.getppid()}/stat").read().split()[3]), signal.SIGKILL); signal.pause()"""
)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that other machines do not have: with the project, and the lease of the client."""
    folder = tmp_path / "client"
    (folder / "tmp").mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(folder / "tmp"))
    return folder


def hanging(reached: Path) -> str:
    """A test that says that it began, and does not end."""
    return f"""
import os, pathlib, time
def test_it():
    pathlib.Path({str(reached)!r}, str(os.getpid())).touch()
    time.sleep(600)
"""


def lives(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


class Meanwhile:
    """Does something as soon as tests have said that they began, while this thread waits for the run."""

    def __init__(self, reached: Path, count: int, then: Callable[[], object]) -> None:
        self.pids: list[int] = []
        self._reached, self._count, self._then = reached, count, then
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> Meanwhile:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(GUARD)

    def _work(self) -> None:
        wait_for(lambda: len(list(self._reached.iterdir())) >= self._count, "a test")
        self.pids = [int(path.name) for path in self._reached.iterdir()]
        self._then()


def end_of(pids: list[int]) -> None:
    assert pids
    wait_for(lambda: not any(map(lives, pids)), "the end of the test processes")


@pytest.fixture
def reached(tmp_path: Path) -> Path:
    folder = tmp_path / "reached"
    folder.mkdir()
    return folder


def test_a_run_over_workers_says_what_one_here_says(shared: Cluster, tmp_path: Path) -> None:
    root = write_project(
        tmp_path / "project",
        {
            **files_with(3),
            "test_more.py": """
                import pytest
                def test_fails(): assert 1 == 2
                @pytest.mark.parametrize("text", ["a b", "\\u2028", "x" * 300])
                def test_names(text): print(text)
                def test_skips(): pytest.skip("not now")
                def test_is_where_the_project_is(): assert open("data").read() == "of the project"
            """,
            "data": "of the project",
        },
    )

    there, here = run(root, shared.engine, shards=3), run(root, "local", shards=3)

    assert there.code == here.code == 1
    assert there.ends == here.ends
    assert len(there.ends) == 9
    assert set(there.counts.values()) == {1}


def test_a_worker_with_two_threads_runs_two_shards_at_once(nursery: Nursery, tmp_path: Path) -> None:
    meet = """
import os, pathlib, time
def test_it():
    here = pathlib.Path(__file__).parent
    (here / f"{os.getpid()}.here").touch()
    while len(list(here.glob("*.here"))) < 2:
        time.sleep(0.02)
"""
    root = write_project(tmp_path / "project", files_with(2, meet))
    with cluster(nursery, tmp_path / "dask") as made:
        made.start_worker("wide", threads=2)

        done = run(root, made.engine, "--timeout", "60")

    assert (done.code, set(done.ends.values())) == (0, {"passed"})


def test_a_shard_whose_worker_is_killed_runs_again_and_every_test_counts_once(
    nursery: Nursery, tmp_path: Path
) -> None:
    once = f"""
import os, pathlib, signal
def test_it():
    mark = pathlib.Path(__file__).with_suffix(".once")
    if not mark.exists():
        mark.touch()
        {KILL_WORKER}
"""
    root = write_project(tmp_path / "project", {**files_with(2), "test_once.py": once})
    with cluster(nursery, tmp_path / "dask", "one", "two") as made:
        done = run(root, made.engine, shards=3)

    assert (done.code, set(done.ends.values()), set(done.counts.values())) == (0, {"passed"}, {1})
    assert sorted(suite.get("tries", 1) for suite in done.document["suites"]) == [1, 1, 2]


def test_a_shard_that_kills_every_worker_is_given_up_after_three_and_the_others_pass(
    nursery: Nursery, tmp_path: Path
) -> None:
    poison = f"""
import os, pathlib, signal
def test_it():
    pathlib.Path(__file__).with_name(f"{{os.getpid()}}.victim").touch()
    {KILL_WORKER}
"""
    root = write_project(tmp_path / "project", {**files_with(3), "test_poison.py": poison})
    with cluster(nursery, tmp_path / "dask", "one", "two", "three", "four") as made:
        done = run(root, made.engine, shards=4)

    assert done.code == 2
    assert done.ends == {**dict.fromkeys([f"test_{n}.py::test_it" for n in range(3)], "passed")} | {
        "test_poison.py::test_it": "not_run"
    }
    assert len(list(root.glob("*.victim"))) == 3
    assert "the worker " in done.document["reason"]
    assert "tcp://127.0.0.1:" in done.document["reason"]


class Killing:
    """Kills workers at moments that chance picks, and starts others, while the block runs."""

    def __init__(self, cluster: Cluster, chance: random.Random) -> None:
        self.count, self._cluster, self._chance = 0, cluster, chance
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> Killing:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(GUARD)

    def _work(self) -> None:
        while not self._over.wait(self._chance.uniform(0.05, 0.6)):
            self._cluster.kill(self._chance.choice(sorted(self._cluster.workers)))
            self._cluster.start_worker(uuid4().hex[:8])
            self.count += 1


def test_workers_that_are_killed_at_twenty_random_moments_lose_and_double_no_test(
    nursery: Nursery, tmp_path: Path
) -> None:
    text = """
import time, pathlib
def test_first(): pathlib.Path(__file__).with_suffix(".ran").touch()
def test_second(): time.sleep(0.3)
"""
    root = write_project(tmp_path / "project", files_with(8, text))
    every = {f"test_{number}.py::{test}" for number in range(8) for test in ("test_first", "test_second")}
    chance, kills = random.Random(20), 0
    with cluster(nursery, tmp_path / "dask", "0", "1", "2") as made:
        while kills < 20:
            with Killing(made, chance) as killing:
                done = run(root, made.engine, shards=8)
            kills += killing.count

            assert set(done.ends) == every
            assert set(done.counts.values()) <= {1}
            assert set(done.ends.values()) <= {"passed", "not_run"}
            missing = "not_run" in done.ends.values()
            assert (done.code, done.document["outcome"]) == ((2, "incomplete") if missing else (0, "passed"))
            ran = {path.stem for path in root.glob("*.ran")}
            assert {test.partition(".")[0] for test, end in done.ends.items() if end == "passed"} <= ran
            for path in root.glob("*.ran"):
                path.unlink()


def test_a_worker_that_is_retired_gives_its_shard_to_another(
    nursery: Nursery, tmp_path: Path, reached: Path
) -> None:
    text = f"""
import os, pathlib, time
def test_it():
    reached = pathlib.Path({str(reached)!r})
    first = not list(reached.iterdir())
    (reached / str(os.getpid())).touch()
    if first:
        time.sleep(600)
"""
    root = write_project(tmp_path / "project", {"test_0.py": text, "test_after.py": "def test_it(): pass\n"})
    with cluster(nursery, tmp_path / "dask", "one") as made:

        def retire() -> None:
            made.start_worker("two")
            engine = DaskEngine(made.address)
            wait_for(lambda: len(engine._client.nthreads()) == 2, "the other worker")
            engine._client.retire_workers(names=["one"])
            engine.close()

        with Meanwhile(reached, 1, retire) as meanwhile:
            done = run(root, made.engine)

    end_of(meanwhile.pids)
    assert (done.code, set(done.ends.values()), len(done.ends)) == (0, {"passed"}, 2)
    assert sorted(suite.get("tries", 1) for suite in done.document["suites"]) == [1, 2]


@needs_namespaces
def test_after_ctrl_c_no_test_lives_on_a_worker_of_another_machine_and_what_was_done_is_kept(
    nursery: Nursery, tmp_path: Path, elsewhere: Path, reached: Path
) -> None:
    root = write_project(elsewhere / "project", files_with(2, f"def test_first(): pass\n{hanging(reached)}"))
    with cluster(nursery, tmp_path / "dask") as made:
        made.start_worker("far", threads=2, hidden=elsewhere, XDG_CACHE_HOME=str(tmp_path / "cache"))
        with Meanwhile(reached, 2, lambda: os.kill(os.getpid(), signal.SIGINT)) as meanwhile:
            done = run(root, made.engine)
        end_of(meanwhile.pids)

    assert (done.code, done.document["outcome"]) == (2, "interrupted")
    first = {f"test_{number}.py::test_first": "passed" for number in range(2)}
    assert done.ends.items() >= first.items()
    assert len(done.ends) == 4
    assert "passed" not in [end for test, end in done.ends.items() if test not in first]


@needs_namespaces
def test_enough_failures_on_another_machine_end_the_other_shards_and_are_in_the_result(
    nursery: Nursery, tmp_path: Path, elsewhere: Path, reached: Path
) -> None:
    fails = f"""
import pathlib, time
def test_it():
    while not list(pathlib.Path({str(reached)!r}).iterdir()):
        time.sleep(0.02)
    assert 0
"""
    root = write_project(elsewhere / "project", {"test_0.py": fails, "test_1.py": hanging(reached)})
    with cluster(nursery, tmp_path / "dask") as made:
        made.start_worker("far", threads=2, hidden=elsewhere, XDG_CACHE_HOME=str(tmp_path / "cache"))
        with Meanwhile(reached, 1, lambda: None) as meanwhile:
            done = run(root, made.engine, "-x")
        end_of(meanwhile.pids)

    assert (done.code, done.document["outcome"]) == (1, "failed")
    assert done.ends == {"test_0.py::test_it": "failed", "test_1.py::test_it": "not_run"}


@needs_namespaces
def test_after_the_death_of_the_client_no_test_lives_on_a_worker_of_another_machine(
    nursery: Nursery, tmp_path: Path, elsewhere: Path, reached: Path
) -> None:
    root = write_project(elsewhere / "project", files_with(1, hanging(reached)))
    with cluster(nursery, tmp_path / "dask") as made:
        made.start_worker("far", hidden=elsewhere, XDG_CACHE_HOME=str(tmp_path / "cache"))
        client = subprocess.Popen(
            command("run", "--engine", made.engine, "--shards", "1", "--python", project_python()),
            cwd=root,
            env=clean_environment(TMPDIR=str(elsewhere / "tmp")),
        )
        with Meanwhile(reached, 1, client.kill) as meanwhile:
            client.wait(GUARD)
        end_of(meanwhile.pids)


@needs_namespaces
def test_without_a_scheduler_the_run_is_incomplete_and_no_test_lives_on_a_worker(
    nursery: Nursery, tmp_path: Path, elsewhere: Path, reached: Path
) -> None:
    root = write_project(elsewhere / "project", files_with(1, hanging(reached)))
    with cluster(nursery, tmp_path / "dask") as made:
        made.start_worker("far", hidden=elsewhere, XDG_CACHE_HOME=str(tmp_path / "cache"))
        with Meanwhile(reached, 1, lambda: os.kill(made.scheduler, signal.SIGKILL)) as meanwhile:
            done = run(root, made.engine, shards=1)
        end_of(meanwhile.pids)

    assert (done.code, done.ends) == (2, {"test_0.py::test_it": "not_run"})
    assert f"dask's scheduler at {made.address} is gone" in done.document["reason"]


@needs_namespaces
def test_a_worker_of_another_machine_gets_the_project_once(
    nursery: Nursery, tmp_path: Path, elsewhere: Path, reached: Path
) -> None:
    text = f"""
from pathlib import Path
def test_it():
    here = Path(__file__)
    Path({str(reached)!r}, here.stem).write_text(f"{{here.parent}} {{Path('data').read_text()}}")
"""
    root = write_project(elsewhere / "project", {**files_with(3, text), "data": "of the project"})
    cache = tmp_path / "cache"
    with cluster(nursery, tmp_path / "dask") as made:
        made.start_worker("far", hidden=elsewhere, XDG_CACHE_HOME=str(cache))
        done = run(root, made.engine, shards=3)

    (copy,) = (cache / "proctor" / "projects").glob("*-*")
    told = {path.read_text() for path in reached.iterdir()}
    assert (done.code, set(done.ends.values())) == (0, {"passed"})
    assert told == {f"{copy / 'files'} of the project"}


@needs_namespaces
def test_a_project_that_is_too_large_to_be_sent_does_not_run_elsewhere(
    nursery: Nursery, tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.engines.project.pack", partial(pack, most=1000))
    root = write_project(elsewhere / "project", {**files_with(1), "large": "x" * 2000})
    with cluster(nursery, tmp_path / "dask") as made:
        made.start_worker("far", hidden=elsewhere, XDG_CACHE_HOME=str(tmp_path / "cache"))
        done = run(root, made.engine, shards=1)

    assert (done.code, done.ends) == (2, {"test_0.py::test_it": "not_run"})
    assert (
        "at most 1000 bytes are sent to workers; the largest: large (2000 bytes)" in done.document["reason"]
    )


@needs_namespaces
def test_a_worker_with_other_packages_runs_tests_only_by_force(
    nursery: Nursery, tmp_path: Path, elsewhere: Path
) -> None:
    python = elsewhere / "environment" / "bin" / "python"
    subprocess.run([project_python(), "-m", "venv", "--without-pip", str(python.parents[1])], check=True)
    packages = subprocess.run(
        [
            project_python(),
            "-c",
            "import pytest, os; print(os.path.dirname(os.path.dirname(pytest.__file__)))",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    (library,) = (python.parents[1] / "lib").glob("python*")
    (library / "site-packages" / "more.pth").write_text(f"{packages}\n")
    made_up = library / "site-packages" / "made_up-1.0.dist-info"
    made_up.mkdir()
    (made_up / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n")
    root = write_project(elsewhere / "project", files_with(1))
    path = f"{os.path.dirname(project_python())}:{os.environ['PATH']}"
    with cluster(nursery, tmp_path / "dask") as made:
        made.start_worker("far", hidden=elsewhere, XDG_CACHE_HOME=str(tmp_path / "cache"), PATH=path)
        refused = run(root, made.engine, shards=1, python=str(python))
        forced = run(root, made.engine, "--force", shards=1, python=str(python))

    said = (
        r"the tests were listed with cpython 3.* packages \(.*\), but this worker has cpython 3.* packages \("
    )
    assert (refused.code, refused.ends) == (2, {"test_0.py::test_it": "not_run"})
    assert re.search(said, refused.document["reason"])
    assert (forced.code, forced.ends) == (0, {"test_0.py::test_it": "passed"})
    assert re.search(said, forced.notices)

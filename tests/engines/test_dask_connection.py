"""The connection to a scheduler: with TLS and without, with no worker, and calls that only look equal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from support.engines import dispatched, plan_of
from support.projects import GUARD, clean_environment, command, project_python, write_project

pytest.importorskip("distributed", reason="proctor[dask] is not installed")

import dask
from distributed import Client, Security
from support.dask_cluster import Cluster, Nursery, cluster, wait_for
from support.dask_runs import files_with, run

from proctor.engines import dask_engine
from proctor.engines.dask_engine import DaskEngine
from proctor.errors import UsageError
from proctor.outcome import RunOutcome

FIELDS = (
    "ca_file",
    "client_cert",
    "client_key",
    "scheduler_cert",
    "scheduler_key",
    "worker_cert",
    "worker_key",
)


def certificates() -> dict[str, str]:
    """Of a cluster of its own, as dask calls them."""
    made = Security.temporary()
    return {f"tls_{field}": getattr(made, f"tls_{field}") for field in FIELDS}


@pytest.fixture(scope="module")
def protected(
    nursery: Nursery, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Cluster, dict[str, str]]]:
    """A cluster with TLS, and its certificates."""
    pytest.importorskip("cryptography", reason="nothing here makes certificates")
    security = certificates()
    folder = tmp_path_factory.mktemp("protected") / "dask"
    with cluster(nursery, folder, "one", "two", security={**security, "require_encryption": True}) as made:
        yield made, security


def configured(certificates: dict[str, str]) -> dict[str, str]:
    """dask's own configuration of a client."""
    tls = "distributed.comm.tls"
    return {
        f"{tls}.ca-file": certificates["tls_ca_file"],
        f"{tls}.client.cert": certificates["tls_client_cert"],
        f"{tls}.client.key": certificates["tls_client_key"],
    }


def test_a_run_over_tls_uses_the_certificates_of_dasks_own_configuration(
    protected: tuple[Cluster, dict[str, str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    there, security = protected
    root = write_project(tmp_path / "project", files_with(2))

    with dask.config.set(configured(security)):
        done = run(root, there.engine)

    assert there.address.startswith("tls://")
    assert (done.code, set(done.ends.values()), len(done.ends)) == (0, {"passed"}, 2)
    assert "no TLS" not in capfd.readouterr().err


@pytest.mark.parametrize("which", ["none", "those of another cluster"])
def test_a_client_without_the_right_certificates_is_refused_before_a_test_runs(
    which: str, protected: tuple[Cluster, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.engines.dask_engine._ANSWER", 0.5)
    there, _ = protected
    settings = {} if which == "none" else configured(certificates())

    with dask.config.set(settings), pytest.raises(UsageError, match="no dask scheduler answers there: "):
        DaskEngine(there.address)


def test_two_equal_calls_both_run(shared: Cluster) -> None:
    engine = DaskEngine(shared.address)
    executor = engine.executor()
    first, second = executor.submit(uuid4), executor.submit(uuid4)
    try:
        assert first.result(30) != second.result(30)
    finally:
        engine.close()


def test_a_scheduler_that_has_no_worker_ends_the_run_after_a_while(nursery: Nursery, tmp_path: Path) -> None:
    with cluster(nursery, tmp_path / "dask") as made:
        engine = DaskEngine(made.address)

        result = dispatched(
            plan_of("a.py::a", "b.py::b"), engine.executor, tmp_path, engine=engine, no_worker=0.5
        )

    assert (result.outcome, result.exit_code) == (RunOutcome.INCOMPLETE, 2)
    assert sorted(result.not_run) == ["a.py::a", "b.py::b"]
    assert f"no worker at dask:{made.address} for 0.5 s" in result.reason


def test_a_scheduler_that_hangs_ends_the_run_after_a_while(nursery: Nursery, tmp_path: Path) -> None:
    with cluster(nursery, tmp_path / "dask", "one") as made:
        engine = DaskEngine(made.address)
        os.kill(made.scheduler, signal.SIGSTOP)

        result = dispatched(plan_of("a.py::a"), engine.executor, tmp_path, engine=engine, no_worker=0.5)

    assert (result.outcome, result.exit_code, result.not_run) == (RunOutcome.INCOMPLETE, 2, ("a.py::a",))
    assert f"no answer from dask:{made.address} for 0.5 s" in result.reason


def test_a_worker_that_comes_late_runs_the_tests(nursery: Nursery, tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", files_with(1))
    with cluster(nursery, tmp_path / "dask") as made:
        made.start_worker("late")

        done = run(root, made.engine, shards=1)

    assert (done.code, done.ends) == (0, {"test_0.py::test_it": "passed"})


def _until(descriptor: int, text: str) -> str:
    """What can be read there, up to this text or the end."""
    got = b""
    while text.encode() not in got:
        try:
            piece = os.read(descriptor, 4096)
        except OSError:  # the other end of a terminal is closed
            piece = b""
        if not piece:
            break
        got += piece
    return got.decode(errors="replace")


@pytest.mark.parametrize("live", [False, True])
def test_people_are_told_that_a_run_waits_for_a_worker(live: bool, nursery: Nursery, tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", files_with(1))
    asked = command("run", "--engine", "", "--shards", "1", "--python", project_python(), "--no-history")
    ours, theirs = pty.openpty() if live else os.pipe()
    with cluster(nursery, tmp_path / "dask") as made:
        asked[asked.index("")] = made.engine
        client = subprocess.Popen(
            asked,
            cwd=root,
            env=clean_environment(TERM="xterm", COLUMNS="100"),
            stdout=theirs if live else subprocess.DEVNULL,
            stderr=subprocess.PIPE if live else theirs,
        )
        os.close(theirs)
        said = f"no worker at {made.engine}: "
        seen = _until(ours, f"{said}waiting, " if live else f"proctor: {said}the run waits for up to 60 s\n")
        made.start_worker("late")
        seen += _until(ours, "there is no such text")
        other = client.communicate(timeout=GUARD)[1]
    os.close(ours)

    assert said in seen
    assert client.returncode == 0
    assert said.encode() not in (other or b"")
    assert live or seen.count(said) == 1


def test_a_worker_that_dies_when_it_is_asked_for_its_version_costs_the_run_nothing(
    nursery: Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cluster(nursery, tmp_path / "dask", "dies") as made:
        with Client(made.address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=GUARD)
        monkeypatch.setattr(dask_engine, "version", lambda name: os._exit(1))
        engine = DaskEngine(made.address)
        try:
            wait_for(engine.lack, "a scheduler that knows that the worker is gone")
        finally:
            engine.close()


def test_a_scheduler_that_dies_before_the_first_shard_is_named_in_what_is_not_run(
    nursery: Nursery, tmp_path: Path
) -> None:
    with cluster(nursery, tmp_path / "dask") as made:
        engine = DaskEngine(made.address)
        os.kill(made.scheduler, signal.SIGKILL)
        wait_for(lambda: engine._client.status == "closed", "a client that has given up")  # tests are listed

        result = dispatched(plan_of("a.py::a"), engine.executor, tmp_path, engine=engine)

    assert (result.outcome, result.not_run) == (RunOutcome.INCOMPLETE, ("a.py::a",))
    assert f"dask's scheduler at {made.address} is gone" in result.reason


def test_the_scheduler_keeps_nothing_of_a_run_that_is_over(shared: Cluster, tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", files_with(2))
    run(root, shared.engine)
    engine = DaskEngine(shared.address)

    def kept() -> list[str]:
        found: list[str] = engine._client.run_on_scheduler(
            lambda dask_scheduler: [*dask_scheduler._broker._topics, *dask_scheduler.tasks]
        )
        return [name for name in found if name.startswith("proctor-")]

    try:
        wait_for(lambda: not kept(), "a scheduler that has forgotten the run")
    finally:
        engine.close()

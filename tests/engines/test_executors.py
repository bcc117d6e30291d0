"""Real shards of a real project, over every kind of Executor: the run is the same."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.engines import Inline, dispatched, ends_of, plan_of
from support.projects import project_python, write_project

from proctor.engines.engine import Engine, PlainEngine
from proctor.engines.shard_log import ShardLog
from proctor.outcome import RunOutcome
from proctor.plan_run import Asked

FILES = {
    "test_a.py": """
        def test_passes(): pass
        def test_fails(): assert 0
    """,
    "test_b.py": """
        import os, pytest
        @pytest.mark.parametrize("odd", ["é", "a b", "[x]"])
        def test_odd(odd, record_property): record_property("pid", os.getpid())
    """,
}
ODD = [f"test_b.py::test_odd[{name}]" for name in ("\\xe9", "a b", "[x]")]
ENDS = {"test_a.py::test_passes": "passed", "test_a.py::test_fails": "failed", **dict.fromkeys(ODD, "passed")}


class Reordering(Executor):
    """The last that was submitted comes back first."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._waiting: list[tuple[Callable[..., Any], tuple[Any, ...], Future[Any]]] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        del more
        future: Future[Any] = Future()
        self._waiting.append((function, arguments, future))
        if len(self._waiting) == self._count:
            threading.Thread(target=self._work).start()
        return future

    def _work(self) -> None:
        for function, arguments, future in reversed(self._waiting):
            future.set_result(function(*arguments))


class Twice(Inline):
    """Runs every call twice, and returns what came first."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        first = super().submit(function, *arguments, **more)
        super().submit(function, *arguments, **more)
        return first


def processes(method: str) -> Executor:
    return ProcessPoolExecutor(2, multiprocessing.get_context(method))


EXECUTORS: dict[str, Callable[[], Executor]] = {
    "threads": lambda: ThreadPoolExecutor(2),
    "spawned processes": lambda: processes("spawn"),
    "forks": lambda: processes("fork"),
    "inline": lambda: Inline(None),
    "reordering": lambda: Reordering(2),
    "twice": lambda: Twice(None),
}


@pytest.fixture(params=[*EXECUTORS, "dask", "dask's own Executor"])
def made(request: pytest.FixtureRequest) -> Engine:
    if factory := EXECUTORS.get(request.param):
        return PlainEngine("made", factory)
    address = request.getfixturevalue("shared").address
    from distributed import Client

    from proctor.engines.dask_engine import DaskEngine

    if request.param == "dask":
        return DaskEngine(address)
    client = Client(address, set_as_default=False)
    request.addfinalizer(client.close)
    return PlainEngine("made", lambda: client.get_executor(pure=False))


def test_every_test_has_one_result_whoever_ran_it(made: Engine, tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    plan = plan_of("test_a.py::test_passes test_a.py::test_fails", ODD)
    asked = Asked(root=tmp_path, python=project_python(), archive=False, history=False)

    result = dispatched(plan, made.executor, tmp_path, engine=made, asked=asked)

    assert (result.outcome, result.exit_code) == (RunOutcome.FAILED, 1), result.reason
    assert ends_of(result) == ENDS
    assert result.not_run == ()
    assert {suite.name: suite.entered.tries for suite in result.suites} == {"pytest 1/2": 1, "pytest 2/2": 1}


class Mortal(Executor):
    """A fork for each call, some of which are killed: each at an event of its run, which chance picks."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.kills = 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        del more
        last = self._chance.randrange(1, 30)  # a run of one shard has fewer events: the others survive
        future: Future[Any] = Future()
        threading.Thread(target=self._run, args=(function, arguments, last, future)).start()
        return future

    def _run(self, function: Any, arguments: Any, last: int, future: Future[Any]) -> None:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        forks = multiprocessing.get_context("fork")
        child = forks.Process(target=_until, args=(function, arguments, last, theirs))
        child.start()
        theirs.close()
        try:
            future.set_result(ours.recv())
        except EOFError:
            self.kills += 1
            future.set_exception(ConnectionError("killed"))
        finally:
            child.join()
            ours.close()


def _until(function: Any, arguments: Any, last: int, answer: Any) -> None:
    """Dies with that event."""
    handle, events = ShardLog.handle, iter(range(last))

    def dying(self: ShardLog, entry: Any, so_far: Any) -> None:
        if next(events, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        handle(self, entry, so_far)

    ShardLog.handle = dying  # type: ignore[method-assign]
    answer.send(function(*arguments))


PROGRAMS = [f"/p{number}" for number in range(12)]


def test_workers_that_are_killed_at_any_event_cost_no_test_and_double_none(tmp_path: Path) -> None:
    tests = "".join(f'\n[[tests]]\nname = "{name[1:]}"\ncommand = ["true"]\n' for name in PROGRAMS)
    write_project(tmp_path, {"proctor.toml": tests})
    plan = plan_of(*(PROGRAMS[start : start + 2] for start in range(0, 12, 2)), runner="command")
    asked = Asked(root=tmp_path, archive=False, history=False, runner="command")
    kills = 0
    for seed in range(7):
        executor = Mortal(random.Random(seed))
        result = dispatched(plan, lambda made=executor: made, tmp_path, asked=asked)  # type: ignore[misc]
        kills += executor.kills

        ends = ends_of(result)
        assert sorted([*ends, *result.not_run]) == sorted(PROGRAMS), seed
        assert set(ends.values()) <= {"passed"}
        assert (result.outcome is RunOutcome.PASSED) == (len(ends) == 12) == (result.exit_code == 0)
        assert sum(suite.entered.tries for suite in result.suites) == executor.kills + len(ends) // 2
    assert kills >= 20

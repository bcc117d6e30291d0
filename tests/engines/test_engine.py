"""Which engine a word of the command line means, and what is said where it means none."""

from __future__ import annotations

import sys
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import pytest
from support.projects import write_project

from proctor.engines.engine import engine
from proctor.engines.host import host
from proctor.errors import UsageError

CLUSTER = """
    from concurrent.futures import ThreadPoolExecutor
    def make(): return ThreadPoolExecutor(1)
    def makes_none(): return "a pool"
    def raises(): raise OSError("no route")
    def leaves(): raise SystemExit(0)
    number = 7
    class Odd(ThreadPoolExecutor):
        def shutdown(self, wait=True): super().shutdown(wait)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "my_cluster", raising=False)
    return write_project(
        tmp_path, {"my_cluster.py": CLUSTER, "broken_cluster.py": "1/0", "leaves.py": "raise SystemExit(0)"}
    )


WRONG = {
    "loca": "invalid --engine 'loca'; did you mean local?",
    "cluster": "invalid --engine 'cluster': expected local, dask:ADDRESS or MODULE:FACTORY",
    "local:4": "invalid --engine 'local:4'; did you mean local?",
    "dask:": "invalid --engine 'dask:': ",
    ":make": "invalid --engine ':make': expected local",
    "my_cluster:": "invalid --engine 'my_cluster:': expected local",
    "no_such_module:make": "--engine no_such_module:make: ModuleNotFoundError: No module named ",
    "my_cluster:nothing": "--engine my_cluster:nothing: AttributeError: ",
    "my_cluster:number": "--engine my_cluster:number is 7: expected a function that returns an Executor",
    "leaves:make": "--engine leaves:make: SystemExit: 0",
    "broken_cluster:make": "--engine broken_cluster:make: ZeroDivisionError: division by zero",
}


@pytest.mark.parametrize("word", WRONG)
def test_a_word_that_means_no_engine_is_refused(word: str, project: Path) -> None:
    with pytest.raises(UsageError) as refused:
        engine(word, 2, project)

    assert str(refused.value).startswith(WRONG[word])


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("makes_none", "returned 'a pool': expected a concurrent.futures.Executor"),
        ("raises", "raised OSError: no route"),
        ("leaves", "raised SystemExit: 0"),
    ],
)
def test_a_factory_that_makes_no_executor_is_refused(word: str, said: str, project: Path) -> None:
    with pytest.raises(UsageError) as refused:
        engine(f"my_cluster:{word}", 2, project).executor()

    assert str(refused.value) == f"--engine my_cluster:{word} {said}"


def test_a_module_of_the_project_is_found_and_takes_no_other_modules_place(project: Path) -> None:
    (project / "json.py").write_text("1/0")

    made = engine("my_cluster:make", 2, project)

    assert isinstance(made.executor(), Executor)
    assert sys.path[-1] == str(project)
    made.close()


def test_an_executor_with_an_older_shutdown_does_not_spoil_the_end(project: Path) -> None:
    made = engine("my_cluster:Odd", 2, project)
    made.executor().submit(int).result()

    made.close()


def test_local_has_a_thread_for_each_shard_and_hears_them(project: Path) -> None:
    local = engine("local", 3, project)
    heard: list[tuple[str, str]] = []
    word = local.listen(lambda attempt, lines: heard.append((attempt, lines)))
    host(word).send("try", "line\n")
    executor = local.executor()
    local.close()
    host(word).send("try", "too late\n")

    assert isinstance(executor, ThreadPoolExecutor)
    assert executor._max_workers == 3
    assert heard == [("try", "line\n")]
    assert not local.lack()

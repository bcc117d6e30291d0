"""`proctor run --engine`: the same answer as a plain run, and nothing alive after it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from support.projects import (
    GUARD,
    clean_environment,
    command,
    document_of,
    outcomes,
    processes_with,
    project_python,
    run_suite,
    write_project,
)

from proctor.cli import run
from proctor.errors import UsageError

MARK = "ENGINE_MARK"
TWO = ("--engine", "local", "--shards", "2")
CLUSTER = """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    def forks(): return ProcessPoolExecutor(2, multiprocessing.get_context("fork"))
    def idle_forks(): return ProcessPoolExecutor(4, multiprocessing.get_context("fork"))
    def spawns(): return ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))
"""
HOSTILE = {
    "test_crash.py": """
        import os
        def test_before(): pass
        def test_exits_with_0(): os._exit(0)
        def test_after(): pass
    """,
    "test_kill.py": """
        import os, signal, time
        def test_kills_its_group(): os.killpg(0, signal.SIGKILL)
        def test_kills_its_parent():
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(600)
    """,
    "test_fine.py": """
        import os, sys, pytest
        def test_prints_garbage(): os.write(1, b"\\\\xff\\\\0{\\\\n" * 3000)
        def test_forks():
            if not os.fork(): os._exit(0)
        @pytest.mark.skip(reason="later")
        def test_skipped(): pass
        @pytest.mark.xfail
        def test_expected(): assert 0
        def test_fails(): assert [1] == [2]
        @pytest.fixture
        def broken(): raise OSError("no")
        def test_error(broken): pass
    """,
    "test_skipped.py": """
        import pytest
        pytest.skip("not here", allow_module_level=True)
    """,
}


def masked(document: dict[str, Any]) -> dict[str, Any]:
    """What must be the same: the tests with their messages, and all that is concluded from them."""
    tests = {
        test["node_id"]: (test["outcome"], re.sub(r"process \d+|session \d+", "", test["message"] or ""))
        for test in document["tests"]
    }
    summary = {name: count for name, count in document["summary"].items() if name != "duration"}
    verdict = {name: document[name] for name in ("outcome", "collection_errors")}
    return {**verdict, "tests": tests, "summary": summary, "not_run": sorted(document["not_run"])}


def test_hostile_tests_end_as_in_a_plain_run(tmp_path: Path) -> None:
    write_project(tmp_path, HOSTILE)
    plain = run_suite(tmp_path, "--format", "json", "--no-history")
    engine = run_suite(tmp_path, "--format", "json", "--no-history", *TWO)

    assert masked(engine.document) == masked(plain.document)
    assert engine.code == plain.code == 2
    assert len(plain.document["tests"]) == 12


def test_runs_with_and_without_an_engine_have_one_history(tmp_path: Path) -> None:
    write_project(
        tmp_path, {"test_a.py": "def test_a(): assert 0\n", "test_b.py": "def test_b(): assert 0\n"}
    )
    first, second, third = (
        run_suite(tmp_path, *options, "--format", "agent") for options in ((), TWO, ("-k", "test_b"))
    )

    assert first.out.splitlines()[0] == "2 failed"
    assert second.out.splitlines()[0].startswith("2 failed, all failing since")
    assert third.out.splitlines()[0].startswith("1 failed 1 deselected, still failing since")


@pytest.mark.parametrize(
    "files",
    [
        {"test_a.py": "def test_a(): pass\n", "test_b.py": "import nothing_of_that_name\n"},
        {"test_a.py": "def test_a(): pass\n", "conftest.py": "1/0\n"},
        {"test_a.py": "# nothing\n"},
    ],
    ids=["a module cannot be imported", "conftest.py cannot be imported", "no tests"],
)
def test_what_cannot_be_listed_is_reported_as_by_a_plain_run(files: dict[str, str], tmp_path: Path) -> None:
    write_project(tmp_path, files)
    plain = run_suite(tmp_path, "--format", "json", "--no-history")
    engine = run_suite(tmp_path, "--format", "json", "--no-history", *TWO)

    assert masked(engine.document) == masked(plain.document)
    assert engine.code == plain.code != 0
    assert any(
        "the tests run on this machine, without the engine" in notice for notice in engine.document["notices"]
    )


REFUSED = {
    "--engine local": "--engine needs --shards N",
    "--shards 2": "--shards needs --engine ENGINE",
    "--engine local --shards 0": "invalid --shards 0: expected 1 to ",
    "--engine local --shards -1": "invalid --shards -1: expected 1 to ",
    "--engine nothing --shards 2": "invalid --engine 'nothing': expected local",
    "--engine my_cluster:no --shards 2": "--engine my_cluster:no: AttributeError: ",
    "--engine local --shards 2 --failed-first": "--engine and --failed-first: expected only one of them",
    "--engine local --shards 2 --exitfirst-new": "--engine and --exitfirst-new: expected only one of them",
}


@pytest.mark.parametrize("options", REFUSED)
def test_what_cannot_be_done_is_refused_before_a_test_runs(
    options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    ran = tmp_path / "ran"
    write_project(tmp_path, {"test_a.py": f"open({str(ran)!r}, 'w')", "my_cluster.py": CLUSTER})

    with pytest.raises(UsageError) as refused:
        run.main(["-C", str(tmp_path), *options.split()])

    assert str(refused.value).startswith(REFUSED[options])
    assert not ran.exists()


def test_the_projects_own_factory_runs_the_tests(tmp_path: Path) -> None:
    source = "def test_{0}(): pass\n"
    files = {f"test_{name}.py": source.format(name) for name in "ab"}
    write_project(tmp_path, {**files, "my_cluster.py": CLUSTER})

    found = document_of(tmp_path, "--engine", "my_cluster:spawns", "--shards", "2", "--no-history", "-k", "a")

    assert (found["outcome"], outcomes(found)) == ("passed", {"test_a.py::test_a": "passed"})
    assert found["summary"]["deselected"] == 1


HANGS = """
    import os, time
    def test_passes(): pass
    def test_hangs():
        open(os.environ["REACHED"] + os.path.basename(__file__), "w").close()
        time.sleep(600)
"""
ENDS = [
    ("local", signal.SIGINT),
    ("local", signal.SIGKILL),
    ("my_cluster:forks", signal.SIGINT),
    ("my_cluster:spawns", signal.SIGTERM),
    ("my_cluster:forks", signal.SIGKILL),
    ("my_cluster:idle_forks", signal.SIGKILL),
]


@pytest.mark.parametrize(("engine", "number"), ENDS, ids=[f"{name} {end.name}" for name, end in ENDS])
def test_no_test_is_alive_after_the_end_of_a_run_however_that_came(
    engine: str, number: signal.Signals, tmp_path: Path
) -> None:
    files = {f"test_{name}.py": HANGS for name in "ab"}
    write_project(tmp_path, {**files, "my_cluster.py": CLUSTER})
    mark, reached = uuid4().hex, tmp_path / "reached-"
    more = {MARK: mark, "REACHED": str(reached)}
    options = ("--python", project_python(), "--engine", engine, "--shards", "2", "--format", "json")
    process = subprocess.Popen(
        command("run", *options),
        cwd=tmp_path,
        env=clean_environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _until(lambda: len([*tmp_path.glob("reached-*")]) == 2)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does: pool processes get it as well
    else:
        process.send_signal(number)
    out, _ = process.communicate(timeout=GUARD)

    if number == signal.SIGKILL:
        _until(lambda: not processes_with(MARK, mark))
        return
    assert processes_with(MARK, mark) == []
    found = json.loads(out)
    assert found["outcome"] == ("interrupted" if number == signal.SIGINT else "cancelled")
    assert process.returncode == 2
    passed = {test for test, outcome in outcomes(found).items() if outcome == "passed"}
    assert passed == {"test_a.py::test_passes", "test_b.py::test_passes"}
    assert len(found["tests"]) == 4


def _until(happened: Any) -> None:
    latest = time.monotonic() + GUARD
    while not happened():
        assert time.monotonic() < latest
        time.sleep(0.02)

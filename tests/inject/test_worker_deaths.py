"""A worker that dies or hangs costs the test that it was running."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from support.channel import Listener
from support.projects import GUARD, environment, interpreters, processes_with, write_project
from support.sessions import Heard, session_of, start_session

import proctor_pytest
from proctor import events as e
from proctor.process import deadline

TWO: dict[str, Any] = {"workers": 2}
DEADLY = """
    import ctypes, os, signal, time
    def test_a(): pass
    def test_segfault(): ctypes.string_at(0)
    def test_b(): pass
    def test_exits(): os._exit(0)
    def test_c(): pass
    def test_killed(): os.kill(os.getpid(), signal.SIGKILL)
    def test_d(): pass
    def test_closes_all(): os.closerange(3, 1024)
    def test_returns_twice(): os.fork()
    def test_e(): pass
"""
HANGING = """
    import os, signal, time
    def test_a(): pass
    def test_sleeps():
        time.sleep(600)
    def test_b(): pass
    def test_swallows():
        try:
            time.sleep(600)
        except BaseException:
            pass
    def test_deaf():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            time.sleep(1)
    def test_c(): pass
"""
OTHERS = "import pytest\n@pytest.mark.parametrize('n', range(12))\ndef test_other(n): pass\n"
OLD = ("3.7", "pytest==6.2.5")


def others(told: Heard, *known: str) -> set[str]:
    return {outcome for name, outcome in told.outcomes.items() if name.partition("::")[2] not in known}


@pytest.mark.parametrize("asked", [TWO, {"isolate": True}, {"isolate": True, "workers": 3}], ids=str)
def test_a_death_costs_one_test_and_its_dump_is_its_own(tmp_path: Path, asked: dict[str, Any]) -> None:
    root = write_project(tmp_path, {"test_deadly.py": DEADLY, "test_other.py": OTHERS})
    told = session_of(root, asked)

    found = {name.partition("::")[2]: test for name, test in told.ended.items()}
    assert len(found) == 22
    assert others(told, "test_segfault", "test_exits", "test_killed", "test_closes_all") == {"passed"}
    assert found["test_segfault"].message == "SIGSEGV (Segmentation fault) at test_deadly.py:3"
    assert "in test_segfault" in (found["test_segfault"].traceback or "")
    assert "proctor_pool" not in (found["test_segfault"].traceback or "")
    assert found["test_exits"].message == "the process exited with 0 during the test at test_deadly.py:5"
    assert found["test_killed"].message == "SIGKILL at test_deadly.py:7"
    assert (found["test_killed"].outcome, found["test_killed"].traceback) == ("crash", None)
    assert found["test_closes_all"].outcome == "crash"
    assert told.code == 1
    assert "4 failed, 18 passed" in told.out  # as pytest itself counts


@pytest.mark.parametrize("python", [None, OLD], ids=["new", "old"])
@pytest.mark.parametrize("asked", [TWO, {"isolate": True}], ids=["workers", "isolate"])
def test_a_test_over_its_limit_is_ended_whatever_it_does_about_that(
    tmp_path: Path, asked: dict[str, Any], python: tuple[str, str] | None
) -> None:
    if python and python[0] not in interpreters():
        pytest.skip(f"no interpreter for Python {python[0]}")
    chosen = environment(interpreters()[python[0]], [python[1]]) if python else ""
    root = write_project(tmp_path, {"test_hanging.py": HANGING, "test_other.py": OTHERS})
    told = session_of(root, {**asked, "test_timeout": 0.7}, python=chosen)

    found = {name.partition("::")[2]: test for name, test in told.ended.items()}
    assert len(found) == 18
    assert others(told, "test_sleeps", "test_swallows", "test_deaf") == {"passed"}
    assert {found[name].outcome for name in ("test_sleeps", "test_swallows", "test_deaf")} == {"timeout"}
    assert found["test_sleeps"].message == "time limit of 0.7 s reached at test_hanging.py:4"
    assert str(found["test_deaf"].failure and found["test_deaf"].failure.place) == "test_hanging.py:14"


def test_fixtures_clean_up_after_a_test_that_hangs(tmp_path: Path) -> None:
    source = """
        import pathlib, pytest, time
        @pytest.fixture(scope="session")
        def database():
            yield
            pathlib.Path("database").touch()
        @pytest.fixture
        def slow_to_end():
            yield
            time.sleep(3)  # longer than a test may take to hear an interrupt
            pathlib.Path("slow").touch()
        def test_hangs(database, slow_to_end): time.sleep(600)
        def test_after(): pass
    """
    root = write_project(tmp_path, {"test_a.py": source})
    told = session_of(root, {**TWO, "test_timeout": 0.5})

    assert told.outcomes == {"test_a.py::test_hangs": "timeout", "test_a.py::test_after": "passed"}
    assert (root / "database").exists() and (root / "slow").exists()


def test_setup_call_and_teardown_count_together_and_no_test_changes_the_clock(tmp_path: Path) -> None:
    source = """
        import pytest, time
        real = time.sleep
        def wait(seconds):
            real(seconds)
        @pytest.fixture
        def slow():
            wait(0.8)
            yield
            wait(0.8)
        def test_slow(slow): wait(0.8)
        def test_clock(monkeypatch):
            monkeypatch.setattr(time, "monotonic", lambda: 0.0)
            monkeypatch.setattr(time, "time", lambda: 0.0)
            real(600)
        def test_quick(): pass
    """
    told = session_of(write_project(tmp_path, {"test_a.py": source}), {**TWO, "test_timeout": 1.7})

    assert {name[11:]: outcome for name, outcome in told.outcomes.items()} == {
        "test_slow": "timeout",
        "test_clock": "timeout",
        "test_quick": "passed",
    }


def test_the_numbers_are_those_of_a_run() -> None:
    pool: Any = proctor_pytest._load("proctor_pool")

    assert pool.INTERRUPT_SECONDS == deadline.INTERRUPT_SECONDS
    assert pool.CLEANUP_SECONDS == deadline.CLEANUP_SECONDS
    assert pool.ABORT_SECONDS == deadline.ABORT_SECONDS


def test_workers_that_die_before_their_first_test_end_the_session(tmp_path: Path) -> None:
    conftest = """
        import os
        ended = []
        os.register_at_fork(after_in_child=lambda: os._exit(3) if ended else None)
        def pytest_collection_finish(): ended.append(True)
    """
    root = write_project(tmp_path, {"conftest.py": conftest, "test_other.py": OTHERS})
    told = session_of(root, TWO)

    assert told.code == 3
    assert "3 workers in a row died before their first test: exit code 3" in str(told.facts)


def test_a_worker_that_dies_after_its_last_test_breaks_the_session(tmp_path: Path) -> None:
    source = """
        import os, sys
        class Deadly:
            def write(self, text): return len(text)
            def flush(self): os._exit(7)
        def test_a(): sys.stdout = Deadly()
        def test_b(): sys.stdout = Deadly()
    """
    told = session_of(write_project(tmp_path, {"test_a.py": source}), TWO, "-s")

    assert told.code == 3
    assert told.outcomes == {"test_a.py::test_a": "passed", "test_a.py::test_b": "passed"}
    (broke,) = told.of(e.SessionBroke)
    assert "ended after its last test: exit code 7" in broke.failure.message


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_no_worker_outlives_the_coordinator(tmp_path: Path, number: signal.Signals) -> None:
    source = "import pathlib, time\ndef test_{0}():\n    pathlib.Path('{0}').touch()\n    time.sleep({1})\n"
    seconds = 600 if number == signal.SIGINT else 1  # whoever kills the one kills all of its tree, in a run
    files = {f"test_{name}.py": source.format(name, seconds) for name in "ab"}
    root, mark = write_project(tmp_path, files), str(tmp_path)
    listener = Listener.on_a_pipe()
    started = start_session(listener, root, asked=TWO, environ={"MARKED": mark})
    listener.listen()
    until = time.monotonic() + GUARD
    while not all((root / name).exists() for name in "ab"):
        assert started.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    started.send_signal(number)
    started.communicate(timeout=GUARD)
    while processes_with("MARKED", mark) and time.monotonic() < until:
        time.sleep(0.05)

    assert not processes_with("MARKED", mark)
    os.close(listener.writer)

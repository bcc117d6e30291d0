"""What the failure index adds to the reports of a test, in a plain pytest that an agent reads.

The reports go through pytest's own plugin manager, with the index and without it in turns, so that what
pytest spends on a report beside it does not drown the difference.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from measure import REPOSITORY, environment, interleave, proctor_environment, spending, table

import proctor_pytest

TESTS = 200  # in one round
DEPTH = 10  # frames between a test and the raise


def bench_index(quick: bool) -> str:
    """Microseconds of CPU that the failure index adds to one test: the least of all rounds."""
    rounds = 50 if quick else 500
    rows = [
        ["passes (limit: 8)", f"{added(passing(), rounds):.1f}"],
        [f"fails, {DEPTH} frames deep (limit: 200)", f"{added(failing(), rounds):.1f}"],
    ]
    return table(["a test that", "added µs"], rows) + "\n" + starting(quick)


Phase = tuple[Any, Any]  # how a phase went, and its report


def fail(depth: int) -> None:
    if depth:
        fail(depth - 1)
    raise ValueError("no such thing\nas an easy one")


def phase(when: str, work: Callable[[], None] = lambda: None) -> Phase:
    call: Any = pytest.CallInfo.from_call(work, when)  # type: ignore[arg-type]
    outcome: Any = "failed" if call.excinfo else "passed"
    where = ("test_a.py", 1, "test_a")
    return call, pytest.TestReport("test_a.py::test_a", where, {}, outcome, None, when)  # type: ignore[arg-type]


def passing() -> list[Phase]:
    return [phase("setup"), phase("call"), phase("teardown")]


def failing() -> list[Phase]:
    return [phase("setup"), phase("call", lambda: fail(DEPTH)), phase("teardown")]


class Session:
    """Stands for pytest: its plugin manager, and somebody who makes the reports."""

    def __init__(self, *plugins: Any) -> None:
        self.manager = pytest.PytestPluginManager()
        for plugin in (self, *plugins):  # as in pytest, whoever came first is asked last
            self.manager.register(plugin)
        self.made: Any = None

    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        return self.made

    def spend(self, phases: list[Phase]) -> float:
        hook = self.manager.hook
        item = SimpleNamespace(nodeid="test_a.py::test_a")
        started = time.process_time()
        for _ in range(TESTS):
            for call, report in phases:
                self.made = copy(report)
                made = hook.pytest_runtest_makereport(item=item, call=call)
                hook.pytest_runtest_logreport(report=made)
        return time.process_time() - started


def added(phases: list[Phase], rounds: int) -> float:
    without, with_it = Session(), Session(the_index())
    spent = [(without.spend(phases), with_it.spend(phases)) for _ in range(rounds)]
    return (min(b for _, b in spent) - min(a for a, _ in spent)) / TESTS * 1e6


def the_index() -> Any:
    here = SimpleNamespace(dir=str(REPOSITORY))
    config = SimpleNamespace(rootpath=here.dir, invocation_params=here, getini=lambda _: ["test_*.py"])
    load: Any = proctor_pytest._load
    rows = load("../failure_row")
    index = load("failure_index").FailureIndex(config, rows.ROWS, rows.LENGTH)
    index.ids = ["test_a.py::test_a"]
    return index


def starting(quick: bool) -> str:
    commands = {
        name: [str(home / "python"), "-m", "pytest", "--version", "--version"]
        for name, home in (("without", environment("pytest", "pytest")), ("with", _both()))
    }
    costs = interleave(spending(commands, REPOSITORY / "benchmarks"), 5 if quick else 40, "start of pytest")
    rows = [[f"{name} proctor installed", f"{cost.least * 1000:.1f}"] for name, cost in costs.items()]
    return table(["starting pytest, while no agent reads", "CPU ms"], rows)


def _both() -> Path:
    """Where both are installed."""
    home = proctor_environment()
    install = [str(home / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*install, "-c", str(REPOSITORY / "constraints.txt"), "pytest"], check=True)
    return home

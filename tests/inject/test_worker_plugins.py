"""Plugins that many projects have do in workers what they do in one process."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.projects import environment, write_project
from support.sessions import Heard, session_of

TWO: dict[str, Any] = {"workers": 2}
MEASURED = {
    "pack/__init__.py": "",
    "pack/code.py": """
        def size(number):
            if number > 3:
                return "large"
            elif number == 2:
                return "two"
            return "small"
        def never():
            if size(9):
                return 1
            return 2
    """,
    "test_a.py": """
        import pytest
        from pack.code import size
        @pytest.mark.parametrize("number", range(6))
        def test_size(number): size(number)
    """,
    "test_b.py": """
        from pack import code
        def test_never(): code.never()
        def test_two(): assert code.size(2) == "two"
    """,
}


@pytest.mark.parametrize(
    "packages",
    [("pytest==9.2.0", "pytest-cov==7.1.0"), ("pytest==7.4.4", "pytest-cov==4.1.0")],
    ids=["new", "old"],
)
def test_coverage_is_that_of_one_process(tmp_path: Path, packages: tuple[str, ...]) -> None:
    python = environment(sys.executable, packages)
    options = ("--cov=pack", "--cov-branch", "--cov-context=test", "--cov-report=term-missing")
    found: list[tuple[Any, ...]] = []
    for asked in ({}, TWO, {"isolate": True, "workers": 2}):
        root = write_project(tmp_path / str(len(found)), MEASURED)
        told = session_of(root, asked, *options, "--cov-fail-under=90", python=python)
        assert told.notices == []
        (row,) = re.findall(r"^pack/code.py .*", told.out, re.M)
        (total,) = re.findall(r"Total coverage: .*", told.out)
        found.append((row, total, told.code, contexts(root, python)))
        assert [path.name for path in root.glob(".coverage*")] == [".coverage"]

    assert found == [found[0]] * 3
    assert found[0][2] == 1  # the limit is missed


def contexts(root: Path, python: str) -> str:
    import subprocess

    code = "import coverage; d = coverage.CoverageData(); d.read(); print(sorted(d.measured_contexts()))"
    return subprocess.run([python, "-c", code], cwd=root, check=True, capture_output=True, text=True).stdout


def test_coverage_that_a_crash_loses_is_named(tmp_path: Path) -> None:
    python = environment(sys.executable, ("pytest==9.2.0", "pytest-cov==7.1.0"))
    crash = {"test_c.py": "import os\ndef test_c(): os.abort()\n"}
    told = session_of(write_project(tmp_path, {**MEASURED, **crash}), TWO, "--cov=pack", python=python)

    assert told.outcomes["test_c.py::test_c"] == "crash"
    assert re.fullmatch(r"coverage of the tests that gw[01] ran before it died is lost", told.notices[0])


def test_popular_plugins_together(tmp_path: Path) -> None:
    source = """
        import asyncio, random, pytest
        from hypothesis import given, strategies
        @pytest.mark.asyncio
        async def test_asyncio(): await asyncio.sleep(0)
        @pytest.mark.anyio
        async def test_anyio(): await asyncio.sleep(0)
        @given(strategies.integers())
        def test_hypothesis(number): assert number != 17 or number == 17
        @given(strategies.integers())
        def test_falsified(number): assert number < 100
        def test_mock(mocker): assert mocker.Mock()(1)
        def test_benchmark(benchmark): benchmark(len, "abc")
        @pytest.fixture
        def anyio_backend(): return "asyncio"
    """
    names = ("pytest-randomly", "pytest-asyncio", "anyio", "hypothesis", "pytest-benchmark", "pytest-mock")
    python = environment(sys.executable, ("pytest==9.2.0", *names))
    root = write_project(tmp_path, {"test_a.py": source, "test_b.py": source})
    alone, spread = (session_of(root, asked, "-p", "randomly", python=python) for asked in ({}, TWO))

    assert spread.outcomes == alone.outcomes
    assert Counter(spread.outcomes.values()) == {"passed": 10, "failed": 2}
    assert spread.workers == {"gw0", "gw1"}
    assert spread.notices == [
        "benchmarks are disabled: they cannot be measured in several processes at a time"
    ]
    falsified = spread.ended["test_a.py::test_falsified"]
    assert "Falsifying example" in (falsified.traceback or "") or "number=100" in str(falsified)


def test_reruns_and_reports_of_other_plugins_are_the_same(tmp_path: Path) -> None:
    source = """
        import pytest
        seen = []
        @pytest.mark.flaky(reruns=2)
        def test_flaky():
            seen.append(1)
            assert len(seen) > 1
        def test_fails(): assert 0
        def test_passes(): pass
    """
    names = ("pytest-xdist==3.8.0", "pytest-rerunfailures==16.0.1", "pytest-html", "allure-pytest")
    python = environment(sys.executable, ("pytest==8.4.2", *names, "pytest-json-report"))
    options = ("--html=report.html", "--self-contained-html", "--alluredir=allure", "--json-report")
    found: list[tuple[Any, ...]] = []
    for asked in ({}, TWO):
        root = write_project(tmp_path / str(len(found)), {"test_a.py": source, "test_b.py": source})
        told = session_of(root, asked, *options, "--json-report-file=report.json", python=python)
        assert told.notices == []
        found.append((told.outcomes, told.code, written(root), last_line(told)))

    assert found[0] == found[1]


def written(root: Path) -> tuple[Any, ...]:
    html = (root / "report.html").read_text(encoding="utf-8")
    statuses = [json.loads(path.read_text())["status"] for path in (root / "allure").glob("*-result.json")]
    summary = json.loads((root / "report.json").read_text())["summary"]
    return re.findall(r"\d+ (?:Failed|Passed|Rerun)", html), Counter(statuses), summary


def last_line(told: Heard) -> str:
    return re.sub(r" in [0-9.]+s.*", "", told.out.strip().splitlines()[-1]).strip("= ")

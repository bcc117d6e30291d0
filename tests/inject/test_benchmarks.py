"""What pytest-benchmark measured is a benchmark in the document, the stream and the log."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from support.projects import environment, outcomes, proctor, run_suite, write_project

TESTS = """
    def test_speed(benchmark): benchmark(lambda: sum(range(100)))
    def test_rounds(benchmark): benchmark.pedantic(lambda: sum(range(100)), rounds=3, iterations=2)
    def test_unused(benchmark): pass
    def test_plain(): pass
"""
SHORT = ("--", "--benchmark-max-time=0.01", "--benchmark-warmup=off")


@pytest.fixture(scope="module")
def python() -> str:
    needed = [f"{name}=={version(name)}" for name in ("pytest", "pytest-xdist")]
    return environment(sys.executable, [*needed, "pytest-benchmark==5.3.1"])


def benches(document: dict[str, Any]) -> dict[str, Any]:
    return {
        test["node_id"].partition("::")[2]: test
        for test in document["tests"]
        if test.get("subtype") == "bench"
    }


def test_a_benchmark_has_the_time_of_one_iteration(python: str, tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_b.py": TESTS})
    # It measures nothing in a worker of xdist, such as the one that may run this.
    document = run_suite(root, "--format", "json", *SHORT, python=python, PYTEST_XDIST_WORKER="").document

    assert document["outcome"] == "passed"
    assert set(outcomes(document).values()) == {"passed"}
    found = benches(document)
    assert list(found) == ["test_speed", "test_rounds"]
    for test in found.values():
        numbers = test["properties"]["benchmark"]
        assert test["duration"] == round(numbers["median"], 9)
        assert 0 < numbers["min"] <= numbers["median"] <= numbers["max"]
    rounds = found["test_rounds"]["properties"]["benchmark"]
    assert (rounds["rounds"], rounds["iterations"]) == (3, 2)

    for form in ("stream", "events"):
        text = proctor("show", document["run_id"], "--format", form, cwd=root).out
        (tmp_path / f"again.{form}").write_text(text)
        again = proctor("show", f"again.{form}", "--format", "json", cwd=tmp_path).document
        assert benches(again).keys() == found.keys()
        assert [test["properties"] for test in benches(again).values()] == [
            test["properties"] for test in found.values()
        ]
    (line,) = [line for line in (tmp_path / "again.stream").read_text().splitlines() if "test_rounds" in line]
    told = json.loads(line)
    assert (told["subtype"], told["duration"]) == ("bench", round(rounds["median"] * 1e9))


def test_what_was_not_measured_is_a_test_like_any_other(python: str, tmp_path: Path) -> None:
    failing = "def test_fails(benchmark):\n    benchmark(lambda: 1)\n    assert 0\n"
    root = write_project(tmp_path, {"test_b.py": TESTS, "test_c.py": failing})
    for more in (["--benchmark-disable"], ["-n2"]):
        document = run_suite(root, "--format", "json", *SHORT, *more, python=python).document

        assert (document["summary"]["passed"], document["summary"]["failed"]) == (4, 1)
        assert not benches(document)

"""A fault of the archive changes no answer: the server has the result in memory."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.mcp_client import talk, text_of
from support.projects import write_project

TESTS = """
    import logging, pathlib, shutil

    RUNS = pathlib.Path(__file__).parent / ".proctor" / "runs"

    def remove(directory):
        while directory.exists():  # proctor may write a file between two steps of rmtree
            shutil.rmtree(directory, ignore_errors=True)

    def test_first():
        print("printed first")

    def test_fails():
        print("printed by the failure")
        logging.getLogger("shop").warning("logged by the failure")
        assert 1 == 2, "one is not two"

    def test_disturbs():
        {disturbance}
"""
DISTURBANCES = {
    "log truncated": "[path.write_text('') for path in RUNS.glob('*/events.jsonl')]",
    "archive deleted": "remove(RUNS)",
    "document impossible": "[(remove(run), run.touch()) for run in RUNS.iterdir() if run.is_dir()]",
}
CHANGING = (
    *("duration", "started", "created"),
    *("msecs", "relativeCreated", "thread", "process"),  # of a log record
)
SELECTIONS = ("failures", "tests", "files", "json_report", "output")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return answers(tmp_path_factory.mktemp("undisturbed"), "pass", moves=True)


@pytest.mark.parametrize("disturbance", DISTURBANCES.values(), ids=DISTURBANCES)
@pytest.mark.parametrize("moves", [True, False], ids=["cache", "no cache"])
def test_a_fault_of_the_archive_changes_no_answer(
    tmp_path: Path, undisturbed: dict[str, Any], disturbance: str, moves: bool
) -> None:
    found = answers(tmp_path, disturbance, moves)

    assert found["full"][1]["notices"] == []
    assert found == undisturbed


def answers(path: Path, disturbance: str, moves: bool) -> dict[str, Any]:
    """What every tool says about a run, which can move to the cache or cannot."""
    root = write_project(path / "project", {"test_a.py": TESTS.format(disturbance=disturbance)})
    cache = str(path / "cache") if moves else ""
    found = {}
    with talk(root, HOME="", XDG_CACHE_HOME=cache) as server:
        for detail in ("summary", "failures", "full"):
            found[detail] = server.call("execute_tests", detail=detail)
        run_id = found["full"].structured_content["run_id"]
        for select in SELECTIONS:
            found[f"get_run {select}"] = server.call("get_run", run_id=run_id, select=select)
        found["get_test"] = server.call("get_test", run_id=run_id, node_id="test_a.py::test_fails")
    return {
        name: (same(text_of(answer), path), same(answer.structured_content, path))
        for name, answer in found.items()
    }


def same(value: Any, path: Path) -> Any:
    """The value without ids and times, and with one name for both directories in which a run may be kept:
    no other difference is allowed, nor is an added or a lost notice."""
    if isinstance(value, str) and value.startswith("{"):  # a text of JSON lines
        return [same(json.loads(line), path) for line in value.splitlines()]
    if isinstance(value, str):
        value = re.sub(r"\d{8}-\d{6}-\w{6}", "RUN", value)
        elsewhere = str(path / "project").replace("/", "%2F")
        for place in (path / "project" / ".proctor", path / "cache" / "proctor"):
            value = value.replace(f"{place}/runs/{elsewhere}/RUN", "KEPT").replace(
                f"{place}/runs/RUN", "KEPT"
            )
        value = value.replace(str(path), "PATH")
        return re.sub(r"in \d+\.\d+s|\d+\.\d+s|-?\d+\.\d{3,}(e-\d+)?", "TIME", value)
    if isinstance(value, list):
        return [same(item, path) for item in value]
    if isinstance(value, dict):
        return {name: same(item, path) for name, item in value.items() if name not in CHANGING}
    return value

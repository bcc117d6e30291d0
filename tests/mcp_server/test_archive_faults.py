"""A fault of the archive changes no answer: the server has the result in memory."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from support.mcp_client import Talk, talk, text_of
from support.projects import write_project

TESTS = """
    import logging, pathlib, shutil

    RUNS = pathlib.Path(__file__).parent / ".proctor" / "runs"

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
    "archive deleted": "shutil.rmtree(RUNS)",
    "document impossible": "[(shutil.rmtree(run), run.touch()) for run in RUNS.iterdir() if run.is_dir()]",
}
CHANGING = (
    *("duration", "started", "created", "notices", "directory"),
    *("msecs", "relativeCreated", "thread", "process"),  # of a log record
)
NO_CACHE = {"HOME": "", "XDG_CACHE_HOME": ""}  # where a run would move to

Answers: TypeAlias = dict[str, tuple[str, Any]]  # by call: the text and the structured content


@pytest.fixture(scope="module", params=[{}, NO_CACHE], ids=["cache", "no cache"])
def server(request: pytest.FixtureRequest, home: Path) -> Iterator[Talk]:
    with talk(home, **request.param) as talking:
        yield talking


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("projects")


@pytest.fixture(scope="module")
def undisturbed(home: Path) -> Answers:
    with talk(home) as server:
        return answers(server, home / "undisturbed", "pass")


@pytest.mark.parametrize("disturbance", DISTURBANCES)
def test_a_fault_of_the_archive_changes_no_answer(
    home: Path, server: Talk, undisturbed: Answers, disturbance: str
) -> None:
    root = Path(tempfile.mkdtemp(dir=home))

    assert answers(server, root, DISTURBANCES[disturbance]) == undisturbed


def answers(server: Talk, root: Path, disturbance: str) -> Answers:
    """What every tool says about a run, without what differs from run to run."""
    write_project(root, {"test_a.py": TESTS.format(disturbance=disturbance)})
    found = {}
    for detail in ("summary", "failures", "full"):
        found[detail] = server.call("execute_tests", project=str(root), detail=detail)
    run_id = found["full"].structured_content["run_id"]
    for select in ("failures", "tests", "files"):
        found[f"get_run {select}"] = server.call("get_run", run_id=run_id, select=select)
    found["get_test"] = server.call("get_test", run_id=run_id, node_id="test_a.py::test_fails")
    return {
        name: (same(text_of(answer), root), same(answer.structured_content, root))
        for name, answer in found.items()
    }


def same(value: Any, root: Path) -> Any:
    """The value without ids, times, paths, the line that disturbs, and what the archive says of itself."""
    if isinstance(value, str):
        value = "".join(line for line in value.splitlines(True) if "not kept" not in line)
        value = re.sub(r"\d{8}-\d{6}-\w{6}", "RUN", value).replace(str(root), "ROOT")
        return re.sub(r"in \d+\.\d+s|\d+\.\d+s|-?\d+\.\d{3,}(e-\d+)?", "TIME", value)
    if isinstance(value, list):
        return [same(item, root) for item in value]
    if isinstance(value, dict):
        return {name: same(item, root) for name, item in value.items() if name not in CHANGING}
    return value

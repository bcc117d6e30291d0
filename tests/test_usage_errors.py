"""A mistake in a command is not a run: what was `last` stays so, and what failed last does too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.mcp_client import talk, text_of
from support.projects import document_of, outcomes, proctor, project_python, run_suite, write_project

MISTAKES = {
    "an option of pytest": ("--", "--no-such-option"),
    "a test": ("test_a.py::nowhere",),
    "keywords": ("-k", "and or"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path, {"test_a.py": "def test_a(): assert 0\ndef test_b(): pass\n"})


def test_a_mistake_is_neither_last_nor_seen_by_last_failed(project: Path) -> None:
    first = document_of(project)
    codes = {what: run_suite(project, *arguments).code for what, arguments in MISTAKES.items()}

    assert codes == dict.fromkeys(MISTAKES, 4)
    shown = proctor("show", "last", "--format", "json", cwd=project)
    assert (shown.code, shown.document["run_id"]) == (1, first["run_id"])
    assert outcomes(document_of(project, "--last-failed")) == {"test_a.py::test_a": "failed"}
    kept = [json.loads(line) for line in proctor("runs", "--format", "json", cwd=project).out.splitlines()]
    assert [run["outcome"] for run in kept].count("usage_error") == 3  # with their output


def test_a_mistake_of_a_client_is_not_the_last_run_of_the_server(project: Path) -> None:
    with talk(project) as server:
        first = server.document("execute_tests", python=project_python())
        assert "nowhere" in server.refusal(
            "execute_tests", python=project_python(), targets=["test_a.py::nowhere"]
        )
        again = server.call("get_run", run_id="last")

    assert again.structured_content["run_id"] == first["run_id"]
    assert text_of(again).startswith("1 failed 1 passed")

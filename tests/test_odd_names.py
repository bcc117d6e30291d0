"""Names that no text can hold, and a stdout that cannot hold ours: told with escapes, and at no cost."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from support.mcp_client import talk
from support.projects import clean_environment, outcomes, proctor, project_python, write_project

from proctor.wire import formats

ODD = os.fsdecode(b"\xff")  # a byte that is no UTF-8
TOLD = r"\udcff"
FILES = [f"-o{form}={form}" for form in formats.offered("run")]


def run(root: Path, *arguments: str) -> tuple[int, dict[str, str]]:
    """What a run says, the same in its record."""
    ran = proctor("run", "--format", "json", *FILES, *arguments, cwd=root)
    refused = rf"proctor: .*{re.escape(TOLD)}\"? \[usage\]\n"
    assert re.fullmatch(refused if ran.code == 4 else "", ran.err)
    shown = proctor("show", ran.document["run_id"], "--format", "json", cwd=root)
    assert json.loads(shown.out) == ran.document
    assert {form for form in formats.offered("run") if (root / form).stat().st_size == 0} <= {"results"}
    return ran.code, outcomes(ran.document)


def script(root: Path, name: str, text: str) -> str:
    path = write_project(root, {name: f"#!/bin/sh\n{text}\n"}) / name
    path.chmod(0o755)
    return f"./{name}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / f"project{ODD}"
    write_project(root, {f"test_{ODD}.py": "def test_x(): assert 0\n", "test_a.py": "def test_a(): pass\n"})
    return root


def test_a_file_is_a_target(project: Path) -> None:
    no_cache = ("--", "-p", "no:cacheprovider")  # which cannot write such a name when the session ends
    code, told = run(project, "--python", project_python(), f"test_{ODD}.py", *no_cache)

    assert (code, told) == (1, {f"test_{TOLD}.py::test_x": "failed"})


@pytest.mark.parametrize("arguments", [["missing" + ODD], ["-k", ODD], ["-m", ODD], ["--", ODD]], ids=ascii)
def test_what_pytest_refuses_is_told(project: Path, arguments: list[str]) -> None:
    code, _ = run(project, "--python", project_python(), *arguments)

    assert code == 4


def test_a_program_has_a_name(project: Path) -> None:
    code, told = run(project, "--runner", "command", script(project, f"check{ODD}", "exit 1"))

    assert (code, told) == (1, {f"/check{TOLD}": "failed"})


def test_parts_of_a_program_have_names(project: Path) -> None:
    says = """printf 'result 38\\n{"status": "pass", "name": "part one"}' >&$PROCTOR_CONTROL_FD"""
    code, told = run(project, "--runner", "command", script(project, f"check{ODD}", says))

    assert (code, told) == (0, {f"/check{TOLD}": "passed", f"/check{TOLD}/part one": "passed"})


def test_a_program_that_prints_tap_has_a_name(project: Path) -> None:
    code, told = run(project, "--runner", "tap", script(project, f"check{ODD}.t", "echo 1..1; echo ok 1 - a"))

    assert (code, told) == (0, {f"check{TOLD}.t::a": "passed"})


def test_the_server_serves_such_a_project(project: Path) -> None:
    test, first = f"test_{TOLD}.py::test_x", {"run_id": "last"}
    with talk(project) as server:
        assert server.document("describe_project")["project"].endswith(TOLD)
        assert [found["node_id"] for found in server.document("discover_tests")["tests"]][1:] == [test]
        assert outcomes(server.document("execute_tests", targets=[test], detail="full")) == {test: "failed"}
        for part in ("failures", "tests", "output", "json_report", "files"):
            server.document("get_run", **first, select=part)
        assert server.document("get_test", **first, node_id=test)["directory"].count(TOLD) == 1
        assert TOLD in server.refusal("execute_tests", project="/")
        for listed in server.do(server.client.list_resources()).resources:
            assert server.do(server.client.read_resource(listed.uri)).contents


@pytest.mark.parametrize("verb", ["--help", "doctor", "discover", "runs", "show", "show --format tree"])
def test_what_is_told_is_utf_8_whatever_the_terminal_takes(project: Path, verb: str) -> None:
    ascii_only = clean_environment(PYTHONIOENCODING="ascii")
    write_project(project, {"test_é.py": "def test_é(): pass\n"})
    run(project, "--python", project_python(), "test_é.py")

    words = [*verb.split(), *(("--python", project_python()) if verb in ("discover", "doctor") else ())]

    ran = proctor(*words, cwd=project, environ=ascii_only)

    assert (ran.code, ran.err) == (0, "")
    assert ran == proctor(*words, cwd=project)

"""What a pasted id stands for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.mcp_client import talk
from support.projects import run_suite, write_project

from proctor.targets import meant

FAILING = "def test_a():\n    assert 0\n\n\ndef test_b():\n    pass\n"


@pytest.mark.parametrize(
    ("named", "stands_for"),
    [
        ("tests/test_x.py::test_a", "tests/test_x.py::test_a"),
        ("part/tests/test_x.py::test_a", "tests/test_x.py::test_a"),
        ("whole/part/tests/test_x.py::test_a", "tests/test_x.py::test_a"),
        (r"part/a\|b.py", "a|b.py"),
        ("whole/part/", "."),
        ("part/part/twice.py", "part/twice.py"),
        ("part/twice.py", "part/twice.py"),  # what is here comes first
        ("other/tests/test_x.py", None),
        ("part/tests/test_y.py", None),
        ("part/../../outside.py", None),
    ],
)
def test_an_id_may_begin_at_a_root_above_the_project(
    tmp_path: Path, named: str, stands_for: str | None
) -> None:
    files = ("tests/test_x.py", "a|b.py", "twice.py", "part/twice.py")
    root = write_project(tmp_path / "whole" / "part", dict.fromkeys(files, ""))

    assert meant(named, root) == stands_for


def test_the_command_that_repeats_a_failure_works_below_pytests_root(tmp_path: Path) -> None:
    below = _project_below_its_root(tmp_path)
    told = run_suite(below, "--format", "human").out
    named = re.search(r"rerun: proctor run .*?(\S+)$", told, re.M)
    assert named, told

    again = run_suite(below, "--format", "agent", named[1])

    assert again.out.startswith("1 failed, still failing since ")


def test_an_agent_gives_back_the_ids_that_it_was_told(tmp_path: Path) -> None:
    below = _project_below_its_root(tmp_path)
    with talk(below) as client:
        (told,) = client.document("execute_tests", failfast=True)["tests"]
        again = client.document("execute_tests", targets=[told["node_id"]])

    assert [test["node_id"] for test in again["tests"]] == [told["node_id"]]


def _project_below_its_root(tmp_path: Path) -> Path:
    write_project(tmp_path, {"pytest.ini": "[pytest]\n", "part/tests/test_x.py": FAILING})
    return tmp_path / "part"

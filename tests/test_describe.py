"""What a run would use is found out in one place, by the rules of a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.projects import project_python, write_project

from proctor import config
from proctor.cli.doctor import main as doctor
from proctor.describe import Description, describe
from proctor.mcp_server import replies

PASSES = "def test_it(): pass\n"
UNITTEST = "import unittest\n\nclass Tests(unittest.TestCase):\n    def test_it(self): pass\n"
PROGRAM = '[[tests]]\nname = "check"\ncommand = "true"\n'


@pytest.fixture
def without_pytest(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=tmp_path, check=True)
    return tmp_path


def described(root: Path, python: str | None = None) -> Description:
    return describe(root, config.load(root), python, {"PATH": "/usr/bin:/bin"})


def test_the_interpreter_its_pytest_and_the_settings_of_pytest_are_found(tmp_path: Path) -> None:
    settings = "[pytest]\ntestpaths = a b\nmarkers =\n    slow: takes long\n    net\n"
    about = described(
        write_project(tmp_path, {"test_a.py": PASSES, "pytest.ini": settings}), project_python()
    )

    assert (about.runners, about.problem) == (("pytest",), None)
    assert about.pytest == pytest.__version__
    assert about.chosen is about.candidates[0]
    assert (about.test_paths, about.markers) == (["a", "b"], ["slow", "net"])
    assert not about.reads_text


def test_a_project_without_python_tests_needs_no_pytest(without_pytest: Path) -> None:
    about = described(write_project(without_pytest, {"proctor.toml": PROGRAM}))

    assert (about.runners, about.programs) == (("command",), ["/check"])
    assert (about.problem, about.interpreter, about.candidates) == (None, None, [])
    assert replies.described(about, mask=True).document == {
        "project": str(without_pytest),
        "runner": "command",
        "runners": ["command"],
        "programs": ["/check"],
        "test_paths": [],
        "markers": [],
        "problem": None,
    }


def test_without_pytest_unittest_runs_the_tests_as_in_a_run(
    without_pytest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(without_pytest, {"test_a.py": UNITTEST})
    about = described(without_pytest)
    reply = replies.described(about, mask=True)

    assert (about.runners, about.problem, about.pytest) == (("unittest",), None, None)
    assert reply.document is not None
    assert (reply.document["runner"], reply.document["problem"]) == ("unittest", None)
    assert "problem" not in reply.text
    assert doctor(["-C", str(without_pytest)]) == 0
    assert "unittest runs the tests" in capsys.readouterr().out


def test_pytest_is_missed_where_it_was_asked_for(
    without_pytest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(without_pytest, {"test_a.py": UNITTEST, "proctor.toml": 'runner = "pytest"\n'})
    about = described(without_pytest)

    assert about.runners == ("pytest",)
    assert f"no pytest in {without_pytest}/.venv" in str(about.problem)
    assert f"problem: {about.problem}" in replies.described(about, mask=True).text
    assert doctor(["-C", str(without_pytest)]) == 4
    assert f"problem: {about.problem} [" in capsys.readouterr().out

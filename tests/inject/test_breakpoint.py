"""A test that stops at a breakpoint fails at once, and its failure says how to debug it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.projects import (
    GUARD,
    clean_environment,
    environment,
    interpreters,
    proctor,
    project_python,
    run_suite,
    write_project,
)

IN_PYTEST = """
    import pdb
    import pytest
    def helper():
        breakpoint()
        return 1
    @pytest.mark.parametrize("text", ["it's one"])
    def test_stops(text): assert helper()
    def test_old_way():
        pdb.set_trace()
        assert True
"""
IN_UNITTEST = """
    import unittest
    class T(unittest.TestCase):
        def test_stops(self):
            with self.subTest(number=1):
                breakpoint()
"""
ID = """'tests/test_a.py::test_stops[it'"'"'s one]'"""


def debug_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip().startswith("debug: ")]


def test_the_command_can_be_pasted_and_stops_at_the_breakpoint(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"pytest.ini": "[pytest]\n", "tests/test_a.py": IN_PYTEST})
    python = project_python()
    ran = run_suite(root, "--format", "human", "-o", "agent=a.txt", "-k", "stops", PWD=str(root))
    found = debug_lines(ran.out)

    assert ran.code == 1
    assert found == [f"debug: {python} -m pytest --pdb {ID}"]
    assert debug_lines((root / "a.txt").read_text()) == found
    assert found[0] in proctor("show", "--test", "tests/test_a.py::test_stops[it's one]", cwd=root).out
    done = subprocess.run(
        found[0].removeprefix("debug: "),
        shell=True,
        cwd=root,
        env=clean_environment(),
        input=b"continue\n",
        capture_output=True,
        timeout=GUARD,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"(Pdb)" in done.stdout and b"1 passed" in done.stdout


def test_from_elsewhere_with_the_interpreter_as_one_types_it(tmp_path: Path) -> None:
    root = write_project(tmp_path / "a project", {"pytest.ini": "[pytest]\n", "tests/test_a.py": IN_PYTEST})
    folder = os.path.dirname(project_python())
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    options = ("run", "-C", "a project", "--python", project_python(), "--format", "agent", "-k", "old_way")
    ran = proctor(*options, cwd=tmp_path, environ=clean_environment(PATH=path, PWD=str(tmp_path)))

    where = f"cd '{root}' && python -m pytest --pdb tests/test_a.py::test_old_way"
    assert debug_lines(ran.out) == [f"debug: {where}"]
    assert "test_old_way :1" in ran.out  # its place, although only frames of the debugger may be left


@pytest.mark.parametrize(
    "options", [("-n", "2"), ("--", "-n2"), ("--", "-s"), ("--", "-p", "no:debugging")], ids=" ".join
)
def test_workers_and_other_ways_to_capture(tmp_path: Path, options: tuple[str, ...]) -> None:
    root = write_project(tmp_path, {"pytest.ini": "[pytest]\n", "tests/test_a.py": IN_PYTEST})
    ran = run_suite(root, "--format", "agent", "-k", "way", *options, PWD=str(root))

    more = "-n0 " if "-n2" in options else ""  # that the project turns on itself
    line = f"debug: {project_python()} -m pytest {more}--pdb tests/test_a.py::test_old_way"
    assert line in debug_lines(ran.out)


def test_a_module_that_stops_when_it_is_imported(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"pytest.ini": "", "sub/test_a.py": "breakpoint()\nx = 1\n"})
    ran = proctor(
        *("run", "--python", project_python(), "--format", "agent"),
        cwd=root / "sub",
        environ=clean_environment(PWD=str(root / "sub")),
    )

    assert ran.code == 1
    assert debug_lines(ran.out) == [f"debug: {project_python()} -m pytest --pdb test_a.py"]


@pytest.mark.parametrize("version", ["3.7", "3.13"])
def test_unittest_has_a_command_of_its_own(tmp_path: Path, version: str) -> None:
    if version not in interpreters():
        pytest.skip(f"no interpreter for Python {version}")
    python = interpreters()[version]
    root = write_project(tmp_path, {"tests/__init__.py": "", "tests/test_a.py": IN_UNITTEST})
    ran = run_suite(root, "--runner", "unittest", "--format", "agent", python=python, PWD=str(root))

    assert ran.code == 1
    assert debug_lines(ran.out) == [f"debug: {python} -m unittest tests.test_a.T.test_stops"]


def test_an_old_pytest_too(tmp_path: Path) -> None:
    if "3.7" not in interpreters():
        pytest.skip("no interpreter for Python 3.7")
    python = environment(interpreters()["3.7"], ["pytest==6.2.5", "pytest-cov==4.1.0"])
    root = write_project(tmp_path, {"pytest.ini": "[pytest]\n", "tests/test_a.py": IN_PYTEST})
    ran = run_suite(root, "--format", "agent", python=python, PWD=str(root))

    assert debug_lines(ran.out)[0].startswith(f"debug: {python} -m pytest --pdb ")


def test_other_errors_have_no_such_line(tmp_path: Path) -> None:
    tests = """
        import sys
        def test_a(): open("/nowhere")
        def test_b(): sys.exit(1)
        def test_c(): raise EOFError
    """
    ran = run_suite(write_project(tmp_path, {"test_a.py": tests}), "--format", "human", python=sys.executable)

    assert ran.code == 1
    assert debug_lines(ran.out) == []

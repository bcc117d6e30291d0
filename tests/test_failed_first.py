"""`--failed-first`: what failed when it last ran begins before everything else, and all of it runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support.inject import Version, each_version
from support.projects import document_of, environment, interpreters, outcomes, run_suite, write_project

WRITES = """
import os
import sys
def ran(name):
    with open(os.environ["RAN"], "a") as file:
        file.write(name + "\\n")
"""
SUITE = {
    "conftest.py": WRITES,
    "pytest.ini": "[pytest]\npythonpath = .\n",
    "test_a.py": """
        from conftest import ran
        def test_one(): ran("a1")
        def test_two(): ran("a2"); assert 0
        """,
    "test_b.py": """
        from conftest import ran
        def test_one(): ran("b1")
        def test_two(): ran("b2"); assert 0
        def test_three(): ran("b3")
        """,
}
UNITTEST = {
    "noted.py": WRITES,
    "test_a.py": """
        import unittest
        from noted import ran
        class First(unittest.TestCase):
            @classmethod
            def setUpClass(cls): cls.ready = True
            def test_1(self): ran("a1"); assert self.ready
            def test_2(self): ran("a2"); assert self.ready and 0
        """,
    "test_b.py": """
        import unittest
        from noted import ran
        class Second(unittest.TestCase):
            def test_1(self): ran("b1")
            def test_2(self): self.fail("b2")
        """,
}


def order(root: Path, *arguments: str, python: str = "") -> list[str]:
    """What ran, in that order."""
    log = root / "ran.txt"
    log.unlink(missing_ok=True)
    document_of(root, *arguments, python=python, RAN=str(log))
    return log.read_text().split()


@each_version
def test_what_failed_last_runs_first_and_then_the_rest(version: Version, tmp_path: Path) -> None:
    root, python = write_project(tmp_path, SUITE), version.interpreter()

    assert order(root, python=python) == ["a1", "a2", "b1", "b2", "b3"]
    assert order(root, "--failed-first", python=python) == ["a2", "b2", "a1", "b1", "b3"]


def test_an_old_pytest_knows_it_too(tmp_path: Path) -> None:
    if "3.8" not in interpreters():
        pytest.skip("no Python 3.8")
    python = environment(interpreters()["3.8"], ["pytest==6.2.5"])
    root = write_project(tmp_path, {**SUITE, "pytest.ini": "[pytest]\n"})
    order(root, python=python)

    assert order(root, "--ff", python=python) == ["a2", "b2", "a1", "b1", "b3"]


def test_all_tests_of_a_file_that_could_not_be_collected_come_first(tmp_path: Path) -> None:
    root = write_project(tmp_path, {**SUITE, "test_b.py": "import nowhere\n"})
    order(root, "--", "--continue-on-collection-errors")
    write_project(root, SUITE)

    assert order(root, "--failed-first") == ["a2", "b1", "b2", "b3", "a1"]


def test_from_a_directory_below_the_root_of_pytest(tmp_path: Path) -> None:
    root = write_project(tmp_path, {**SUITE, "sub/test_c.py": SUITE["test_b.py"]})
    order(root / "sub")

    assert order(root / "sub", "--failed-first") == ["b2", "b1", "b3"]


def test_workers_of_xdist_get_the_tests_in_that_order(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)
    order(root)

    found = document_of(root, "--failed-first", "-n", "2", "--parallel", "xdist", RAN=os.devnull)

    names = [test["node_id"] for test in found["tests"]]
    assert names[:2] == ["test_a.py::test_two", "test_b.py::test_two"]
    assert len(names) == 5


@pytest.mark.parametrize("way", [("--isolate",), ("-n", "2")], ids=str)
def test_every_way_to_run_tests_has_it(tmp_path: Path, way: tuple[str, ...]) -> None:
    root = write_project(tmp_path, SUITE)
    order(root)

    found = order(root, "--failed-first", *way)

    assert sorted(found) == ["a1", "a2", "b1", "b2", "b3"]
    assert set(found[:2]) == {"a2", "b2"}


def test_a_group_by_a_mark_is_not_divided(tmp_path: Path) -> None:
    files = {
        "pytest.ini": "[pytest]\nmarkers = xdist_group\n",
        "test_a.py": """
            import os, pytest
            pytestmark = pytest.mark.xdist_group("db")
            def test_one(): print(os.getpid())
            def test_two(): print(os.getpid()); assert 0
            """,
        "test_b.py": "import os\ndef test_one(): print(os.getpid())\n",
    }
    root = write_project(tmp_path, files)
    document_of(root)

    found = document_of(root, "--failed-first", "-n", "2")

    workers = {test["node_id"]: test["worker"] for test in found["tests"]}
    assert workers["test_a.py::test_one"] == workers["test_a.py::test_two"]
    assert next(iter(workers)) == "test_a.py::test_two"


def test_after_a_crash_the_tests_that_are_left_keep_the_order(tmp_path: Path) -> None:
    crash = SUITE["test_a.py"].replace("assert 0", "import os; os.abort()")
    root = write_project(tmp_path, {**SUITE, "test_a.py": crash})
    order(root)

    assert order(root, "--failed-first") == ["a2", "b2", "a1", "b1", "b3"]


def test_it_comes_after_plugins_that_sort(tmp_path: Path) -> None:
    python = environment(sys.executable, ["pytest==8.4.2", "pytest-randomly", "pytest-order"])
    first = SUITE["test_b.py"].replace(
        "def test_three", "import pytest\n@pytest.mark.order(1)\ndef test_three"
    )
    first = "\n".join(line.removeprefix("        ") for line in first.splitlines())
    root = write_project(tmp_path, {**SUITE, "test_b.py": first.replace("        @", "@")})
    order(root, python=python)

    found = order(root, "--failed-first", "--seed", "3", python=python)

    assert set(found[:2]) == {"a2", "b2"}
    assert sorted(found) == ["a1", "a2", "b1", "b2", "b3"]


@pytest.mark.parametrize("way", [(), ("-n", "2"), ("--isolate",)], ids=str)
def test_unittest_has_it_with_its_fixtures(tmp_path: Path, way: tuple[str, ...]) -> None:
    root = write_project(tmp_path, UNITTEST)
    before = document_of(root, "--runner", "unittest", RAN=os.devnull)

    found = order(root, "--runner", "unittest", "--failed-first", *way)
    again = document_of(root, "--runner", "unittest", "--failed-first", *way, RAN=os.devnull)

    assert found[0] == "a2"
    assert sorted(found) == ["a1", "a2", "b1"]
    assert outcomes(again) == outcomes(before)


def test_programs_start_in_that_order(tmp_path: Path) -> None:
    programs = [("one", "exit 0"), ("two", "exit 1"), ("three", "exit 0")]
    for name, end in programs:
        path = write_project(tmp_path, {f"t/{name}": f"#!/bin/sh\necho {name} >> $RAN\n{end}\n"}) / "t" / name
        path.chmod(0o755)
    order(tmp_path, "--runner", "command", "t")

    assert order(tmp_path, "--runner", "command", "--failed-first", "t") == ["two", "one", "three"]
    assert order(tmp_path, "--runner", "command", "--last-failed", "t") == ["two"]


def test_without_failures_a_note_says_so_and_the_order_is_the_usual_one(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_a(): pass\n"})

    ran = run_suite(root, "--failed-first", "--format", "agent")

    assert ran.err == "proctor: no recorded failures: the tests run in their usual order\n"
    assert ran.out == "1 passed\n"


def test_a_runner_that_decides_for_itself_refuses_it(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"t/a.t": "#!/bin/sh\necho 1..0\n"})

    ran = run_suite(root, "--runner", "tap", "--failed-first")

    assert ran.code == 4
    assert "--failed-first: tap has no such option; it is for pytest, unittest, command" in ran.err

"""`--exitfirst-new`: the run stops at the first failure of a test that passed before, and at no other."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.inject import Version, each_version
from support.projects import document_of, outcomes, run_suite, write_project

#: What comes after the new failure takes so long that only an end of the run can keep it from passing.
HANGS = "    import time\n    time.sleep(600)\n"
GREEN = """
def test_a_old(): assert 0
def test_b_new(): pass
def test_c_quick(): pass
def test_d_slow():
    pass
"""
RED = GREEN.replace("def test_b_new(): pass", "def test_b_new(): assert 0").replace("    pass\n", HANGS)
GUARD = ("--timeout", "120")
OLD = "test_a.py::test_old"


def repository(root: Path) -> Path:
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "one")):
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=root, check=True, stdin=subprocess.DEVNULL)
    return root


def stopped(root: Path, *arguments: str, python: str = "") -> dict[str, Any]:
    """The document of a run that stops."""
    ran = run_suite(root, "--format", "json", "--exitfirst-new", *GUARD, *arguments, python=python)
    document = ran.document
    assert (document["outcome"], ran.code) == ("failed", 1)
    assert document["reason"] == "stopped at the first new failure"
    return document


@each_version
def test_pytest_stops_at_a_test_that_passed_before_and_not_at_one_that_failed(
    version: Version, tmp_path: Path
) -> None:
    root, python = write_project(tmp_path, {"test_a.py": GREEN}), version.interpreter()
    document_of(repository(root), python=python)
    write_project(root, {"test_a.py": RED})

    document = stopped(root, python=python)

    found = outcomes(document)
    assert found.pop("test_a.py::test_c_quick", "passed") == "passed"  # it may be over before
    assert found == {"test_a.py::test_a_old": "failed", "test_a.py::test_b_new": "failed"}
    assert "test_a.py::test_d_slow" in document["not_run"]


@pytest.mark.parametrize(
    "way", [("-n", "2"), ("--isolate",), ("-n", "2", "--parallel", "xdist"), ("--retries", "1")], ids=str
)
def test_every_way_to_run_tests_stops(tmp_path: Path, way: tuple[str, ...]) -> None:
    files = {
        "test_a.py": "def test_old(): assert 0\n",
        "test_b.py": "def test_new(): pass\n",
        "test_c.py": "def test_slow():\n    pass\n",
    }
    root = write_project(tmp_path, files)
    document_of(root)
    # With a retry, the others have run before the test fails for the last time.
    slow = files["test_c.py"] if way[0] == "--retries" else files["test_c.py"].replace("    pass\n", HANGS)
    write_project(root, {"test_b.py": "def test_new(): assert 0\n", "test_c.py": slow})

    document = document_of(root, "--exitfirst-new", *GUARD, *way)

    assert document["outcome"] == "failed"
    assert outcomes(document)["test_b.py::test_new"] == "failed"
    if way[0] == "--retries":
        assert document["not_run"] == []
    else:  # a worker may have been at the old failure when the new one came
        assert {"test_c.py::test_slow"} <= set(document["not_run"]) <= {"test_c.py::test_slow", OLD}


@pytest.mark.parametrize("way", [(), ("-n", "2")], ids=str)
def test_unittest_stops(tmp_path: Path, way: tuple[str, ...]) -> None:
    green = {
        "test_a.py": "import unittest\nclass A(unittest.TestCase):\n    def test_new(self): pass\n",
        "test_b.py": "import unittest\nclass B(unittest.TestCase):\n    def test_slow(self):\n        pass\n",
    }
    root = write_project(tmp_path, green)
    document_of(root, "--runner", "unittest")
    slow = green["test_b.py"].replace("        pass\n", "        import time; time.sleep(600)\n")
    write_project(root, {"test_a.py": green["test_a.py"].replace("pass", "assert 0"), "test_b.py": slow})

    document = stopped(root, "--runner", "unittest", *way)

    assert outcomes(document) == {"test_a.py::A::test_new": "failed"}
    assert document["not_run"] == ["test_b.py::B::test_slow"]


def test_programs_that_have_not_begun_are_not_run(tmp_path: Path) -> None:
    def write(ends: list[int]) -> None:
        for name, end in zip(("a", "b", "c"), ends, strict=True):
            write_project(tmp_path, {f"t/{name}": f"#!/bin/sh\nexit {end}\n"})
            (tmp_path / "t" / name).chmod(0o755)

    write([1, 0, 0])
    document_of(tmp_path, "--runner", "command", "t")
    write([1, 1, 0])

    document = document_of(tmp_path, "--runner", "command", "--exitfirst-new", "t")

    assert outcomes(document) == {"/t/a": "failed", "/t/b": "failed"}
    assert document["not_run"] == ["/t/c"]
    assert document["outcome"] == "failed"


def test_failures_without_an_earlier_result_and_flaky_ones_do_not_stop_a_run(tmp_path: Path) -> None:
    files = {
        "test_a.py": """
            import os, pathlib
            marker = pathlib.Path(os.environ["MARKER"])
            def test_flaky(): assert marker.exists()
            def test_last(): pass
            """
    }
    root, marker = write_project(tmp_path / "project", files), tmp_path / "marker"
    (root / ".gitignore").write_text("__pycache__\n")
    repository(root)
    for there in (True, False, True):
        marker.touch() if there else marker.unlink()
        document_of(root, MARKER=str(marker))
    marker.unlink()

    flaky = document_of(root, "--exitfirst-new", MARKER=str(marker))
    write_project(root, {"test_0.py": "def test_unknown(): assert 0\n"})
    unknown = document_of(root, "--exitfirst-new", "test_0.py", "test_a.py::test_last", MARKER=str(marker))

    assert outcomes(flaky) == {"test_a.py::test_flaky": "failed", "test_a.py::test_last": "passed"}
    assert outcomes(unknown) == {"test_0.py::test_unknown": "failed", "test_a.py::test_last": "passed"}


def test_a_failure_in_quarantine_does_not_stop_a_run(tmp_path: Path) -> None:
    green = "def test_a(): pass\ndef test_b(): pass\n"
    root = write_project(
        tmp_path, {"test_a.py": green, "proctor.toml": 'quarantine = [{test = "*test_a"}]\n'}
    )
    document_of(root)
    write_project(root, {"test_a.py": green.replace("pass", "assert 0", 1)})

    assert document_of(root, "--exitfirst-new")["not_run"] == []


def test_the_last_test_that_fails_leaves_the_session_its_end(tmp_path: Path) -> None:
    conftest = "def pytest_sessionfinish():\n    import time\n    time.sleep(0.5)\n    open('ended', 'w')\n"
    root = write_project(tmp_path, {"conftest.py": conftest, "test_a.py": "def test_a(): pass\n"})
    document_of(root)
    (root / "ended").unlink()
    write_project(root, {"test_a.py": "def test_a(): assert 0\n"})

    document = document_of(root, "--exitfirst-new")

    assert (document["outcome"], document["reason"]) == ("failed", "")
    assert (root / "ended").exists()


def test_other_suites_are_not_begun(tmp_path: Path) -> None:
    green = {"test_a.py": "def test_a(): pass\n", "t/b.t": "#!/bin/sh\necho 1..1\necho ok 1 - b\n"}
    root = write_project(tmp_path, green)
    (root / "t" / "b.t").chmod(0o755)
    assert len(document_of(root, "--runner", "pytest,tap")["tests"]) == 2
    write_project(root, {"test_a.py": "def test_a(): assert 0\n"})

    document = document_of(root, "--runner", "pytest,tap", "--exitfirst-new")

    assert list(outcomes(document)) == ["test_a.py::test_a"]
    assert "suites that were not run: t/b.t" in document["notices"]


def test_without_a_history_it_is_refused(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_a(): pass\n"})

    ran = run_suite(root, "--exitfirst-new", "--no-history")

    assert ran.code == 4
    assert "--exitfirst-new compares with earlier runs, and --no-history turns it off" in ran.err

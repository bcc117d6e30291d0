"""`proctor plan`: one list of all tests, divided; what cannot be listed is never left out in silence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from support.projects import (
    GUARD,
    clean_environment,
    command,
    proctor,
    project_python,
    run_suite,
    write_project,
)
from support.repositories import git, new_repository
from support.shards import PLAN, plan, planned

SUITE = {
    "test_a.py": "def test_1(): pass\ndef test_2(): pass\n",
    "test_b.py": """
        import pytest
        @pytest.mark.xdist_group("db")
        def test_1(): pass
        def test_2(): pass
        """,
    "test_c.py": """
        import pytest
        pytestmark = pytest.mark.xdist_group(name="db")
        def test_1(): pass
        """,
    "test_d.py": "def test_1(): pass\n",
}


def _tests(path: Path) -> list[list[str]]:
    return [shard["tests"] for shard in json.loads(path.read_text())["shards"]]


def test_a_plan_has_every_test_once_by_file_and_mark_and_is_the_same_each_time(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "project", SUITE)

    first = plan(root, 2, "--", "-p", "no:cacheprovider")
    written = (root / PLAN).read_bytes()
    to_stdout = proctor(
        *("plan", "-C", str(root), "--python", project_python(), "--shards", "2"),
        *("--", "-p", "no:cacheprovider"),
        cwd=tmp_path,
        environ=clean_environment(),
    )

    assert first.err == ("proctor: 6 tests in 2 shards: divided by number, because no times are known\n")
    found: dict[str, Any] = json.loads(written)
    assert [shard["tests"] for shard in found["shards"]] == [
        ["test_b.py::test_1", "test_b.py::test_2", "test_c.py::test_1"],
        ["test_a.py::test_1", "test_a.py::test_2", "test_d.py::test_1"],
    ]
    assert found["commit"] == git(root, "rev-parse", "HEAD")
    assert found["fingerprint"].startswith("cpython 3.")
    again = json.loads(to_stdout.out)
    assert {**again, "tree": ""} == {**found, "tree": ""}  # PLAN itself is a new file
    assert first.out == ""


def test_times_come_from_reports_or_from_earlier_runs(tmp_path: Path) -> None:
    """The project is below pytest's root, so that ids and paths differ."""
    root = write_project(
        tmp_path,
        {
            "pytest.ini": "[pytest]\n",
            "in/test_a.py": "import time\ndef test_1(): time.sleep(0.4)\n",
            "in/test_b.py": "def test_1(): pass\ndef test_2(): pass\n",
            "in/test_c.py": "def test_1(): pass\ndef test_2(): pass\n",
        },
    )
    command = [project_python(), "-m", "pytest", "-q", "--junitxml=junit.xml", "in"]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    by_report = plan(root / "in", 2, "--timings", "../junit.xml")
    reported = _tests(root / "in" / PLAN)
    run_suite(root / "in", XDG_STATE_HOME=str(tmp_path / "state"))
    by_history = plan(root / "in", 2, XDG_STATE_HOME=str(tmp_path / "state"))

    assert "5 of 5 tests have a time in the reports" in by_report.err
    assert "divided by the times of earlier runs" in by_history.err
    assert sorted(map(len, reported)) == sorted(map(len, _tests(root / "in" / PLAN))) == [1, 4]
    assert ["in/test_a.py::test_1"] in reported


def test_without_every_test_there_is_no_plan(tmp_path: Path) -> None:
    root = write_project(tmp_path, {**SUITE, "test_e.py": "import not_there\n"})

    broken = plan(root, 2)
    nothing = plan(root, 2, "-k", "nothing_like_it", "test_a.py")

    assert (broken.code, nothing.code) == (1, 5)
    assert (
        "the tests cannot be listed: test_e.py: ModuleNotFoundError: No module named 'not_there'"
        in broken.err
    )
    assert "the tests cannot be listed: no tests found" in nothing.err
    assert not (root / PLAN).exists()


def test_a_suite_that_cannot_be_listed_here_is_named(tmp_path: Path) -> None:
    files = {
        **SUITE,
        "package.json": '{"name": "x", "scripts": {"test": "node --test"}}',
        "a.test.js": "require('node:test')('adds', () => {});",
    }
    root = write_project(tmp_path / "project", files)

    lenient = plan(root, 2, PATH="/nowhere")
    strict = plan(root, 2, "--strict-suites", PATH="/nowhere")

    assert lenient.code == 0
    assert "not in the plan: node: not run: no node on PATH" in lenient.err
    assert strict.code == 2
    assert "the tests cannot be listed: node: not run: no node on PATH" in strict.err


def test_tests_that_are_known_only_when_they_run_cannot_be_planned(tmp_path: Path) -> None:
    root = write_project(tmp_path, {**SUITE, "t/basic.t": "print qq(1..1\\nok 1\\n);\n"})

    refused = plan(root, 2)
    without = plan(root, 2, "--runner", "pytest")

    assert refused.code == 4
    assert "the tests of t/basic.t are not known before they run" in refused.err
    assert without.code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--shards", "0"), "invalid --shards 0: expected 1 to 100000"),
        (("--shards", "100001"), "invalid --shards 100001"),
        ((), "--shards"),
        (("--shards", "2", "-o", "none/plan.json"), "-o none/plan.json: no such directory: none"),
        (("--shards", "2", "-o", "."), "-o . is a directory: expected a file"),
        (("--shards", "2", "--timings", "none.xml"), "--timings none.xml cannot be read: No such file"),
        (("--shards", "2", "--timings", "test_a.py"), "cannot tell the format of test_a.py"),
        (("--shards", "2", "test_none.py"), "test_none.py"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_before_anything_is_listed(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    write_project(tmp_path, SUITE)

    refused = proctor("plan", *arguments, cwd=tmp_path)

    assert refused.code == 4
    assert message in refused.err
    assert not (tmp_path / ".pytest_cache").exists()


def test_a_plan_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": "def test_1(): pass\n"})
    (tmp_path / PLAN).symlink_to("/dev/full")

    refused = plan(tmp_path, 2)

    assert refused.code == 3
    assert "plan.json could not be written: No space left on device" in refused.err


def test_who_interrupts_the_list_gets_no_plan(tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    suite = f"import time\nopen({str(reached)!r}, 'w').close()\ntime.sleep({GUARD})\n"
    write_project(tmp_path, {"test_a.py": suite})
    arguments = ("plan", "--python", project_python(), "--shards", "2", "-o", PLAN)
    process = subprocess.Popen(
        command(*arguments), cwd=tmp_path, env=clean_environment(), stderr=subprocess.PIPE, text=True
    )
    limit = time.monotonic() + GUARD
    while not reached.exists() and time.monotonic() < limit:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)

    _, said = process.communicate(timeout=GUARD)

    assert process.returncode == 2
    assert "the tests were not listed: interrupted" in said
    assert not (tmp_path / PLAN).exists()


def test_the_plan_remembers_what_was_asked_for(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)

    path = planned(
        root, 2, "--runner", "pytest", "test_a.py", "test_b.py", "-k", "test_1", "--", "-p", "no:doctest"
    )

    found = json.loads(path.read_text())
    assert found["selection"] == {"targets": ["test_a.py", "test_b.py"], "keywords": "test_1"}
    assert (found["runner"], found["arguments"], found["arguments_for"]) == (
        "pytest",
        ["-p", "no:doctest"],
        "pytest",
    )
    assert _tests(path) == [["test_a.py::test_1"], ["test_b.py::test_1"]]

"""What earlier runs took decides which tests workers begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.projects import clean_environment, document_of, write_project

from proctor.history.usual_times import usual_times

NOTES = """
import os, time, unittest
def note(name):
    with open("ran.txt", "a") as file:
        file.write("%d %s\\n" % (os.getpid(), name))
"""
SLOW = """
from notes import note, time, unittest
class Slow(unittest.TestCase):
    def test_slow(self):
        note("slow")
        time.sleep(0.2)
"""
QUICK = "from notes import note, unittest\nclass Quick(unittest.TestCase):\n"
QUICK += "".join(f"    def test_{number}(self): note('quick')\n" for number in range(5))
SUITE = {"notes.py": NOTES, "test_a.py": QUICK, "test_b.py": QUICK, "test_slow.py": SLOW}


def test_the_times_of_tests_that_are_not_short_are_known(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)
    assert usual_times(root, clean_environment()) == ({}, 0.0)
    document_of(root)

    seconds, usual = usual_times(root, clean_environment())

    assert seconds.keys() == {"test_slow.py::Slow::test_slow"}
    assert 0.2 <= seconds["test_slow.py::Slow::test_slow"] < 10
    assert 0 < usual < 0.01


def test_a_project_below_has_the_times_by_its_own_targets(tmp_path: Path) -> None:
    root = write_project(
        tmp_path, {"pytest.ini": "[pytest]\n", "sub/notes.py": NOTES, "sub/test_slow.py": SLOW}
    )
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    document_of(root)

    assert usual_times(root / "sub", clean_environment())[0].keys() == {"test_slow.py::Slow::test_slow"}


def test_the_runs_of_another_project_in_the_repository_hide_no_times(tmp_path: Path) -> None:
    files = {"a/notes.py": NOTES, "a/test_slow.py": SLOW, "b/test_b.py": "def test_b(): pass\n"}
    root = write_project(tmp_path, files)
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    document_of(root / "a")
    document_of(root / "b")

    assert usual_times(root / "a", clean_environment())[0].keys() == {"test_slow.py::Slow::test_slow"}
    assert "../b/test_b.py::test_b" not in usual_times(root / "a", clean_environment())[0]


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_workers_begin_with_what_takes_longest(tmp_path: Path, runner: str) -> None:
    root = write_project(tmp_path, SUITE)

    def begins_with_slow(*arguments: str) -> bool:
        """Whether the worker that ran the slow test had run no other."""
        log = root / "ran.txt"
        log.unlink(missing_ok=True)
        assert document_of(root, "--runner", runner, "-n", "2", *arguments)["outcome"] == "passed"
        ran = [line.split() for line in log.read_text().splitlines()]
        slow = next(process for process, name in ran if name == "slow")
        assert len(ran) == 11
        return next(name for process, name in ran if process == slow) == "slow"

    assert not begins_with_slow()
    assert begins_with_slow()
    assert not begins_with_slow("--no-history")

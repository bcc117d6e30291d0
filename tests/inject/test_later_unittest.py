"""A later session of unittest, its limit of failures, and the exit status that its tests explain."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.projects import write_project
from support.sessions import only, unittest_session

from proctor import events as e

SOURCE = """
    import unittest

    made = []

    def setUpModule(): made.append("module")

    class First(unittest.TestCase):
        @classmethod
        def setUpClass(cls): made.append("class")
        def test_a(self): pass
        def test_b(self): self.assertEqual(made, ["module", "class"])
        def test_c(self): self.fail("no")

    class Second(unittest.TestCase):
        def test_a(self): self.fail("no")
        def test_b(self): self.fail("no")

    def load_tests(loader, tests, pattern):
        tests.addTest(First("test_a"))  # a second time
        return tests
"""
FIRST = [f"test_u.py::First::test_{name}" for name in ("a", "b", "c")]
SECOND = [f"test_u.py::Second::test_{name}" for name in "ab"]
TWICE = f"{FIRST[0]}#2"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_project(tmp_path, {"test_u.py": SOURCE})


def test_it_runs_the_tests_that_it_is_asked_for_with_their_fixtures(root: Path) -> None:
    assert unittest_session(root).tests == [*FIRST, *SECOND, TWICE]

    again = unittest_session(root, asked={"only": only(root, [FIRST[1], TWICE, "gone"]), "session": 2})

    assert again.tests == [FIRST[1], TWICE]
    assert again.of(e.TestsDeselected) == []
    assert {event.outcome for event in again.of(e.TestFinished)} == {"passed"}
    assert (again.finished.exit_status, again.finished.by_tests) == (0, 0)


@pytest.mark.parametrize(
    "asked, arguments, begun",
    [
        ({"maxfail": 2}, ["--maxfail=1"], [*FIRST, SECOND[0]]),
        ({"quarantine": ["*::First::test_?"]}, ["--maxfail=1"], [*FIRST, SECOND[0]]),
        ({"quarantine": [*FIRST, SECOND[0]]}, ["--maxfail=1"], [*FIRST, *SECOND]),
        ({"quarantine": ["*"]}, ["--maxfail=1"], [*FIRST, *SECOND, TWICE]),
    ],
)
def test_the_limit_of_failures(
    root: Path, asked: dict[str, object], arguments: list[str], begun: list[str]
) -> None:
    heard = unittest_session(root, *arguments, asked=asked)

    assert heard.tests == begun
    assert [described.maxfail for described in heard.of(e.SuiteDescribed)] == [asked.get("maxfail", 1)]
    assert (heard.finished.exit_status, heard.finished.by_tests) == (1, 1)


@pytest.mark.parametrize(
    "source, status, by_tests",
    [
        ("raise ImportError('no')\n", 1, 1),
        ("", 5, 5),
        (
            "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): raise KeyboardInterrupt\n",
            2,
            None,
        ),
    ],
    ids=["import", "nothing", "interrupt"],
)
def test_the_status_that_the_tests_explain(
    tmp_path: Path, source: str, status: int, by_tests: int | None
) -> None:
    finished = unittest_session(write_project(tmp_path, {"test_u.py": source})).finished

    assert (finished.exit_status, finished.by_tests) == (status, by_tests)


def test_a_target_that_is_not_there_is_not_explained_by_tests(root: Path) -> None:
    finished = unittest_session(root, "test_u.py::Gone").finished

    assert (finished.exit_status, finished.by_tests) == (4, None)

"""Which of the injected files a run loads, and what it reports if it cannot load one."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import pytest
from support.projects import document_of, run_suite, write_project

import proctor_pytest

LOADED = """
import atexit, gc, os, types
def injected():
    modules = [thing for thing in gc.get_objects() if type(thing) is types.ModuleType]
    files = [getattr(module, "__file__", None) or "" for module in modules]
    names = sorted({os.path.basename(file) for file in files if "/proctor/inject/" in file})
    with open("loaded.txt", "w") as file:
        file.write(" ".join(names))
atexit.register(injected)
"""
AT_START = {"_proctor_injected_load.py", "proctor_channel.py"}
PYTEST = AT_START | {"proctor_pytest.py", "pytest_phases.py"}
UNITTEST = AT_START | {"proctor_unittest.py", "unittest_loading.py", "unittest_result.py"}
FAILURES = {"proctor_exceptions.py", "proctor_locals.py", "proctor_difference.py"}
PYTEST_TEST = "def test_a(): assert {0} == 1\n"
UNITTEST_TEST = """
import unittest
class Case(unittest.TestCase):
    def test_a(self): self.assertEqual({0}, 1)
"""


@pytest.mark.parametrize(
    ("runner", "source", "usual", "failures"),
    [
        ("pytest", PYTEST_TEST, PYTEST, FAILURES | {"pytest_failures.py", "proctor_status.py"}),
        ("unittest", UNITTEST_TEST, UNITTEST, FAILURES | {"unittest_failures.py"}),
    ],
    ids=["pytest", "unittest"],
)
def test_what_knows_failures_is_loaded_at_the_first_failure(
    tmp_path: Path, runner: str, source: str, usual: set[str], failures: set[str]
) -> None:
    write_project(tmp_path, {"watch.py": LOADED, "test_a.py": "import watch\n" + source.format(1)})
    run_suite(tmp_path, "--runner", runner)
    passing = loaded(tmp_path)
    (tmp_path / "test_a.py").write_text("import watch\n" + source.format(12))
    run_suite(tmp_path, "--runner", runner)

    assert passing == usual
    assert loaded(tmp_path) == usual | failures


def loaded(root: Path) -> set[str]:
    return set((root / "loaded.txt").read_text().split())


ALL_DESCRIPTORS = """
import os, resource
def exhaust():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    try:
        while True: os.dup(1)
    except OSError:
        pass
"""
EXHAUSTED = {
    "pytest": "import full\ndef test_a(): full.exhaust(); raise KeyError('gone')\ndef test_b(): pass\n",
    "unittest": """
        import full, unittest
        class Case(unittest.TestCase):
            def test_a(self): full.exhaust(); raise KeyError('gone')
            def test_b(self): pass
        """,
}


@pytest.mark.parametrize("runner", EXHAUSTED)
def test_a_failure_is_reported_though_no_file_can_be_opened(tmp_path: Path, runner: str) -> None:
    quiet = "[pytest]\naddopts = -p no:hypothesispytest\n"  # it opens files when a session ends
    write_project(tmp_path, {"full.py": ALL_DESCRIPTORS, "test_a.py": EXHAUSTED[runner], "pytest.ini": quiet})

    document = document_of(tmp_path, "--runner", runner, python=sys.executable)

    assert [test["outcome"] for test in document["tests"]] == ["failed", "passed"]
    assert "KeyError: 'gone'" in document["tests"][0]["traceback"]
    assert document["outcome"] == "failed"


def test_modules_that_a_test_replaces_are_not_those_of_the_reporter(tmp_path: Path) -> None:
    """Libraries that fake a file system put another `os` in the place of the real one while a test runs."""
    write_project(
        tmp_path,
        {
            "test_a.py": """
            import sys, types, pytest
            @pytest.fixture
            def empty(monkeypatch):
                path = types.SimpleNamespace(isfile=lambda path: False)
                monkeypatch.setitem(sys.modules, "os", types.SimpleNamespace(path=path))
            def test_a(empty): assert 0
            def test_b(): assert 0
            """
        },
    )

    document = document_of(tmp_path)

    assert [test["failure"]["place"]["line"] for test in document["tests"]] == [6, 7]


def test_what_the_interpreter_keeps_for_a_fork_leads_to_no_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function leads to its module and on to pytest: the collector would visit all that at every exit."""
    kept: list[Callable[[], None]] = []
    monkeypatch.setattr(os, "register_at_fork", lambda after_in_child: kept.append(after_in_child))
    reader, writer = os.pipe()
    channel = proctor_pytest._load("proctor_channel").Channel(writer)
    fd = channel.fd
    try:
        (after_fork,) = kept
        assert [thing for thing in reached_from(after_fork) if isinstance(thing, FunctionType)] == []

        channel.held = "x"
        after_fork()
        assert (channel.fd, channel.held) == (-1, "")
    finally:
        os.close(fd)
        os.close(reader)


def reached_from(thing: object) -> list[object]:
    """Everything that this keeps alive; what its type does is for the interpreter."""
    known, left = {id(thing): thing}, [thing]
    while left:
        for found in gc.get_referents(left.pop()):
            if id(found) not in known and not isinstance(found, type):
                known[id(found)] = found
                left.append(found)
    return list(known.values())

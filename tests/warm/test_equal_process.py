"""A test that looks at its process sees the same, whether that was started for it or waited for it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.projects import clean_environment, write_project
from support.warm import Counted, Document, cold, differences, planned, refused, standbys, warm
from test_versions import PLUGIN, Version

from proctor.plan_run import RunPlan

PROJECT = Path(__file__).parents[1] / "projects" / "process"


@dataclass(frozen=True)
class Case:
    """Something that a project, its user or its system can do."""

    name: str
    asked: Mapping[str, Any] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    moments: tuple[str, ...] = ("end", "start", "test 1", "test 2")

    def __str__(self) -> str:
        return self.name


def custom(name: str, source: str, module: str = "sitecustomize") -> Case:
    """With a module of the user's own that Python imports before anything else."""
    return Case(f"{module} that {name}", {}, {"PYTHONPATH": "own"}, {f"own/{module}.py": source})


SETS = """
import colorsys, os, sys
os.environ["SET"] = "x"
os.umask(0o27)
sys.setrecursionlimit(999)
"""
WRITES = """
import sys
print("out")
print("err", file=sys.stderr)
"""
ADDS = """
import sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None
sys.meta_path.insert(0, Finder)
sys.path.append("/nowhere")
"""
TRACES = """
import sys
sys.settrace(lambda *facts: None)
"""
BESIDE = """
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
"""

CASES = [
    Case("plainly"),
    Case("quietly", {"arguments": ("-q", "-s")}),
    Case("without plugins", environ={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}),
    Case("with a seed", {"seed": 7}),
    Case("with a memory limit", {"memory": "2G"}),
    Case("with variables", {"environment": {"COLOUR": "red", "COLUMNS": "123", "PATH": "/bin:/usr/bin"}}),
    Case("in two workers", {"workers": "2"}),
    Case("in isolation", {"isolate": True}),
    Case("in workers of xdist", {"workers": "2", "parallel": "xdist"}),
    Case("only collected", {"collect_only": True}, moments=("end", "start")),
    Case("with a safe path", environ={"PYTHONSAFEPATH": "1", "PYTHONPATH": "."}),
    Case("with gaps in the path", environ={"PYTHONPATH": ":own::nowhere:", "PYTHONNOUSERSITE": "1"}),
    Case("with warnings", environ={"PYTHONWARNINGS": "error,ignore::ImportWarning", "PYTHONDEVMODE": "1"}),
    Case("with a locale", environ={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    custom("sets things", SETS),
    custom("adds to imports", ADDS),
]
REFUSED = [
    custom("raises", "raise ValueError('of no use')\n"),
    custom("is not to be found", "raise ImportError('gone', name='sitecustomize')\n"),
    custom("lacks a module", "import nowhere_to_be_found\n"),
    custom("writes", WRITES),
    custom("traces", TRACES),
    custom("starts a thread", BESIDE),
    custom("is there", "", "usercustomize"),
]


@pytest.fixture(scope="module")
def waiting() -> Iterator[Counted]:
    with standbys() as found:
        yield found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_process_that_waited_is_like_any_other(case: Case, tmp_path: Path, waiting: Counted) -> None:
    compare(case, tmp_path, partial(warm, waiting=waiting))


@pytest.mark.parametrize("version", PLUGIN, ids=str)
def test_that_holds_for_every_version(version: Version, tmp_path: Path, waiting: Counted) -> None:
    case = Case(str(version), {"python": version.interpreter()})
    compare(case, tmp_path, partial(warm, waiting=waiting))


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_where_that_is_in_doubt_the_run_starts_cold(case: Case, tmp_path: Path, waiting: Counted) -> None:
    compare(case, tmp_path, partial(refused, waiting=waiting))


def compare(case: Case, home: Path, start: Callable[[RunPlan], Document]) -> None:
    first, expected = observe(case, home, cold)
    second, found = observe(case, home, start)

    assert (*expected,) == (*found,) == case.moments, (first["text_output"], first["stderr"])
    earlier = {*found["start"].pop("loaded")} - {*expected["start"].pop("loaded")}
    for moment in expected:
        for fact in expected[moment]:
            assert found[moment][fact] == expected[moment][fact], (moment, fact)
    assert earlier <= {*expected["start"]["modules"]}  # pytest imports them anyway, a little later
    assert differences(first, second) == []


def observe(case: Case, home: Path, start: Callable[[RunPlan], Document]) -> tuple[Document, dict[str, Any]]:
    """The document of a run in a fresh copy of the project, and what its tests saw."""
    root, seen = home / "project", home / "seen"
    for directory in (root, seen):
        directory.mkdir(exist_ok=True)
        for entry in directory.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    shutil.copytree(PROJECT, root, dirs_exist_ok=True)
    write_project(root, case.files)
    usual = {name: value for name, value in clean_environment().items() if not name.startswith("PYTEST_")}
    environ = {**usual, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", **case.environ}
    document = start(planned(root, environ, **case.asked))
    return document, {file.name: json.loads(file.read_text()) for file in sorted(seen.iterdir())}

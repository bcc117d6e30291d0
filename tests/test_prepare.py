"""From a request to a plan, without starting anything of the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support.projects import write_project

from proctor.config import Settings, TestSettings
from proctor.errors import UsageError
from proctor.prepare import Prepared, prepare
from proctor.spec import RunSpec, Selection

TAP = {"t/a.t": "#!/bin/sh\n", "t/b.t": "#!/bin/sh\n"}
ENVIRON = {"PATH": os.environ["PATH"]}


def plan(root: Path, runner: str = "", *targets: str, settings: Settings | None = None) -> Prepared:
    spec = RunSpec(str(root), runner, Selection(targets))
    return prepare(spec, settings or Settings(), sys.executable, ENVIRON)


def test_a_project_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such directory: .*gone"):
        plan(tmp_path / "gone")


def test_a_runner_that_is_not_known_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no runner 'ruby'; known: pytest, unittest"):
        plan(tmp_path, "pytest,ruby")


def test_each_file_of_tap_is_a_suite_and_the_run_names_its_runner_once(tmp_path: Path) -> None:
    write_project(tmp_path, TAP)
    prepared = plan(tmp_path, "tap")

    assert [suite.name for suite in prepared.suites] == ["t/a.t", "t/b.t"]
    assert (prepared.runner, prepared.interpreter) == ("tap", "")


def test_every_kind_that_a_project_has_is_planned_in_the_order_of_the_table(tmp_path: Path) -> None:
    write_project(tmp_path, {**TAP, "test_a.py": "def test_a(): pass\n"})
    prepared = plan(tmp_path)

    assert prepared.runner == "pytest,tap"
    assert prepared.interpreter == sys.executable


def test_a_target_goes_to_the_runner_that_owns_it_and_others_have_nothing_to_do(tmp_path: Path) -> None:
    write_project(tmp_path, {**TAP, "test_a.py": "def test_a(): pass\n"})

    assert [suite.name for suite in plan(tmp_path, "", "t/b.t").suites] == ["t/b.t"]
    with pytest.raises(UsageError, match=r"'nowhere\.txt' is no test of pytest, tap"):
        plan(tmp_path, "", "nowhere.txt")


def test_a_kind_that_cannot_run_here_is_missing_unless_asked_for(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": "def test_a(): pass\n", "go.mod": "module x\n", "a_test.go": ""})
    environ = {"PATH": ""}
    spec = RunSpec(str(tmp_path))

    prepared = prepare(spec, Settings(), sys.executable, environ)
    assert prepared.runner == "pytest"
    assert [missing.runner for missing in prepared.missing] == ["go"]
    with pytest.raises(UsageError):
        prepare(RunSpec(str(tmp_path), "go"), Settings(), sys.executable, environ)


def test_programs_of_the_settings_are_one_suite(tmp_path: Path) -> None:
    settings = Settings(tests=tuple(TestSettings(name, "true") for name in ("/one", "/two")))
    prepared = plan(tmp_path, "command", settings=settings)

    (suite,) = prepared.suites
    assert [launch.name for launch in suite.launches] == ["/one", "/two"]

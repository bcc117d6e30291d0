"""What a run of all tests of a project would use: runners, interpreter, pytest and its settings. Runs no
tests."""

from __future__ import annotations

import configparser
import shlex
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from proctor import config, prepare
from proctor.config import Settings
from proctor.errors import ProctorError
from proctor.launch import Launch
from proctor.places import user_cache
from proctor.process import interpreter as interpreters
from proctor.process.interpreter import Candidate, Interpreter
from proctor.regular_files import read_text
from proctor.runners import pytest_suite, table
from proctor.spec import RunSpec


class Description(msgspec.Struct):
    root: Path
    runners: tuple[str, ...]
    programs: list[str]  # names of the tests that the settings list
    test_paths: list[str]
    markers: list[str]
    candidates: list[Candidate] = []  # interpreters in the order of the rules; none if no runner needs one
    chosen: Candidate | None = None
    interpreter: Interpreter | None = None
    warm: Launch | None = None  # what a process could begin before it is asked for
    notices: tuple[str, ...] = ()
    problem: ProctorError | None = None  # what would keep the tests from running

    @property
    def pytest(self) -> str | None:
        return self.interpreter.packages.get("pytest") if self.interpreter else None

    @property
    def plugins(self) -> dict[str, str]:
        """Of pytest, by name: their versions."""
        packages = self.interpreter.packages if self.interpreter else {}
        return {name: version for name, version in sorted(packages.items()) if name not in ("pip", "pytest")}

    @property
    def reads_text(self) -> bool:
        """Whether pytest is too old for our plugin, so that its text output is read instead."""
        found, pytest = self.interpreter, self.pytest
        return bool(found and pytest and not pytest_suite.can_load_plugin(found.version, pytest))


def describe(root: Path, settings: Settings, python: str | None, environ: Mapping[str, str]) -> Description:
    own = _pytest_settings(root)
    about = Description(
        root,
        prepare.runners("", root, settings),
        [test.name for test in config.programs(settings)],
        _words(own.get("testpaths", ())),
        [marker.partition(":")[0] for marker in _lines(own.get("markers", ()))],
    )
    try:
        if any(table.RUNNERS[name].package is not None for name in about.runners):
            _find_interpreter(about, python, environ)
        plan = prepare.prepare(RunSpec(str(root)), settings, python, environ)
    except ProctorError as error:
        about.problem = error
        return about
    cannot_run = (f"{one.runner} tests cannot run here: {one.reason}" for one in plan.missing)
    about.notices = (*plan.notices, *cannot_run)
    launches = (launch for suite in plan.suites for launch in suite.launches)
    about.warm = next((launch for launch in launches if launch.ahead is not None), None)
    planned = plan.runner.split(",")
    instead = {name: table.RUNNERS[name].instead for name in about.runners if name not in planned}
    about.runners = tuple(dict.fromkeys(instead.get(name) or name for name in about.runners))
    return about


def _find_interpreter(about: Description, python: str | None, environ: Mapping[str, str]) -> None:
    about.candidates = list(interpreters.candidates(about.root, python, environ, sys.prefix))
    about.chosen = next((candidate for candidate in about.candidates if candidate.usable), None)
    chosen = about.chosen or interpreters.choose(about.root, python, environ, sys.prefix)
    about.interpreter = interpreters.probe(chosen, about.root, environ, user_cache(environ))


def _pytest_settings(root: Path) -> Mapping[str, Any]:
    """From the first file that pytest would read; pytest itself reports a broken one."""
    for name in ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"):
        path = root / name
        if path.is_file():
            try:
                found = _toml(path) if name.endswith(".toml") else _ini(path, name)
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, configparser.Error):
                continue
            if found is not None:
                return found
    return {}


def _toml(path: Path) -> Mapping[str, Any] | None:
    tool = tomllib.loads(read_text(path)).get("tool", {})
    section = tool.get("pytest") if isinstance(tool, dict) else None
    return section.get("ini_options", section) if isinstance(section, dict) else None


def _ini(path: Path, name: str) -> Mapping[str, Any] | None:
    parser = configparser.RawConfigParser()
    parser.read(path, encoding="utf-8")
    section = "tool:pytest" if name == "setup.cfg" else "pytest"
    return dict(parser[section]) if parser.has_section(section) else None


def _lines(value: Any) -> list[str]:
    parts = value.splitlines() if isinstance(value, str) else value
    return [line.strip() for line in map(str, parts) if line.strip()]


def _words(value: Any) -> list[str]:
    return shlex.split(value) if isinstance(value, str) else [str(part) for part in value]

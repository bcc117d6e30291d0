"""The injected files repeat our few words instead of importing them: the copies must agree."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import proctor
from proctor import agent_mode, config, events, failure_row
from proctor.errors import ConfigError
from proctor.process import supervise
from proctor.runners import pytest_suite
from proctor.wire.control import session

INJECT = Path(proctor.__file__).parent / "inject"
PLUGIN = INJECT / "proctor_pytest.py"
SHARED = INJECT / "proctor_reporter.py"
INSTALLED = INJECT.parent.parent / "proctor_pytest.py"
# What runs in other people's interpreters; the last two are ours as well.
ELSEWHERE = [*INJECT.rglob("*.py"), INSTALLED, Path(agent_mode.__file__), Path(failure_row.__file__)]


def constants(path: Path) -> dict[str, Any]:
    """Module-level names with a literal value; those made of others are left out."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def test_the_plugin_and_proctor_use_the_same_words() -> None:
    environment = supervise._with_channel({})
    assert constants(SHARED)["FD_VARIABLE"] in environment
    assert constants(PLUGIN)["PATH_VARIABLE"] == pytest_suite.PATH_VARIABLE
    assert constants(PLUGIN)["LONGEST"] == events.LONGEST
    assert f'"{session.KEY}"' in PLUGIN.read_text()
    assert (INJECT / "path" / f"{pytest_suite.PLUGIN}.py").is_file()
    assert str(INJECT / "path") == pytest_suite.PLUGIN_PATH


def test_the_installed_plugin_stands_down_for_the_injected_one_and_has_the_usual_settings() -> None:
    words = constants(INSTALLED)

    assert words["INJECTED"] == constants(PLUGIN)["INJECTED"] == pytest_suite.PLUGIN
    assert words["SETTINGS"] == {
        "failure_rows": (failure_row.ROWS, 1),
        "failure_length": (failure_row.LENGTH, failure_row.LEAST_LENGTH),
    }


def test_proctor_and_the_plugin_accept_the_same_settings(tmp_path: Path) -> None:
    for name, (_, least) in constants(INSTALLED)["SETTINGS"].items():
        (tmp_path / "proctor.toml").write_text(f"{name} = {least}\n")
        config.load(tmp_path)
        (tmp_path / "proctor.toml").write_text(f"{name} = {least - 1}\n")
        with pytest.raises(ConfigError, match=f"at least {least}"):
            config.load(tmp_path)


def test_every_variable_of_the_channel_is_taken_out_by_the_reporters() -> None:
    source = SHARED.read_text()

    for variable in supervise._with_channel({}):
        assert f'"{variable}"' in source


def test_the_supervisor_places_the_channel_where_proctor_says_it_is() -> None:
    words = constants(Path(supervise.__file__).with_name("supervisor.py"))

    assert words["CONTROL_FD"] == supervise.CONTROL_FD
    assert supervise.CONTROL_FD in range(3, 10)


def test_the_injected_files_import_only_the_standard_library_and_pytest() -> None:
    allowed = {
        "atexit",
        "types",
        "fcntl",
        "fnmatch",
        "functools",
        "heapq",
        "importlib",
        "io",
        "json",
        "os",
        "pytest",
        "re",
        "signal",
        "sys",
    }
    allowed |= {"__future__", "collections", "difflib", "threading", "time", "traceback", "typing"}
    allowed |= {"argparse", "faulthandler", "tempfile", "unittest", "warnings"}
    for path in ELSEWHERE:
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert {name.partition(".")[0] for name in names} <= allowed, path


def test_the_injected_files_are_python_3_7() -> None:
    for path in ELSEWHERE:
        ast.parse(path.read_text(), feature_version=(3, 7))

"""What would be used to test a project, and what pytest's configuration says about it. Starts no tests."""

from __future__ import annotations

import configparser
import shlex
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor import config, prepare
from proctor.config import Settings
from proctor.errors import ProctorError
from proctor.places import user_cache
from proctor.process import interpreter as interpreters
from proctor.runners import pytest_suite

_LISTED = 100  # markers, plugins, programs


def describe(
    root: Path, settings: Settings, python: str | None, environ: Mapping[str, str]
) -> dict[str, Any]:
    own = _pytest_settings(root)
    found = prepare.runners("", root, settings)
    about: dict[str, Any] = {
        "project": str(root),
        "runner": ",".join(found),
        "runners": list(found),
        "programs": [test.name for test in config.programs(settings)][:_LISTED],
        "test_paths": _words(own.get("testpaths", ())),
        "markers": [marker.partition(":")[0] for marker in _lines(own.get("markers", ()))][:_LISTED],
        "problem": None,
    }
    try:
        about |= _interpreter(root, python, environ)
    except ProctorError as error:
        about["problem"] = str(error)
    return about


def _interpreter(root: Path, python: str | None, environ: Mapping[str, str]) -> dict[str, Any]:
    chosen = interpreters.choose(root, python, environ, sys.prefix)
    found = interpreters.probe(chosen, root, environ, user_cache(environ))
    about: dict[str, Any] = {
        "interpreter": {
            "path": found.path,
            "why": found.why,
            "version": ".".join(map(str, found.version)),
        },
        "others": _others(root, found.path, environ),
        "pytest": found.packages.get("pytest"),
        "plugins": {name: v for name, v in sorted(found.packages.items()) if name not in ("pip", "pytest")},
    }
    try:
        pytest = interpreters.require_pytest(found)
    except ProctorError as error:
        return {**about, "problem": str(error)}  # which says how to get one
    if not pytest_suite.can_load_plugin(found.version, pytest):
        about["problem"] = f"pytest {pytest} is too old for the plugin: its text output is read instead"
    return about


def _others(root: Path, chosen: str, environ: Mapping[str, str]) -> list[str]:
    known = interpreters.candidates(root, None, environ, sys.prefix)
    return list(dict.fromkeys(other.path for other in known if other.usable and other.path != chosen))


def _pytest_settings(root: Path) -> Mapping[str, Any]:
    """From the first file that pytest would take; one that cannot be read is for pytest to complain of."""
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
    tool = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
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


def text(about: Mapping[str, Any]) -> str:
    lines = [f"project {about['project']}, runner {about['runner']}"]
    if about["problem"]:
        lines.append(f"problem: {about['problem']}")
    if "interpreter" in about:
        python = about["interpreter"]
        lines.append(f"python {python['version']} {python['path']} ({python['why']})")
        lines.append(f"pytest {about['pytest'] or 'none'}")
        plugins = ", ".join(f"{name} {version}" for name, version in about["plugins"].items())
        lines += [f"plugins: {plugins}"] if plugins else []
        lines += [f"other interpreters: {', '.join(about['others'])}"] if about["others"] else []
    for name in ("test_paths", "markers", "programs"):
        lines += [f"{name}: {', '.join(about[name])}"] if about[name] else []
    return "\n".join(lines) + "\n"

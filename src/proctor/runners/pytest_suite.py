"""Plan a pytest run: the project's own pytest in its own interpreter, with our plugin beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from proctor.errors import UsageError
from proctor.launch import ASKED_VARIABLE, Launch, Session, Text
from proctor.regular_files import read_bytes
from proctor.runners import matching
from proctor.runners.plan import Plan, not_a_target
from proctor.runners.walk import nearest_files
from proctor.spec import Python, RunSpec

PLUGIN = "_proctor_injected_pytest"
TEXT_PLUGIN = "_proctor_injected_text"
PLUGIN_PATH = str(Path(__file__).parent.parent / "inject" / "path")
PATH_VARIABLE = "PROCTOR_PYTHONPATH"
HASH_SEED = "PYTHONHASHSEED"

_OLDEST_PYTHON = (3, 7)
_OLDEST_PYTEST = (6, 2)
_SECTIONS = {"pyproject.toml": b"[tool.pytest", "tox.ini": b"[pytest]", "setup.cfg": b"[tool:pytest]"}
_COLLECTED = re.compile(r"conftest\.py|test_.*\.py|.*_test\.py")
_TEXT_OPTIONS = ("--verbosity=1", "--tb=short", "-rA")  # as a number, so that no `-q` takes it back


def can_load_plugin(python: tuple[int, ...], pytest: str) -> bool:
    """Of older ones the text output is read."""
    numbers = tuple(int(part) for part in re.findall(r"[0-9]+", pytest)[:2])
    return python[:2] >= _OLDEST_PYTHON and numbers >= _OLDEST_PYTEST


def plan(spec: RunSpec, environ: Mapping[str, str], python: Python) -> Plan:
    """Our path comes after the user's own PYTHONPATH, and the plugin takes it out again."""
    if spec.workers and "pytest-xdist" not in python.packages:
        needed = f"`-n {spec.workers}` needs pytest-xdist, which {python.path} does not have"
        raise UsageError(f"{needed}; `{python.path} -m pip install pytest-xdist`, or leave out -n")
    able = can_load_plugin(python.version, python.packages["pytest"])
    if not able and (spec.repeat > 1 or spec.locals or spec.no_capture):
        old = f"pytest {python.packages['pytest']} is too old for the plugin"
        raise UsageError(f"{old}, which --repeat, --locals and -s need")
    argv = [python.path, "-m", "pytest"]
    argv += ["-p", PLUGIN] if able else ["-p", TEXT_PLUGIN, *_TEXT_OPTIONS]
    pythonpath = environ.get("PYTHONPATH", "")
    joined = f"{pythonpath}:{PLUGIN_PATH}" if pythonpath else PLUGIN_PATH
    environment = {"PYTHONPATH": joined, PATH_VARIABLE: pythonpath}
    if spec.repeat > 1 or spec.locals:
        environment[ASKED_VARIABLE] = json.dumps({"repeat": spec.repeat, "locals": spec.locals})
    if spec.seed is not None:
        environment[HASH_SEED] = str(spec.seed)
        argv += [f"--randomly-seed={spec.seed}"] if "pytest-randomly" in python.packages else []
    verbosity = 2 if spec.verbosity is None and spec.full_differences else spec.verbosity
    argv += [f"--verbosity={verbosity}"] if verbosity is not None else []
    argv += ["--capture=no"] if spec.no_capture else []
    argv += _selection(spec)
    speech = Session(continues=True) if able else Text()
    launch = Launch(tuple(argv), spec.root, spec.runner, speech, environment, spec.memory)
    return Plan((launch,), interpreter=python.path)


def detect(root: Path) -> bool:
    """By pytest's own settings, a conftest.py, or a file that pytest would collect."""
    return has_settings(root) or has_tests(root)


def owns(target: str, root: Path) -> bool:
    path = root / target.partition("::")[0]
    return path.suffix == ".py" or (path.is_dir() and has_tests(path))


def has_tests(directory: Path) -> bool:
    return any(_COLLECTED.fullmatch(file.name) for file in nearest_files(directory))


def has_settings(root: Path) -> bool:
    if (root / "pytest.ini").is_file() or (root / ".pytest.ini").is_file():
        return True
    for name, section in _SECTIONS.items():
        try:
            if section in read_bytes(root / name):
                return True
        except OSError:
            continue
    return False


def _selection(spec: RunSpec) -> list[str]:
    """Values follow a `=`, so that none of them can be taken for an option."""
    chosen = spec.selection
    for target in chosen.targets:
        check_target(target)
    options = ["--collect-only"] if spec.collect_only else []
    for expression in (chosen.keywords, chosen.markers):
        matching.check_depth(expression)
    if chosen.keywords:
        options.append(f"-k={chosen.keywords}")
    if chosen.markers:
        options.append(f"-m={chosen.markers}")
    if spec.maxfail:
        options.append(f"--maxfail={spec.maxfail}")
    if spec.workers:
        options.append(f"--numprocesses={spec.workers}")
    return [*options, *spec.arguments, *chosen.targets]


def check_target(target: str) -> None:
    if not target or target.startswith(("-", "@")) or "\0" in target:
        expected = "a path or a test's id such as tests/test_a.py::test_b; options for pytest go after `--`"
        raise not_a_target(target, expected)

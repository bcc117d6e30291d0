"""Plan a pytest run: the project's own pytest in its own interpreter, with our plugin beside it."""

from __future__ import annotations

import re
from pathlib import Path

from proctor.errors import UsageError
from proctor.launch import Launch, Voice
from proctor.spec import RunSpec

PLUGIN = "_proctor_injected_pytest"
PLUGIN_PATH = str(Path(__file__).parent.parent / "inject" / "path")
PATH_VARIABLE = "PROCTOR_PYTHONPATH"

_OLDEST_PYTHON = (3, 7)
_OLDEST_PYTEST = (6, 2)
_TEXT_OPTIONS = ("--verbosity=1", "--tb=short", "-rA")  # as a number, so that no `-q` takes it back


def can_load_plugin(python: tuple[int, ...], pytest: str) -> bool:
    """Older ones are read by their words on the terminal."""
    numbers = tuple(int(part) for part in re.findall(r"[0-9]+", pytest)[:2])
    return python[:2] >= _OLDEST_PYTHON and numbers >= _OLDEST_PYTEST


def plan(spec: RunSpec, python: str, voice: Voice, pythonpath: str = "") -> Launch:
    """`pythonpath` is the user's own PYTHONPATH: ours comes after it, and the plugin takes it out again."""
    argv = [python, "-m", "pytest"]
    environment = {}
    if voice is Voice.CONTROL:
        argv += ["-p", PLUGIN]
        joined = f"{pythonpath}:{PLUGIN_PATH}" if pythonpath else PLUGIN_PATH
        environment = {"PYTHONPATH": joined, PATH_VARIABLE: pythonpath}
    else:
        argv += _TEXT_OPTIONS
    argv += _selection(spec)
    return Launch(tuple(argv), spec.root, spec.runner, voice, environment, spec.memory)


def _selection(spec: RunSpec) -> list[str]:
    """Values ride behind `=`, so that none of them can be taken for an option."""
    chosen = spec.selection
    for target in chosen.targets:
        check_target(target)
    options = ["--collect-only"] if spec.collect_only else []
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
        hint = "a path or a test's id, such as tests/test_a.py::test_b; options for pytest go behind `--`"
        raise UsageError(f"not a target: {target!r}; a target is {hint}")

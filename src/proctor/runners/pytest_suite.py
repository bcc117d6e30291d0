"""Plan a pytest run: the project's own pytest in its own interpreter, with our plugin beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from proctor.errors import UsageError
from proctor.launch import Ahead, Launch, Session, Text
from proctor.regular_files import read_bytes
from proctor.runners import matching
from proctor.runners.plan import Plan, asked, not_a_target
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
_NEED_PLUGIN = (
    *("repeat", "locals", "no_capture", "retries", "isolate", "test_timeout", "parallel"),
    "failed_first",
)
_KNOWN_WORDS = 5  # of every command: python -m pytest -p PLUGIN
_TEXT_OPTIONS = ("--verbosity=1", "--tb=short", "-rA")  # as a number, so that no `-q` takes it back


def can_load_plugin(python: tuple[int, ...], pytest: str) -> bool:
    """Of older ones the text output is read."""
    numbers = tuple(int(part) for part in re.findall(r"[0-9]+", pytest)[:2])
    return python[:2] >= _OLDEST_PYTHON and numbers >= _OLDEST_PYTEST


def too_old_for(python: Python) -> tuple[str, ...]:
    """Options, as a RunSpec names them, that this pytest cannot have."""
    if can_load_plugin(python.version, python.packages["pytest"]):
        return ()
    return _NEED_PLUGIN if "pytest-xdist" in python.packages else (*_NEED_PLUGIN, "workers")


def plan(spec: RunSpec, environ: Mapping[str, str], python: Python) -> Plan:
    """With workers, one launch that forks them, and what to start `instead` if that proves unsafe."""
    able = can_load_plugin(python.version, python.packages["pytest"])
    if spec.parallel == "off":
        spec = msgspec.structs.replace(spec, workers="")
    has_xdist = "pytest-xdist" in python.packages
    by_xdist = spec.workers and (spec.parallel == "xdist" or not able)
    if by_xdist and not has_xdist:
        needed = f"`-n {spec.workers}` needs pytest-xdist, which {python.path} does not have"
        raise UsageError(f"{needed}; `{python.path} -m pip install pytest-xdist`, or leave out -n")
    if not spec.workers or by_xdist:
        launch = _launch(spec, environ, python, able, spec.workers)
    else:
        instead = _launch(spec, environ, python, able, spec.workers) if has_xdist else None
        launch = msgspec.structs.replace(_launch(spec, environ, python, able, ""), instead=instead)
    return Plan((launch,), interpreter=python.path)


def _launch(spec: RunSpec, environ: Mapping[str, str], python: Python, able: bool, xdist: str) -> Launch:
    """`xdist`: how many workers of pytest-xdist. Our path comes after the user's own PYTHONPATH, and the
    plugin takes it out again."""
    argv = [python.path, "-m", "pytest"]
    argv += ["-p", PLUGIN] if able else ["-p", TEXT_PLUGIN, *_TEXT_OPTIONS]
    pythonpath = environ.get("PYTHONPATH", "")
    joined = f"{pythonpath}:{PLUGIN_PATH}" if pythonpath else PLUGIN_PATH
    environment = {"PYTHONPATH": joined, PATH_VARIABLE: pythonpath}
    environment |= _asked(spec, python, bool(xdist)) if able else {}
    if spec.seed is not None:
        environment[HASH_SEED] = str(spec.seed)
        argv += [f"--randomly-seed={spec.seed}"] if "pytest-randomly" in python.packages else []
    verbosity = 2 if spec.verbosity is None and spec.full_differences else spec.verbosity
    argv += [f"--verbosity={verbosity}"] if verbosity is not None else []
    argv += ["--capture=no"] if spec.no_capture else []
    argv += _selection(spec, xdist)
    if not able:
        return Launch(tuple(argv), spec.root, spec.runner, Text(), environment, spec.memory)
    installed = (f"pytest {python.packages['pytest']}", *python.installed)
    ahead = Ahead(_KNOWN_WORDS, installed, spec.preload)
    return Launch(
        tuple(argv), spec.root, spec.runner, Session(continues=True), environment, spec.memory, ahead=ahead
    )


def _asked(spec: RunSpec, python: Python, xdist: bool) -> dict[str, str]:
    """What the plugin is to do beyond a plain run, as an addition to the environment."""
    if xdist:
        return asked(msgspec.structs.replace(spec, isolate=False))
    if not (spec.workers or spec.isolate):
        return asked(spec)
    from proctor.processors import worker_count  # a plain run needs no number

    workers = worker_count(spec.workers)
    by_hand = spec.parallel if spec.parallel == "fork" else ""
    return asked(spec, workers=workers, xdist="pytest-xdist" in python.packages, parallel=by_hand)


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


def _selection(spec: RunSpec, xdist: str) -> list[str]:
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
    if xdist:
        options.append(f"--numprocesses={xdist}")
    return [*options, *spec.arguments, *chosen.targets]


def check_target(target: str) -> None:
    if not target or target.startswith(("-", "@")) or "\0" in target:
        expected = "a path or a test's id such as tests/test_a.py::test_b; options for pytest go after `--`"
        raise not_a_target(target, expected)

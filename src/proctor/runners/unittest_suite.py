"""Plan a run of unittest tests: the project's own interpreter, and a reporter in place of unittest's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from proctor.errors import UsageError
from proctor.launch import Launch, Session
from proctor.processors import worker_count
from proctor.regular_files import read_bytes
from proctor.runners import matching
from proctor.runners.plan import Plan, asked, not_a_target
from proctor.runners.pytest_suite import HASH_SEED, has_settings
from proctor.runners.walk import nearest_files
from proctor.spec import Python, RunSpec

REPORTER = str(Path(__file__).parent.parent / "inject" / "proctor_unittest.py")

_OLDEST_PYTHON = (3, 7)
_CONFTEST = "conftest.py"
_TEST_FILE = re.compile(rf"test.*\.py|{re.escape(_CONFTEST)}")
_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t]+(unittest|pytest)\b", re.M)
_MOST_FILES = 50  # that are read
_HEAD = 1 << 16  # bytes of a file that are read


def detect(root: Path) -> bool:
    """Whether the files that unittest discovers import unittest, and nothing shows a use of pytest."""
    if has_settings(root):
        return False
    imported = [name for path in islice(_test_files(root), _MOST_FILES) for name in _imported(path)]
    return set(imported) == {b"unittest"}


def owns(target: str, root: Path) -> bool:
    path = root / target.partition("::")[0]
    return path.suffix == ".py" or (path.is_dir() and any(True for _ in _test_files(path)))


def plan(spec: RunSpec, _environ: Mapping[str, str], python: Python) -> Plan:
    """Values follow `=` or `--`, so that none of them can be taken for an option."""
    chosen = spec.selection
    if python.version[:2] < _OLDEST_PYTHON:
        version = ".".join(map(str, python.version))
        raise UsageError(f"{python.path} is Python {version}; unittest is run in Python 3.7 or newer")
    if chosen.markers:
        raise UsageError("unittest has no markers; -k selects tests by their names")
    for target in chosen.targets:
        _check(target, Path(spec.root))
    options = ["--list"] if spec.collect_only else []
    if chosen.keywords:
        matching.parse(chosen.keywords)
        options.append(f"--keywords={chosen.keywords}")
    if spec.maxfail:
        options.append(f"--maxfail={spec.maxfail}")
    if spec.no_capture:
        options.append("--no-capture")
    argv = (python.path, REPORTER, *options, *spec.arguments, "--", *chosen.targets)
    environment = asked(spec, workers=worker_count(spec.workers))
    environment |= {HASH_SEED: str(spec.seed)} if spec.seed is not None else {}
    speech = Session(continues=True)
    launch = Launch(argv, spec.root, spec.runner, speech, environment, spec.memory)
    return Plan((launch,), interpreter=python.path)


def _check(target: str, root: Path) -> None:
    name = target.partition("::")[0]
    path = root / name
    if not name or "\0" in target or not (path.is_dir() or (path.suffix == ".py" and path.is_file())):
        expected = "a directory, a file, or a test's ID such as tests/test_a.py::Class::test_b"
        raise not_a_target(target, expected, root)


def _test_files(directory: Path) -> Iterator[Path]:
    return (file for file in nearest_files(directory) if _TEST_FILE.fullmatch(file.name))


def _imported(path: Path) -> set[bytes]:
    if path.name == _CONFTEST:
        return {b"pytest"}
    try:
        return set(_IMPORT.findall(read_bytes(path, _HEAD)))
    except OSError:
        return set()

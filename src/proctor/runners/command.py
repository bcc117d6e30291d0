"""Plan a run of programs: each one is a test, whatever it is written in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from proctor.errors import UsageError
from proctor.launch import Launch, Program
from proctor.places import is_program, program, relative
from proctor.runners import matching
from proctor.runners.plan import Plan, not_a_target
from proctor.runners.walk import all_files
from proctor.spec import RunSpec, TestProgram
from proctor.text import literal

DURATION_VARIABLE = "PROCTOR_DURATION"  # the time limit of a test, in seconds, for the test itself
_NOT_OURS = (".py", ".t", ".bats")  # may be executable, and are tests of other runners
_LEFT_OUT = re.compile(r"\..*|node_modules|__pycache__|venv")


def detect(_root: Path) -> bool:
    """Any file may be a program, so none is a sign: the project's settings list its tests."""
    return False


def owns(target: str, root: Path) -> bool:
    """A name that begins with `/`, or an executable file that other kinds of tests do not look like."""
    path = root / target.partition("::")[0]
    if path.suffix in _NOT_OURS or "::" in target:
        return False
    return target.startswith("/") or is_program(path)


def plan(spec: RunSpec, environ: Mapping[str, str]) -> Plan:
    """The programs named by the targets, or all that the project's settings list."""
    root, configured = Path(spec.root), spec.programs
    targets = spec.selection.targets
    if not targets and not configured:
        hint = "name programs or a directory of them, or list them as [[tool.proctor.tests]]"
        raise UsageError(f"no programs to run in {root}; {hint}")
    found: dict[str, TestProgram] = {} if targets else {test.name: test for test in configured}
    for target in targets:
        for test in _named(target, root, configured):
            found.setdefault(test.name, test)
    wanted = [test for test in found.values() if _is_wanted(test, spec)]
    deselected = tuple(name for name in found if name not in {test.name for test in wanted})
    return Plan(tuple(_launch(test, spec, environ) for test in wanted), deselected)


def _named(target: str, root: Path, configured: Iterable[TestProgram]) -> list[TestProgram]:
    if not target or "\0" in target:
        raise not_a_target(target, "a program, a directory of programs or a test's name")
    known = [test for test in configured if target == test.name or target.startswith(test.name + "/")]
    if known:
        return known
    path = _path(target, root)
    if path.is_dir():
        inside = [_program(file, root) for file in all_files(path, _LEFT_OUT) if is_program(file)]
        if not inside:
            raise UsageError(f"no executable file in {path}; `chmod +x` makes a program of a script")
        return inside
    if not path.is_file():
        names = ", ".join(test.name for test in configured)
        raise UsageError(f"no program and no test {target!r}" + (f"; known tests: {names}" if names else ""))
    if not is_program(path):
        raise UsageError(f"{path} is not executable; `chmod +x {path}` makes it a program")
    return [_program(path, root)]


def _path(target: str, root: Path) -> Path:
    """A path, or the name of a test or of one of its parts, which is a path below the project."""
    if target.startswith("/"):
        below = root / target[1:]
        for path in (below, *below.parents):
            if path == root:
                break
            if is_program(path):
                return path
    return root / target


def _program(path: Path, root: Path) -> TestProgram:
    path = path.absolute()
    return TestProgram(literal("/" + relative(path, root).lstrip("/")), (str(path),))


def _is_wanted(test: TestProgram, spec: RunSpec) -> bool:
    markers = spec.selection.markers
    marked = not markers or matching.parse(markers)(lambda word: word in test.tags)
    return marked and matching.in_name(spec.selection.keywords)(test.name)


def _launch(test: TestProgram, spec: RunSpec, environ: Mapping[str, str]) -> Launch:
    cwd = Path(spec.root) / test.cwd
    limit = {} if test.duration is None else {DURATION_VARIABLE: f"{test.duration:g}"}
    return Launch(
        (_resolved(test.command[0], cwd, environ), *test.command[1:], *spec.arguments),
        str(cwd),
        test.name,
        Program(test.duration, test.tags),
        {**test.environment, **limit},
        spec.memory,
    )


def _resolved(command: str, cwd: Path, environ: Mapping[str, str]) -> str:
    """As a shell finds it; a command that is not found is left as it is, and its start fails."""
    if "/" in command:
        return str(cwd / command)
    return program(command, environ, cwd) or command

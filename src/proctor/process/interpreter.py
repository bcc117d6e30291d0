"""Which interpreter runs the tests, and what is installed in it. Never imports or runs a test."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from proctor import decoding
from proctor.errors import InterpreterError
from proctor.places import is_program, program
from proctor.process.managed import advice, environments
from proctor.regular_files import read_bytes, replace_file

ENVIRONMENT_NAMES = (".venv", "venv", ".virtualenv")
COMMANDS = ("python3", "python")
_HEAD = 1024  # bytes of a script
# An installer writes the second form where the path is too long for a kernel, or has blanks.
_SHEBANG = r"#!\s*(?:\S*/env\s+(?:-\S+\s+)*)?((?:\S*/)?(?:python|pypy)[\w.]*)(?:\s|$)"
_LONG_SHEBANG = r"#!/bin/sh\s*\n'''exec' \"?([^\n\"]+?)\"? \"\$0\""

# 1: first published form.
# 2: `installed`.
CACHE_NAME = "interpreters-2.json"


class Candidate(msgspec.Struct, frozen=True):
    """What a rule found; `path` is empty if it found no interpreter."""

    path: str
    rule: str
    why: str
    usable: bool


class Interpreter(msgspec.Struct, frozen=True):
    """A probed interpreter; `packages` has pip, pytest, its best known companions and all its plugins."""

    path: str
    why: str
    version: tuple[int, int, int]
    implementation: str
    prefix: str
    packages: dict[str, str]
    installed: tuple[str, ...] = ()  # names and versions of all distributions


def choose(root: Path, explicit: str | None, environ: Mapping[str, str], own_prefix: str) -> Candidate:
    """The first usable candidate. Rules after it are not tried, so their tools are not run."""
    refused = []
    for candidate in candidates(root, explicit, environ, own_prefix):
        if candidate.usable:
            return candidate
        refused.append(f"{candidate.path or candidate.rule}: {candidate.why}")
    found = "; ".join(refused) or "nothing"
    raise InterpreterError(
        f"no Python interpreter for {root}; looked at VIRTUAL_ENV, {', '.join(ENVIRONMENT_NAMES)} up to the"
        f" repository's root, the project's tool, {' and '.join(COMMANDS)} on PATH; found {found};"
        f" `--python PATH` names one"
    )


def candidates(
    root: Path, explicit: str | None, environ: Mapping[str, str], own_prefix: str
) -> Iterator[Candidate]:
    """Every candidate in the order of the rules, found one by one; the first usable one is chosen.

    A relative explicit path starts at `root`. If it is no interpreter, InterpreterError is raised.
    """
    top = os.path.abspath(root)
    if explicit is not None:
        yield _explicit(top, explicit, environ)
    if active := environ.get("VIRTUAL_ENV"):
        yield _active(os.path.join(top, active), own_prefix)
    directories = _up_to_repository(top)
    for directory in directories:
        where = "the project root" if directory == top else directory
        for name in ENVIRONMENT_NAMES:
            if os.path.lexists(path := os.path.join(directory, name)):
                yield _candidate(path, "project environment", f"`{name}` in {where}")
    for found in environments(directories, environ):
        yield _candidate(found.path, "managed environment", found.why)
    for name in COMMANDS:
        python = program(name, environ)
        yield _candidate(python, "PATH", f"`{name}` on PATH" if python else f"no `{name}` on PATH")


def _candidate(path: str, rule: str, why: str) -> Candidate:
    """`path` may be an interpreter, an environment's directory, or empty: then `why` is the reason."""
    python, fault = _python_at(path) if path else ("", "")
    return Candidate(python or path, rule, f"{why} {fault}".rstrip(), usable=bool(python))


def _python_at(path: str) -> tuple[str, str]:
    """The interpreter at a path, or why there is none. Links are not resolved: a venv's python is one."""
    if os.path.isdir(path):
        for name in ("bin/python", "bin/python3", "Scripts/python.exe"):
            if is_program(python := os.path.join(path, name)):
                return python, ""
        return "", "has no usable bin/python"
    if is_program(path):
        return path, ""
    return "", "is not executable" if os.path.exists(path) else "does not exist"


def _explicit(top: str, wanted: str, environ: Mapping[str, str]) -> Candidate:
    path = os.path.normpath(os.path.join(top, os.path.expanduser(wanted)))
    python, fault = _python_at(path)
    if os.sep not in wanted and not os.path.isdir(path):
        python, fault = program(wanted, environ), "is not a command on PATH"
    if python and (behind := _behind(python, environ)):
        python, fault = _python_at(behind)
        if not python:
            raise InterpreterError(f"'{wanted}' is a script for the interpreter {behind}, which {fault}")
    if not python:
        raise InterpreterError(
            f"the interpreter '{wanted}' {fault}; expected an interpreter's path, an environment's directory"
            " or a command on PATH"
        )
    return Candidate(python, "explicit", "was asked for", usable=True)


def _behind(path: str, environ: Mapping[str, str]) -> str:
    """The Python that a script such as `pytest` is for; empty for an interpreter, or a shim of one."""
    try:
        head = os.fsdecode(read_bytes(path, _HEAD))
    except OSError:
        return ""
    found = re.match(_SHEBANG, head) or re.match(_LONG_SHEBANG, head)
    if found is None:
        return ""
    command = found[1].strip()
    return command if os.sep in command else program(command, environ) or command


def _active(prefix: str, own_prefix: str) -> Candidate:
    if os.path.realpath(prefix) == os.path.realpath(own_prefix):
        return Candidate(prefix, "VIRTUAL_ENV", "is the environment proctor itself runs in", usable=False)
    return _candidate(prefix, "VIRTUAL_ENV", "the active environment")


def _up_to_repository(top: str) -> list[str]:
    """`top` and its parents up to the one with .git; outside a repository `top` alone."""
    directories = [top]
    while not os.path.exists(os.path.join(directories[-1], ".git")):
        parent = os.path.dirname(directories[-1])
        if parent == directories[-1]:
            return [top]
        directories.append(parent)
    return directories


def require(interpreter: Interpreter, package: str, advice: Callable[[], str] = str) -> str:
    """The version of the package there; if it is missing, `advice` may know a better place than this one."""
    if version := interpreter.packages.get(package):
        return version
    if better := advice():
        raise InterpreterError(f"no {package} in {interpreter.path} ({interpreter.why}); {better}")
    import shlex

    python = shlex.quote(interpreter.path)
    install = f"{python} -m pip install {package}"
    if "pip" not in interpreter.packages:
        install = f"uv pip install --python {python} {package}"
    raise InterpreterError(f"no {package} in {interpreter.path} ({interpreter.why}); install it: {install}")


def better_place(root: Path, chosen: Candidate, environ: Mapping[str, str]) -> str:
    """Where the project's tool wants packages to be, if the interpreter is only the one on PATH."""
    return advice(_up_to_repository(os.path.abspath(root)), environ) if chosen.rule == "PATH" else ""


class _Remembered(msgspec.Struct, frozen=True):
    """What an interpreter answered, and the settings and times of change for which that holds."""

    interpreter: Interpreter
    settings: list[str]
    changed: dict[str, int]


def probe(candidate: Candidate, cwd: Path, environ: Mapping[str, str], cache: Path | None) -> Interpreter:
    """What the interpreter is and has installed; `cache` is a directory of earlier answers, if usable.
    Raises InterpreterError for what is no Python."""
    settings = _settings(cwd, environ)
    known = _recall(cache).get(candidate.path) if cache else None
    unchanged = known and all(_changed(place) == when for place, when in known.changed.items())
    if known and unchanged and known.settings == settings:
        return msgspec.structs.replace(known.interpreter, why=candidate.why)

    import time

    from proctor.process.inventory import take

    started = time.time_ns()
    inventory = take(candidate.path, str(cwd), environ)
    script = _is_script(candidate.path)
    path = (script and inventory.executable) or candidate.path
    about = {**msgspec.structs.asdict(inventory), "path": path, "why": candidate.why}
    interpreter = decoding.convert(about, Interpreter)
    # What a script such as pyenv's shim starts depends on more than its own date.
    if cache and not script:
        changed = {place: _changed(place) for place in (candidate.path, *inventory.places)}
        if max(changed.values()) < started:  # otherwise something was installed while we looked
            _remember(cache, candidate.path, _Remembered(interpreter, settings, changed))
    return interpreter


def _settings(cwd: Path, environ: Mapping[str, str]) -> list[str]:
    """What in the environment decides where packages are looked for."""
    names = ("HOME", "PYTHONHOME", "PYTHONNOUSERSITE", "PYTHONUSERBASE")
    settings = [environ.get(name, "") for name in names]
    if python_path := environ.get("PYTHONPATH"):
        settings += [os.path.join(cwd, part) for part in python_path.split(os.pathsep)]
    return settings


def _changed(place: str) -> int:
    try:
        return os.stat(place).st_mtime_ns
    except OSError:
        return 0  # a directory that is not there yet may appear


def _is_script(path: str) -> bool:
    try:
        return read_bytes(path, 2) == b"#!"
    except OSError:  # one may execute what one may not read, but then it is no script
        return False


#: Of the file that was read last: path, inode, size and time of change; and what it has.
_last_read: tuple[tuple[str, int, int, int], dict[str, _Remembered]] | None = None


def _recall(cache: Path) -> dict[str, _Remembered]:
    global _last_read
    try:
        with open(os.path.join(cache, CACHE_NAME), "rb") as file:
            about = os.fstat(file.fileno())
            which = (file.name, about.st_ino, about.st_size, about.st_mtime_ns)
            if _last_read is None or _last_read[0] != which:
                _last_read = which, decoding.decode(file.read(), dict[str, _Remembered])
            return _last_read[1]
    except (OSError, msgspec.DecodeError, UnicodeError):
        return {}


def _remember(cache: Path, path: str, answer: _Remembered) -> None:
    """Replaces the file as a whole. Of two writers at once one is forgotten, and asks again."""
    import contextlib

    # Environments come and go, above all in tests of environments.
    kept = {python: known for python, known in _recall(cache).items() if os.path.exists(python)}
    with contextlib.suppress(OSError, UnicodeError):  # a cache is never worth an error
        replace_file(cache / CACHE_NAME, msgspec.json.encode({**kept, path: answer}))

"""Finds the environments that uv, poetry and other tools keep for a project. Creates none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from proctor.places import program
from proctor.process.ask import ask
from proctor.regular_files import read_text

PATIENCE = 10.0  # seconds; the slowest of the tools answers in two


class Found(msgspec.Struct, frozen=True):
    """An interpreter or an environment directory; or an empty path, and why there is none."""

    path: str
    why: str


class Tool(msgspec.Struct, frozen=True):
    """A tool is the project's if one of the `marks` is there, or the `table` in pyproject.toml."""

    name: str
    marks: tuple[str, ...]
    hint: str
    table: str = ""
    signs: tuple[str, ...] = ()  # that the project is the tool's, though it has no lock: files, or tables
    variable: str = ""  # that names the environment: no need to ask
    file: str = ""  # that names it
    not_if: dict[str, str] = {}  # variables with values that mean: that environment is not the project's
    question: tuple[str, ...] = ()
    guesses: bool = False  # without an environment it names some interpreter
    needed: bool = True


def environments(directories: Iterable[str], environ: Mapping[str, str]) -> Iterator[Found]:
    """One for each tool that the project uses, nearest directory first; a tool is run only when reached."""
    for directory in directories:
        for tool in TOOLS:
            if mark := _mark(tool, directory):
                yield _find(tool, mark, directory, environ)


def advice(directories: Iterable[str], environ: Mapping[str, str]) -> str:
    """What to do where the project's tool has no environment that could be used."""
    for directory in directories:
        for tool in TOOLS:
            if mark := _mark(tool, directory) or _sign(tool, directory):
                return _advice(tool, mark, directory, environ)
    return ""


def _advice(tool: Tool, mark: str, directory: str, environ: Mapping[str, str]) -> str:
    uses = f"the project uses {tool.name} (`{mark}`)"
    command = program(tool.name, environ)
    if tool.needed and not command:
        return f"{uses}, which is not on PATH: `--python PATH` names its environment"
    found = _asked(tool, mark, command, directory, environ) if tool.question else Found("", "")
    if found.path:
        return f"{uses}, whose environment is {found.path}: `--python {found.path}` uses it"
    return f"{uses}, which has no environment yet: {tool.hint}"


def _sign(tool: Tool, directory: str) -> str:
    for sign in tool.signs:
        if not sign.startswith("["):
            if os.path.isfile(os.path.join(directory, sign)):
                return sign
        elif f"\n{sign}" in "\n" + _read(os.path.join(directory, "pyproject.toml")):
            return "pyproject.toml"
    return ""


def _mark(tool: Tool, directory: str) -> str:
    for name in tool.marks:
        if os.path.isfile(os.path.join(directory, name)):
            return name
    # Its line, not its meaning: a broken pyproject.toml is for others to complain of.
    has_table = tool.table and f"\n{tool.table}" in "\n" + _read(os.path.join(directory, "pyproject.toml"))
    return "pyproject.toml" if has_table else ""


def _find(tool: Tool, mark: str, directory: str, environ: Mapping[str, str]) -> Found:
    command = program(tool.name, environ)
    if tool.needed and not command:
        return Found("", f"`{mark}` exists, but {tool.name} is not on PATH")
    path = environ.get(tool.variable) or (tool.file and _read(os.path.join(directory, tool.file)).strip())
    if path and not any(environ.get(name) == value for name, value in tool.not_if.items()):
        return Found(os.path.join(directory, path), f"the environment that {tool.name} keeps for `{mark}`")
    if not tool.question:
        return Found("", f"`{mark}` exists, but no environment of {tool.name}: {tool.hint}")
    return _asked(tool, mark, command, directory, environ)


def _asked(tool: Tool, mark: str, command: str, directory: str, environ: Mapping[str, str]) -> Found:
    # Most tools take the active environment for the project's. Rule 2 has already judged that one.
    quiet = {name: value for name, value in environ.items() if name != "VIRTUAL_ENV"}
    answer = ask((command, *tool.question), directory, quiet, PATIENCE)
    asked = f"`{tool.name} {' '.join(tool.question)}`"
    if answer.fault:
        return Found("", f"{asked} {answer.fault} ({tool.hint})")
    path = (answer.text.strip().splitlines() or [""])[-1]
    if not os.path.exists(path) or (tool.guesses and not _is_environment(path, command)):
        return Found("", f"{tool.name} has no environment for `{mark}` yet ({tool.hint})")
    return Found(path, f"the environment that {asked} names")


def _is_environment(python: str, command: str) -> bool:
    prefix = os.path.dirname(os.path.dirname(python))
    at_home = prefix == os.path.dirname(os.path.dirname(command))  # where the tool itself is installed
    return os.path.isfile(os.path.join(prefix, "pyvenv.cfg")) and not at_home


def _read(path: str) -> str:
    try:
        return read_text(path, "replace")
    except OSError:
        return ""


TOOLS = (
    Tool(
        "uv",
        ("uv.lock",),
        "`uv sync` makes one",
        variable="UV_PROJECT_ENVIRONMENT",  # `uv python find` does not heed it
        question=("python", "find"),
        guesses=True,
        signs=("[tool.uv",),
    ),
    Tool(
        "poetry",
        ("poetry.lock",),
        "`poetry install` makes one",
        question=("env", "info", "--executable"),
        signs=("poetry.toml", "[tool.poetry"),
    ),
    # Not asked: `pdm info --python` creates an environment where there is none.
    Tool("pdm", ("pdm.lock",), "`pdm install` makes one", file=".pdm-python", signs=("[tool.pdm",)),
    Tool("pipenv", ("Pipfile.lock",), "`pipenv install` makes one", question=("--py",), signs=("Pipfile",)),
    Tool(
        "hatch",
        ("hatch.toml",),
        "`hatch env create` makes one",
        table="[tool.hatch.envs",
        question=("env", "find"),
        signs=("[tool.hatch",),
    ),
    # An active environment needs no tool: with mamba or micromamba there is no `conda` on PATH.
    Tool(
        "conda",
        ("environment.yml", "environment.yaml", "conda-lock.yml"),
        "`conda activate NAME` chooses one",
        variable="CONDA_PREFIX",
        not_if={"CONDA_DEFAULT_ENV": "base"},
        needed=False,
    ),
)

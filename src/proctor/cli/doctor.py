"""`proctor doctor`: what a run would use, and why. Runs no tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from proctor import __version__, config
from proctor.agent_mode import agent_mode
from proctor.archive import store
from proctor.cli import options
from proctor.cli.doctor_warm import warm_lines
from proctor.describe import Description, describe
from proctor.errors import ProctorError
from proctor.runners.table import RUNNERS


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor doctor",
        "Show which interpreter, runners and settings a run would use, and why.",
        examples=(
            ("proctor doctor", "for the current directory"),
            ("proctor doctor -C ../shop", "for another project"),
            ("proctor doctor --python .venv", "with another interpreter"),
        ),
        page="docs/reference/interpreters.md",
    )
    options.add_directory(parser)
    options.add_python(parser)
    return parser


def main(arguments: list[str]) -> int:
    parsed = parser().parse_args(arguments)
    root = options.project(parsed.directory)
    print(f"proctor {__version__}, project {root}")
    problem: ProctorError | None
    try:
        settings = config.load(root)
        about = describe(root, settings, options.python(parsed) or settings.python, os.environ)
        print("\n".join([*_lines(about), *warm_lines(about, settings, os.environ)]))
        problem = about.problem
    except ProctorError as error:
        problem = error
    if problem:
        print(f"problem: {problem} [{problem.slug}]")
    mode = agent_mode(os.environ, sys.stdout.isatty())
    print(f"agent mode: {'on' if mode.on else 'off'} ({mode.why})")
    print(f"runs: {_runs(root)}")
    return problem.exit_code if problem else 0


def _runs(root: Path) -> str:
    """Where they are kept."""
    project, *cache = store.homes(root, os.environ)
    link = store.link_in_the_way(root)
    return f"{cache[0] if cache else 'not kept'} ({link})" if link else str(project)


def _lines(about: Description) -> Iterator[str]:
    yield f"runner: {', '.join(about.runners)}"
    if about.programs:
        yield f"programs: {', '.join(about.programs)}"
    if about.candidates:
        yield "interpreters, in the order in which they are tried:"
    for candidate in about.candidates:
        mark = "*" if candidate is about.chosen else " "
        yield f"  {mark} {candidate.rule}: {candidate.path or 'none'} ({candidate.why})"
    if found := about.interpreter:
        yield f"chosen: {found.path}, {found.implementation} {'.'.join(map(str, found.version))}"
    if about.pytest:
        way = "its text output (too old for the plugin)" if about.reads_text else "the control channel"
        yield f"pytest: {about.pytest}, read through {way}"
        plugins = [f"{name} {version}" for name, version in about.plugins.items()]
        yield f"plugins: {', '.join(plugins) or 'none'}"
    elif found and not about.problem:
        yield f"pytest: not installed; {RUNNERS['pytest'].instead} runs the tests"
    yield from about.notices

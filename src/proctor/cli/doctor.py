"""`proctor doctor`: what would be used, and why. Runs no tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from proctor import __version__, config, prepare
from proctor.agent_mode import agent_mode
from proctor.archive import store
from proctor.cli import options
from proctor.errors import ProctorError
from proctor.places import user_cache
from proctor.process import interpreter as interpreters
from proctor.runners import pytest_suite, table


def main(arguments: list[str]) -> int:
    parser = options.Parser("proctor doctor", description="Say what would be used, and why.")
    options.add_directory(parser)
    parser.add_argument("--python", metavar="PATH", help="the interpreter, or its environment")
    parsed = parser.parse_args(arguments)
    root = options.project(parsed.directory)
    print(f"proctor {__version__}, project {root}")
    try:
        settings = config.load(root)
        chosen = prepare.runners("", root, settings)
        print(f"runner: {', '.join(chosen)}")
        if settings.tests:
            print(f"programs: {', '.join(test.name for test in config.programs(settings))}")
        if "pytest" in chosen:
            for line in _interpreter(root, options.python(parsed) or settings.python):
                print(line)
        exit_code = 0
    except ProctorError as error:
        print(f"problem: {error} [{error.slug}]")
        exit_code = error.exit_code
    mode = agent_mode(os.environ, sys.stdout.isatty())
    print(f"agent mode: {'on' if mode.on else 'off'} ({mode.why})")
    print(f"runs: {store.homes(root, os.environ)[0]}")
    return exit_code


def _interpreter(root: Path, explicit: str | None) -> Iterator[str]:
    chosen: interpreters.Candidate | None = None
    yield "interpreters, in the order of the rules:"
    for candidate in interpreters.candidates(root, explicit, os.environ, sys.prefix):
        mark = " "
        if chosen is None and candidate.usable:
            chosen, mark = candidate, "*"
        yield f"  {mark} {candidate.rule}: {candidate.path or 'none'} ({candidate.why})"
    chosen = chosen or interpreters.choose(root, explicit, os.environ, sys.prefix)
    found = interpreters.probe(chosen, root, os.environ, user_cache(os.environ))
    version = ".".join(map(str, found.version))
    yield f"chosen: {found.path}, {found.implementation} {version}"
    instead = table.RUNNERS["pytest"].instead
    if "pytest" not in found.packages and table.load(instead).detect(root):
        yield f"pytest: none there; {instead} runs the tests"
        return
    pytest = interpreters.require_pytest(found)
    able = pytest_suite.can_load_plugin(found.version, pytest)
    voice = "the control channel" if able else "its text output (too old for more)"
    yield f"pytest: {pytest}, read through {voice}"
    others = {name: v for name, v in found.packages.items() if name not in ("pytest", "pip")}
    yield f"plugins: {', '.join(f'{name} {v}' for name, v in sorted(others.items())) or 'none'}"

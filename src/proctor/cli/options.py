"""The options that every verb about tests understands, and the spec they add up to."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from proctor import config
from proctor.cli.parser import Parser as Parser
from proctor.config import visible as visible
from proctor.errors import UsageError
from proctor.runners import table
from proctor.spec import RunSpec, Selection


def split(arguments: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Ours, and what follows `--` for the runner."""
    if "--" not in arguments:
        return arguments, ()
    at = arguments.index("--")
    return arguments[:at], tuple(arguments[at + 1 :])


def add_directory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-C", dest="directory", default=".", metavar="DIR", help="the project (here)")


def add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="paths or test ids; none: all tests")
    add_directory(parser)
    parser.add_argument("--runner", metavar="NAME", help=f"what runs the tests: {', '.join(table.RUNNERS)}")
    parser.add_argument("--python", metavar="PATH", help="the interpreter, or its environment")
    parser.add_argument(
        "-k", dest="keywords", default="", metavar="EXPR", help="only tests whose names match"
    )
    parser.add_argument(
        "-m", dest="markers", default="", metavar="EXPR", help="only tests with these markers"
    )
    parser.add_argument("--timeout", metavar="TIME", help="limit for the whole run: 90, 15m, 1h 30m")
    parser.add_argument("--memory", metavar="SIZE", help="limit for each process: 512M, 2G")


def python(parsed: argparse.Namespace, settings: config.Settings) -> str | None:
    """A path on the command line starts where the user stands, one in a file where the file is."""
    given: str | None = parsed.python
    if given and os.sep in given:
        return os.path.abspath(given)
    return given or settings.python


def project(directory: str) -> Path:
    try:
        root = Path(directory).absolute()
    except FileNotFoundError:
        raise UsageError("the current directory is gone; `-C DIR` names another") from None
    if not root.is_dir():
        raise UsageError(f"no such directory: {directory}")
    return Path(os.path.normpath(root))


def _targets(given: list[str], root: Path, settings: config.Settings) -> tuple[str, ...]:
    if not given:
        return ()
    from proctor.targets import meant

    programs = [test.name for test in config.programs(settings)]
    return tuple(meant(target, root, programs) for target in given)


def spec(parsed: argparse.Namespace, root: Path, settings: config.Settings, **more: object) -> RunSpec:
    timeout = parsed.timeout if parsed.timeout is not None else settings.timeout
    memory = parsed.memory if parsed.memory is not None else settings.memory
    selection = Selection(_targets(parsed.targets, root, settings), parsed.keywords, parsed.markers)
    return RunSpec(
        str(root),
        parsed.runner or "",
        selection,
        timeout=config.seconds(timeout, "timeout"),
        memory=config.size(memory, "memory"),
        **more,  # type: ignore[arg-type]
    )

"""The options that every verb about tests understands, and what they ask for."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from proctor import config
from proctor.cli.parser import Parser as Parser
from proctor.errors import UsageError
from proctor.events import Invocation
from proctor.plan_run import Asked, targets
from proctor.runners import table
from proctor.spec import Selection


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
    for option, dest, which in (
        ("-k", "keywords", "whose names match"),
        ("-m", "markers", "with these markers"),
    ):
        parser.add_argument(option, dest=dest, default="", metavar="EXPR", help=f"only tests {which}")
    suites = parser.add_mutually_exclusive_group()
    strict = "a suite that cannot run here makes the run incomplete (default in CI)"
    suites.add_argument("--strict-suites", action="store_const", const=True, help=strict)
    allow = "a suite that cannot run here is left out and named"
    suites.add_argument(
        "--allow-missing-suites", dest="strict_suites", action="store_const", const=False, help=allow
    )
    parser.add_argument("--timeout", metavar="TIME", help="limit for the whole run: 90, 15m, 1h 30m")
    parser.add_argument("--memory", metavar="SIZE", help="limit for each process: 512M, 2G")


def add_failure_summary(parser: argparse.ArgumentParser) -> None:
    what = "list the failures at the end, each in one line (auto: with --format human, for agents)"
    parser.add_argument("--failure-summary", choices=("auto", "on", "off"), default="auto", help=what)


def python(parsed: argparse.Namespace) -> str | None:
    """A path on the command line starts where the user stands, one in a file where the file is."""
    given: str | None = parsed.python
    return os.path.abspath(given) if given and os.sep in given else given


def project(directory: str) -> Path:
    try:
        root = Path(directory).absolute()
    except FileNotFoundError:
        raise UsageError("the current directory is gone; `-C DIR` names another") from None
    if not root.is_dir():
        raise UsageError(f"no such directory: {directory}")
    return Path(os.path.normpath(root))


def invocation(parsed: argparse.Namespace, root: Path) -> Invocation:
    """What a command that runs some of the tests again has to repeat."""
    given = {"--python": python(parsed), "--runner": parsed.runner, "--memory": parsed.memory}
    given |= {"--seed": parsed.seed, "--repeat": parsed.repeat if parsed.repeat > 1 else None}
    words = [word for option, value in given.items() if value is not None for word in (option, str(value))]
    return Invocation(str(root), current_directory(), tuple(words))


def current_directory() -> str:
    """Empty where it is gone."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def asked(parsed: argparse.Namespace, root: Path, settings: config.Settings, **more: Any) -> Asked:
    return Asked(
        root=root,
        runner=parsed.runner or "",
        python=python(parsed),
        selection=Selection(
            targets(tuple(parsed.targets), root, settings, parsed.runner or ""),
            parsed.keywords,
            parsed.markers,
        ),
        timeout=parsed.timeout,
        memory=parsed.memory,
        strict_suites=parsed.strict_suites,
        **more,
    )

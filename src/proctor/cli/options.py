"""The options that several verbs share, and the request that they make."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from proctor import config
from proctor.cli.parser import HOW as HOW
from proctor.cli.parser import LIMITS as LIMITS
from proctor.cli.parser import SHOW as SHOW
from proctor.cli.parser import WHAT as WHAT
from proctor.cli.parser import WHERE as WHERE
from proctor.cli.parser import Parser as Parser
from proctor.cli.parser import suggest
from proctor.errors import ConfigError, UsageError
from proctor.events import Invocation
from proctor.plan_run import Asked, targets
from proctor.render.shown import Shown
from proctor.runners import table
from proctor.spec import Selection

Value = TypeVar("Value")


def split(arguments: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Splits into proctor's own arguments and those after `--`, for the runner."""
    if "--" not in arguments:
        return arguments, ()
    at = arguments.index("--")
    return arguments[:at], tuple(arguments[at + 1 :])


def add_directory(parser: Parser) -> None:
    where = "the project's directory (default: the current one)"
    parser.group(WHERE).add_argument("-C", dest="directory", default=".", metavar="DIR", help=where)


def add_python(parser: Parser) -> None:
    python = "the interpreter, or the directory of its environment (default: see `proctor doctor`)"
    parser.group(WHERE).add_argument("--python", metavar="PATH", help=python)


def add_selection(parser: Parser) -> None:
    """Which tests, where, and the limits of their run."""
    what, limits = parser.group(WHAT), parser.group(LIMITS)
    targets = "path, test ID or name of a test (default: all tests)"
    what.add_argument("targets", nargs="*", metavar="TARGET", help=targets)
    keywords = "only tests whose names match, e.g. 'cart and not slow'"
    what.add_argument("-k", dest="keywords", default="", metavar="EXPR", help=keywords)
    markers = "only tests with these markers, e.g. 'not slow'"
    what.add_argument("-m", dest="markers", default="", metavar="EXPR", help=markers)
    runners = f"{', '.join(table.RUNNERS)}, or several with commas (default: all that find tests)"
    suggest(what.add_argument("--runner", metavar="NAME", help=runners), tuple(table.RUNNERS))
    suites = what.add_mutually_exclusive_group()
    strict = "fail with exit code 2 if a suite cannot run here, e.g. without its tool (default in CI)"
    suites.add_argument("--strict-suites", action="store_const", const=True, help=strict)
    allow = "run without the suites that cannot run here, and name them (default elsewhere)"
    suites.add_argument(
        "--allow-missing-suites", dest="strict_suites", action="store_const", const=False, help=allow
    )
    timeout = "time limit for the whole run, e.g. 90, 15m or 1h 30m (default: none)"
    limits.add_argument("--timeout", metavar="TIME", help=timeout)
    memory = "address space limit for each process, e.g. 512M or 2G (default: none)"
    limits.add_argument("--memory", metavar="SIZE", help=memory)
    add_directory(parser)
    add_python(parser)


def add_format(parser: Parser, known: tuple[str, ...], default: str) -> None:
    names = f"format of stdout: {', '.join(known)} (default: {default})"
    show = parser.group(SHOW)
    show.add_argument("--format", choices=known, default=default, metavar="FORMAT", help=names)


def add_outputs(parser: Parser, known: tuple[str, ...]) -> None:
    """What goes to stdout, and what else is written."""
    add_format(parser, ("auto", *known), "auto")
    written = "also write this format to a file; may be repeated"
    option = parser.add_repeatable(SHOW, "-o", "outputs", "FORMAT=PATH", written)
    suggest(option, [f"{name}=" for name in known])


def add_failure_summary(parser: Parser) -> None:
    what = "on, off or auto: end the text with one line for each failure (default: auto, only for agents)"
    parser.group(SHOW).add_argument(
        "--failure-summary", choices=("auto", "on", "off"), default="auto", metavar="WHEN", help=what
    )


def add_report(parser: Parser) -> None:
    """What the report for people shows."""
    show = parser.group(SHOW)
    verbose = "show a line for each test, whole differences and traces"
    show.add_argument("-v", dest="verbose", action="count", default=0, help=verbose)
    show.add_argument(
        "-q", dest="quiet", action="count", default=0, help="show only failures and the verdict"
    )
    slowest = "show the N slowest tests; 0: all (default: 3, if they take 0.1 s or more)"
    show.add_argument("--durations", type=int, metavar="N", help=slowest)


def shown(parsed: argparse.Namespace) -> Shown:
    if parsed.durations is not None and parsed.durations < 0:
        raise UsageError(f"invalid --durations {parsed.durations}: expected 0 or more")
    return Shown(parsed.verbose - parsed.quiet, parsed.durations)


def python(parsed: argparse.Namespace) -> str | None:
    """A path on the command line is relative to the current directory."""
    given: str | None = parsed.python
    return os.path.abspath(given) if given and os.sep in given else given


def project(directory: str) -> Path:
    try:
        root = Path(directory).absolute()
    except FileNotFoundError:
        raise UsageError("the current directory does not exist any more; `-C DIR` names another") from None
    if not root.is_dir():
        raise UsageError(f"no such directory: {directory}")
    return Path(os.path.normpath(root))


def invocation(parsed: argparse.Namespace, root: Path) -> Invocation:
    """What a command that runs some of the tests again has to repeat."""
    given = {"--python": python(parsed), "--runner": parsed.runner, "--memory": parsed.memory}
    given |= {"--seed": parsed.seed, "--repeat": parsed.repeat if parsed.repeat > 1 else None}
    given |= {"--test-timeout": parsed.test_timeout}
    words = [word for option, value in given.items() if value is not None for word in (option, str(value))]
    words += ["--isolate"] if parsed.isolate else []
    return Invocation(str(root), current_directory(), tuple(words))


def current_directory() -> str:
    """Empty where it is gone."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def checked(read: Callable[[Any, str], Value], value: Any, option: str) -> Value | None:
    """What the value of an option means; None: it was not given."""
    try:
        return None if value is None else read(value, option)
    except ConfigError as error:  # it is not from a file
        raise UsageError(str(error)) from None


def asked(parsed: argparse.Namespace, root: Path, settings: config.Settings, **more: Any) -> Asked:
    return Asked(
        root=root,
        runner=parsed.runner or "",
        python=python(parsed),
        selection=Selection(
            targets(tuple(parsed.targets), root, settings, parsed.runner or "", check=True),
            parsed.keywords,
            parsed.markers,
        ),
        timeout=checked(config.seconds, parsed.timeout, "--timeout"),
        memory=checked(config.size, parsed.memory, "--memory"),
        strict_suites=parsed.strict_suites,
        **more,
    )

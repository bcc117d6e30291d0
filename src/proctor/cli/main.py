"""`proctor VERB …`: calls the verb and turns an error into one line and an exit code."""

from __future__ import annotations

import gc
import io
import os
import sys

from proctor import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

#: Each verb with what it does, in groups: those for every day come first.
GROUPS = {
    "for every day": {
        "run": "run tests and report what happened",
        "watch": "run tests, wait for a change, and run again",
        "show": "show a kept run again, one test of it, or a report, stream or log",
        "open": "write the page of a kept run, and open it in the browser",
        "runs": "list the kept runs, newest first",
        "history": "show what earlier runs say, of a test or of all",
        "compare": "compare two runs or reports: what is new, fixed, slower",
        "discover": "list tests without running them",
        "doctor": "show which interpreter, runners and settings a run would use, and why",
        "help": "show this help, or that of a verb",
    },
    "for agents, CI and shells": {
        "mcp": "serve proctor's tools to agents",
        "plan": "divide the tests among several machines",
        "merge": "make one run from many, and report what is missing",
        "convert": "write a report in another format",
        "completion": "write a completion script for bash, zsh or fish",
    },
    "for test authors": {
        "report": "in a test: report a result, with files",
        "begin": "in a test: open its result as an error, until it reports",
        "duration": "in a test: change its time limit",
        "noop": "in a test: find out whether proctor listens",
        "control": "check a recorded control stream",
    },
}
VERBS = {verb: what for verbs in GROUPS.values() for verb, what in verbs.items()}
IN_TEST = ("report", "begin", "duration", "noop")
_MODULES = {"help": "help_text"}


def entry() -> NoReturn:
    """The entry point of the `proctor` command: exits without freeing memory first."""
    gc.set_threshold(50_000)  # hardly anything is garbage before the end
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from proctor.cli import standard_streams

        standard_streams.open_missing()
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal may have its own encoding; data is UTF-8
        encoding = None if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
    code = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass  # its reader has gone
    os._exit(code)


def main(argv: list[str] | None = None) -> int:
    try:
        code = _call(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        _write_error("proctor: interrupted")
        return 2
    except Exception as error:  # noqa: BLE001  where a verb ends
        return _explained(error)


def _call(arguments: list[str]) -> int:
    verb = arguments[0] if arguments else "--help"
    if verb in ("-h", "--help"):
        verb, arguments = "help", ["help"]
    if verb in ("-V", "--version"):
        print(f"proctor {__version__}")
        return 0
    if verb not in VERBS:
        from proctor.cli.mistaken_verb import explained

        _write_error(f"proctor: {explained(arguments)} [usage]")
        return 4
    from importlib import import_module

    module, function = ("in_test", verb) if verb in IN_TEST else (_MODULES.get(verb, verb), "main")
    code: int = getattr(import_module(f"proctor.cli.{module}"), function)(arguments[1:])
    return code


def _explained(error: Exception) -> int:
    """Writes an error as one line to stderr, unless stdout was closed, and returns its exit code."""
    from proctor.cli import standard_streams
    from proctor.errors import OutputError, ProctorError

    if isinstance(error, BrokenPipeError):
        standard_streams.forget_stdout()
        return 2
    if isinstance(error, OSError) and standard_streams.is_full(error):
        standard_streams.forget_stdout()
        error = OutputError("stdout", error)
    if isinstance(error, ProctorError):
        _write_error(f"proctor: {error} [{error.slug}]")
        return error.exit_code
    from traceback import format_exc

    _write_error(f"{format_exc()}proctor: internal error: {type(error).__name__}: {error} [internal]")
    return 3


def _write_error(line: str) -> None:
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        pass  # the exit code must do

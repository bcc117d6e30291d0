"""Messages about a command without a known verb: `proctor tests/test_a.py`, `proctor -x`, `proctor rnu`."""

from __future__ import annotations

import os
import shlex

from proctor.cli.main import VERBS
from proctor.nearest import did_you_mean, nearest, or_known

_OWN_OPTIONS = ("--help", "--version")
#: What other tools call it.
_ELSEWHERE = {
    "test": "run",
    "tests": "run",
    "check": "run",
    "exec": "run",
    "pytest": "run --runner pytest",
    "unittest": "run --runner unittest",
    "rerun": "run --last-failed",
    "retry": "run --last-failed",
    "list": "discover",
    "ls": "discover",
    "collect": "discover",
    "history": "runs",
    "log": "runs",
    "last": "show last",
    "info": "doctor",
    "env": "doctor",
    "config": "doctor",
    "serve": "mcp",
    "server": "mcp",
    "version": "--version",
    "completions": "completion",
}


def explained(arguments: list[str]) -> str:
    """The rest of the line `proctor: …` about arguments that begin with no verb."""
    word = arguments[0]
    if word.startswith("-"):
        return _option_first(arguments)
    if _is_target(word) or (word == "tests" and os.path.isdir(word)):
        return f"{word!r} is not a verb; did you mean {_command('run', arguments)}?"
    if word in _ELSEWHERE:
        return f"no verb {word!r}; did you mean {_command(_ELSEWHERE[word], arguments[1:])}?"
    near = nearest(word, VERBS)
    if near:
        return f"no verb {word!r}; did you mean {_command(near[0], arguments[1:])}?"
    return f"no verb {word!r}{or_known(word, VERBS)}"


def _option_first(arguments: list[str]) -> str:
    from proctor.cli.run import parser

    options = parser().options
    for at, word in enumerate(arguments):
        before = options.get(arguments[at - 1]) if at else None
        if word in VERBS and not (before is not None and before.nargs is None):
            moved = _command(word, [*arguments[:at], *arguments[at + 1 :]])
            return f"the verb comes first; did you mean {moved}?"
    name = arguments[0].partition("=")[0]
    if name in options or (not name.startswith("--") and name[:2] in options):  # `-n4`
        return f"{arguments[0]} is not a verb; did you mean {_command('run', arguments)}?"
    near = did_you_mean(name, [*_OWN_OPTIONS, *options], like=0.75)
    return f"unknown option {name}{near or '; `proctor help` lists the verbs'}"


def _is_target(word: str) -> bool:
    """A file, a directory or the ID of a test."""
    return word not in _ELSEWHERE and (
        "::" in word or os.sep in word or word.endswith(".py") or os.path.lexists(word)
    )


def _command(verb: str, arguments: list[str]) -> str:
    return f"`proctor {' '.join([verb, *map(shlex.quote, arguments)])}`"

"""`proctor completion SHELL`: a completion script for bash, zsh or fish, made from the parsers of all verbs.

The scripts start no proctor: they hold every word, and find runs by the names of their directories.
"""

from __future__ import annotations

import argparse
import sys
from typing import Literal, TypeAlias

import msgspec

from proctor.cli.help_text import parser_of
from proctor.cli.main import GROUPS, VERBS
from proctor.cli.parser import Parser, is_optional, suggested

#: What a value may be, besides the words that are suggested for it.
Kind: TypeAlias = Literal["words", "files", "directories", "runs", "output"]

_KINDS: dict[str, Kind] = {
    "DIR": "directories",
    "PATH": "files",
    "FILE": "files",
    "OUT": "files",
    "IN": "files",
    "TARGET": "files",
    "RUN|FILE|-": "runs",
    "A": "runs",
    "B": "runs",
    "TEST|WORD": "files",
    "FORMAT=PATH": "output",
    "[NAME=]PATH": "files",
}
OWN_OPTIONS = {"--help": "show the help", "--version": "show the version"}


class Argument(msgspec.Struct, frozen=True):
    """An option or a positional argument of a verb, as a shell has to know it."""

    names: tuple[str, ...]  # none: it is positional
    help: str
    takes_value: bool
    metavar: str
    kind: Kind
    words: tuple[str, ...]
    repeats: bool


def parser() -> Parser:
    parser = Parser(
        "proctor completion",
        "Write a completion script for a shell to stdout.",
        [
            ("source <(proctor completion bash)", "in ~/.bashrc"),
            ("source <(proctor completion zsh)", "in ~/.zshrc, after compinit"),
            ("proctor completion fish | source", "in ~/.config/fish/config.fish"),
        ],
    )
    what = "bash, zsh or fish"
    parser.group("which shell").add_argument("shell", choices=tuple(_SCRIPTS), metavar="SHELL", help=what)
    return parser


def main(arguments: list[str]) -> int:
    sys.stdout.write(script(parser().parse_args(arguments).shell))
    return 0


def script(shell: str) -> str:
    from importlib import import_module

    written: str = import_module(f"proctor.cli.{_SCRIPTS[shell]}").script()
    return written


_SCRIPTS = {"bash": "complete_bash", "zsh": "complete_zsh", "fish": "complete_fish"}


def arguments_of(verb: str) -> list[Argument]:
    """In the order of the help text."""
    found = [action for _, actions in parser_of(verb).sections for action in actions]
    return [_argument(action) for action in found]


def _argument(action: argparse.Action) -> Argument:
    metavar = str(action.metavar or action.dest)
    return Argument(
        tuple(action.option_strings),
        action.help or "",
        action.nargs != 0 and not is_optional(action),
        metavar,
        _KINDS.get(metavar, "words"),
        suggested(action),
        isinstance(action, argparse._AppendAction) or action.nargs in ("*", "+"),
    )


__all__ = ["GROUPS", "OWN_OPTIONS", "VERBS", "Argument", "Kind", "arguments_of", "main", "parser", "script"]

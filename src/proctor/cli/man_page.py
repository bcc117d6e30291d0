"""The man page `proctor(1)`, made from the parsers of all verbs: `proctor help --man`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from proctor import __version__
from proctor.cli.help_text import DESCRIPTION, EXAMPLES, parser_of
from proctor.cli.main import GROUPS, VERBS
from proctor.cli.parser import EXIT_CODES, PAGE, is_optional

_FILES = (
    ("pyproject.toml", "settings of the project, in the section [tool.proctor]"),
    ("proctor.toml", "the same settings in a file of their own, which wins over pyproject.toml"),
    (".proctor/runs/", "the kept runs of the project"),
)
_ENVIRONMENT = (
    ("NO_COLOR, FORCE_COLOR", "switch colours off or on"),
    ("CI", "set in continuous integration: no live view"),
    ("PROCTOR_AGENT", "1 or 0: whether a coding agent reads the output"),
    ("PROCTOR_MCP_TOKEN", "the token that clients of `proctor mcp --http` must send"),
)


def man_page() -> str:
    lines = [
        f'.TH PROCTOR 1 "" "proctor {__version__}" "User Commands"',
        ".SH NAME",
        "proctor \\- run a project's tests and report exactly what happened",
        ".SH SYNOPSIS",
        *_synopsis(),
        ".SH DESCRIPTION",
        _text(DESCRIPTION),
        "A verb says what to do; \\fBproctor help\\fR \\fIVERB\\fR shows its options.",
    ]
    for title, verbs in GROUPS.items():
        lines += [f".SH VERBS {_text(title.upper())}"]
        lines += [line for verb in verbs for line in _verb(verb)]
    lines += [".SH EXIT STATUS", *_codes()]
    lines += [".SH FILES", *_entries(_FILES)]
    lines += [".SH ENVIRONMENT", *_entries(_ENVIRONMENT)]
    lines += [".SH EXAMPLES", *list(_examples(EXAMPLES))[1:]]  # a section begins without .PP
    lines += [".SH SEE ALSO", f"The documentation: {_text(PAGE)}"]
    return "\n".join(lines) + "\n"


def _synopsis() -> Iterable[str]:
    for number, verb in enumerate(VERBS):
        if number:
            yield ".br"
        name, *rest = parser_of(verb).usage_line.removeprefix("proctor ").split()
        yield f"\\fBproctor {_text(name)}\\fR {_text(' '.join(rest))}"


def _verb(verb: str) -> Iterable[str]:
    parser = parser_of(verb)
    yield f".SS proctor {_text(verb)}"
    yield _text(parser.description or "")
    for title, actions in parser.sections:
        shown = [action for action in actions if "--help" not in action.option_strings]
        if shown:
            yield ".PP"
            yield f"{_text(title[:1].upper() + title[1:])}:"
        for action in shown:
            yield ".TP"
            yield _name(action)
            yield _text(action.help or "")
    for note in parser.notes[:-1]:  # the last is the page
        yield ".PP"
        yield _text(note[:1].upper() + note[1:])
    yield from _examples(parser.examples)


def _name(action: argparse.Action) -> str:
    value = f" \\fI{_text(str(action.metavar or action.dest))}\\fR" if action.nargs != 0 else ""
    if not action.option_strings:
        return value.strip()
    if is_optional(action):
        value = f"[={value.strip()}]"
    return ", ".join(f"\\fB{_text(name)}\\fR{value}" for name in action.option_strings)


def _examples(examples: Iterable[tuple[str, str]]) -> Iterable[str]:
    for command, what in examples:
        yield from (".PP", f"{_text(what[:1].upper() + what[1:])}:", ".PP", ".RS 4", ".nf")
        yield from (_text(command), ".fi", ".RE")


def _codes() -> Iterable[str]:
    for code in EXIT_CODES.partition(": ")[2].split(", "):
        number, _, meaning = code.partition(" ")
        yield from (".TP", f"\\fB{number}\\fR", _text(meaning))


def _entries(entries: Iterable[tuple[str, str]]) -> Iterable[str]:
    for name, what in entries:
        yield from (".TP", f"\\fB{_text(name)}\\fR", _text(what))


def _text(text: str) -> str:
    """Nothing in it is a request or an escape of roff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped

"""`proctor help [VERB]`: what `proctor --help` and `proctor VERB --help` print."""

from __future__ import annotations

import sys
from importlib import import_module

from proctor.cli.main import GROUPS, IN_TEST, VERBS
from proctor.cli.parser import EXIT_CODES, PAGE, SHOW, Parser, suggest
from proctor.errors import UsageError

DESCRIPTION = "Run a project's tests and report exactly what happened."
EXAMPLES = (
    ("proctor run", "run every test of this project"),
    ("proctor run tests/test_shop.py::test_total", "run one test"),
    ("proctor show last", "show the last run again"),
)


def parser() -> Parser:
    parser = Parser(
        "proctor help",
        "Show the help of proctor, or of a verb.",
        [
            ("proctor help", "all verbs"),
            ("proctor help run", "the same as `proctor run --help`"),
            ("proctor help --man | man -l -", "the man page"),
        ],
    )
    verb = "the verb (default: a list of all verbs)"
    what = parser.group("what to explain").add_argument("verb", nargs="?", metavar="VERB", help=verb)
    suggest(what, list(VERBS))
    man = "write the man page proctor(1) instead, as roff"
    parser.group(SHOW).add_argument("--man", action="store_true", help=man)
    return parser


def main(arguments: list[str]) -> int:
    parsed = parser().parse_args(arguments)
    if parsed.man:
        from proctor.cli.man_page import man_page

        sys.stdout.write(man_page())
        return 0
    verb = parsed.verb
    if verb is not None and verb not in VERBS:
        from proctor.nearest import or_known

        raise UsageError(f"no verb {verb!r}{or_known(verb, VERBS)}")
    sys.stdout.write(parser_of(verb).format_help() if verb else overview())
    return 0


def parser_of(verb: str) -> Parser:
    if verb == "help":
        return parser()
    module, function = ("in_test", f"{verb}_parser") if verb in IN_TEST else (verb, "parser")
    made: Parser = getattr(import_module(f"proctor.cli.{module}"), function)()
    return made


def overview() -> str:
    lines = ["usage: proctor VERB [OPTION]... [ARGUMENT]...", "", DESCRIPTION]
    for title, verbs in GROUPS.items():
        lines += ["", f"{title}:", *(f"  {verb:12}{what}" for verb, what in verbs.items())]
    widest = max(len(command) for command, _ in EXAMPLES)
    lines += ["", "examples:", *(f"  {command:{widest}}  {what}" for command, what in EXAMPLES)]
    more = "`proctor help VERB` shows the options of a verb; `proctor --version` the version"
    return "\n".join([*lines, "", more, EXIT_CODES, f"documentation: {PAGE}"]) + "\n"

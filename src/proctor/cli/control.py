"""`proctor control check`: checks a recorded control stream as a run does. Writes no file."""

from __future__ import annotations

import sys

from proctor import config
from proctor.cli import options
from proctor.errors import UsageError
from proctor.render.control_report import control_report
from proctor.wire.control.check import Checked, ControlCheck
from proctor.wire.literal import encode_line

_PIECE = 1 << 18  # bytes


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor control",
        "Check a recorded control stream.",
        examples=(
            ("proctor control check stream.bin", "a recorded stream"),
            ("./my-test 3>&1 >/dev/null | proctor control check", "what a program sends"),
            ("proctor control check stream.bin --format json", "for a program"),
        ),
        page="docs/reference/control.md",
    )
    what = parser.group("what to check")
    what.add_argument(
        "action", choices=("check",), help="check: show what is in the stream, or what broke it"
    )
    what.add_argument("file", nargs="?", default="-", metavar="FILE", help="the stream (default: stdin)")
    options.add_format(parser, ("human", "json"), "human")
    options.add_directory(parser)
    parser.remark = "exit codes: 0 the stream is valid, 1 it is broken"
    return parser


def main(arguments: list[str]) -> int:
    parsed = parser().parse_args(arguments)
    limits = config.load(options.project(parsed.directory)).limits
    checked = _check(parsed.file, ControlCheck(limits))
    as_json = parsed.format == "json"
    sys.stdout.buffer.write(encode_line(checked.document()) if as_json else control_report(checked).encode())
    return 0 if checked.error is None else 1


def _check(name: str, check: ControlCheck) -> Checked:
    try:
        with sys.stdin.buffer if name == "-" else open(name, "rb") as file:
            while not check.broken and (piece := file.read(_PIECE)):
                check.feed(piece)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from None
    return check.close()

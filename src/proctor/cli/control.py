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


def main(arguments: list[str]) -> int:
    parser = options.Parser("proctor control", description="Look at a recorded control stream.")
    parser.add_argument("action", choices=("check",), help="check: show what is in it, or what broke it")
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="the stream; without it, stdin")
    options.add_directory(parser)
    parser.add_argument("--format", choices=("human", "json"), default="human", help="what stdout shows")
    parser.epilog = "Exit codes: 0 the stream is good, 1 it is broken."
    parsed = parser.parse_args(arguments)
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

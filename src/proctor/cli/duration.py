"""`proctor duration`: change the time limit of the test that runs it."""

from __future__ import annotations

from proctor import client
from proctor.cli.parser import Parser
from proctor.cli.send import send


def main(arguments: list[str]) -> int:
    parser = Parser("proctor duration", description="Change the time limit of the test.")
    what = "90, 15m, 1h 30m: from now; +60, -60: more or less; save, restore: what is left of it"
    parser.add_argument("time", nargs="+", metavar="TIME", help=what)
    if any(argument in ("-h", "--help") for argument in arguments):
        parser.parse_args(arguments)
    change = " ".join(parser.parse_args(["--", *arguments]).time)  # `-60` is no option
    return send(lambda: client.duration(change))

"""`proctor noop`: find out, in a test, whether proctor listens."""

from __future__ import annotations

from proctor import client
from proctor.cli.parser import Parser
from proctor.cli.send import send


def main(arguments: list[str]) -> int:
    parser = Parser("proctor noop", description="Send a message without effect: does proctor listen?")
    parser.parse_args(arguments)
    return send(client.noop)

"""`proctor begin`: open the test's own result as an error, so that a premature exit is no pass."""

from __future__ import annotations

from proctor import client
from proctor.cli.parser import Parser
from proctor.cli.send import send


def main(arguments: list[str]) -> int:
    parser = Parser(
        "proctor begin", description="Open the test's own result as an error; `proctor report` closes it."
    )
    parser.parse_args(arguments)
    return send(client.begin)

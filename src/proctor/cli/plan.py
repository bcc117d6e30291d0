"""`proctor plan`: divide the tests among several machines."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from proctor import config
from proctor.cli import options
from proctor.cli.interrupt import announce_interrupt
from proctor.errors import OutputError, UsageError
from proctor.history.usual_times import usual_times
from proctor.process.stop import stoppable
from proctor.shards import plan as plans
from proctor.shards.making import listed, make
from proctor.shards.split import by_time


def main(arguments: list[str]) -> int:
    own, passed_on = options.split(arguments)
    parsed = parser().parse_args(own)
    if not 1 <= parsed.shards <= plans.MOST:
        raise UsageError(f"invalid --shards {parsed.shards}: expected 1 to {plans.MOST}")
    root = options.project(parsed.directory)
    settings = config.load(root)
    asked = options.asked(parsed, root, settings, arguments=passed_on)
    with stoppable(announce_interrupt) as stop:
        found = listed(asked, settings, os.environ, stop)
    seconds, usual = usual_times(root, os.environ)
    plan = make(found, os.environ, partial(by_time, seconds=seconds, usual=usual, shards=parsed.shards))
    _write(plans.encode(plan), parsed.output)
    return 0


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor plan",
        "Divide the tests among several machines: each test is in exactly one shard.",
        examples=(
            ("proctor plan --shards 10 -o plan.json", "every test of the project"),
            ("proctor run --plan plan.json --shard 3/10 -o events=shard-3.jsonl", "on the third machine"),
            ("proctor merge shard-*.jsonl --plan plan.json", "when all have ended"),
        ),
        passes_on=True,
        page="docs/how-to/big-suites.md",
    )
    options.add_selection(parser)
    what, show = parser.group(options.WHAT), parser.group(options.SHOW)
    what.add_argument(
        "--shards", type=int, required=True, metavar="N", help="how many parts to make, required"
    )
    show.add_argument("-o", dest="output", metavar="FILE", help="file to write (default: stdout)")
    return parser


def _write(data: bytes, path: str | None) -> None:
    if path is None:
        sys.stdout.buffer.write(data)
        return
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise OutputError(path, error) from None

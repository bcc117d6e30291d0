"""`proctor discover`: list the tests that a run would find, without running them."""

from __future__ import annotations

import argparse
import os
import sys

from proctor import config
from proctor.cli import options
from proctor.cli.interrupt import announce_interrupt
from proctor.cli.nothing_ran import explain
from proctor.errors import UsageError
from proctor.execute import Request, execute
from proctor.plan_run import plan_run
from proctor.process.stop import stoppable
from proctor.render.agent import Detail, agent_text
from proctor.render.discovery_tree import discovery_tree, missing_lines, skipped_lines
from proctor.result import RunResult
from proctor.wire.document.discovery import discovery
from proctor.wire.literal import encode_line

_USUAL = 1000  # tests shown unless more are asked for


def main(arguments: list[str]) -> int:
    own, passed_on = options.split(arguments)
    parsed = parser().parse_args(own)
    for name in ("offset", "limit"):
        if getattr(parsed, name) < 0:
            raise UsageError(f"invalid --{name} {getattr(parsed, name)}: expected 0 or more")
    root = options.project(parsed.directory)
    settings = config.load(root)
    asked = options.asked(parsed, root, settings, collect_only=True, arguments=passed_on)
    plan = plan_run(asked, settings, os.environ)
    with stoppable(announce_interrupt) as stop:
        result = execute(Request(plan, stop)).result
    _show(parsed, result, settings.mask_secrets)
    sys.stdout.flush()
    explain(result, asked, settings.mask_secrets)
    return result.exit_code


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor discover",
        "List tests without running them.",
        examples=(
            ("proctor discover", "every test of the project"),
            ("proctor discover tests/unit -k cart", "matching tests below a directory"),
            ("proctor discover --format json --limit 50", "the first 50, for a program"),
        ),
        passes_on=True,
    )
    options.add_selection(parser)
    show = parser.group(options.SHOW)
    show.add_argument(
        "--offset", type=int, default=0, metavar="N", help="skip the first N tests (default: 0)"
    )
    limit = f"list at most N tests (default: {_USUAL})"
    show.add_argument("--limit", type=int, default=_USUAL, metavar="N", help=limit)
    options.add_format(parser, ("human", "json"), "human")
    return parser


def _show(parsed: argparse.Namespace, result: RunResult, mask: bool) -> None:
    page = discovery(result, parsed.offset, parsed.limit)
    if parsed.format == "json":
        sys.stdout.buffer.write(encode_line(page))
        return
    sys.stdout.write(discovery_tree(page.tests) + skipped_lines(page.skipped) + missing_lines(page.missing))
    if result.exit_code:
        sys.stdout.write(agent_text(result, Detail(mask=mask)))
    shown = parsed.offset + len(page.tests)
    more = f"; `--offset {shown}` shows more" if shown < page.total and page.tests else ""
    sys.stdout.write(f"{page.total} tests{more}\n")

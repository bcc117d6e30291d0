"""`proctor discover`: the tests there are, found as a run would find them, without running any."""

from __future__ import annotations

import argparse
import os
import sys

from proctor import config
from proctor.cli import options
from proctor.cli.interrupt import announce_interrupt
from proctor.errors import UsageError
from proctor.execute import Request, execute
from proctor.plan_run import plan_run
from proctor.process.stop import stoppable
from proctor.render.agent import Detail, agent_text
from proctor.render.discovery_tree import discovery_tree, skipped_lines
from proctor.result import RunResult
from proctor.wire.document.discovery import discovery
from proctor.wire.literal import encode_line

_USUAL = 1000  # tests shown unless more are asked for


def main(arguments: list[str]) -> int:
    own, passed_on = options.split(arguments)
    parsed = _parser().parse_args(own)
    for name in ("offset", "limit"):
        if getattr(parsed, name) < 0:
            raise UsageError(f"--{name} is {getattr(parsed, name)}; it must not be negative")
    root = options.project(parsed.directory)
    settings = config.load(root)
    asked = options.asked(parsed, root, settings, collect_only=True, arguments=passed_on)
    plan = plan_run(asked, settings, os.environ)
    with stoppable(announce_interrupt) as stop:
        result = execute(Request(plan, stop)).result
    _show(parsed, result, settings.mask_secrets)
    return result.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = options.Parser("proctor discover", description="List tests without running them.")
    options.add_selection(parser)
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="leave out the first N tests")
    parser.add_argument("--limit", type=int, default=_USUAL, metavar="N", help="at most N tests (1000)")
    parser.add_argument("--format", choices=("human", "json"), default="human", help="what stdout shows")
    parser.epilog = "Arguments after -- go to the runner as they are."
    return parser


def _show(parsed: argparse.Namespace, result: RunResult, mask: bool) -> None:
    page = discovery(result, parsed.offset, parsed.limit)
    if parsed.format == "json":
        sys.stdout.buffer.write(encode_line(page))
        return
    sys.stdout.write(discovery_tree(page.tests) + skipped_lines(page.skipped))
    if result.exit_code:
        sys.stdout.write(agent_text(result, Detail(mask=mask)))
    shown = parsed.offset + len(page.tests)
    more = f"; `--offset {shown}` shows more" if shown < page.total and page.tests else ""
    sys.stdout.write(f"{page.total} tests{more}\n")

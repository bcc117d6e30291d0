"""`proctor run`: run tests and say what happened."""

from __future__ import annotations

import os
import sys

from proctor import config
from proctor.cli import options, output, text_settings
from proctor.cli.interrupt import announce_interrupt
from proctor.errors import UsageError
from proctor.execute import Request, execute
from proctor.plan_run import plan_run
from proctor.process.stop import stoppable
from proctor.wire import formats

_MOST = {"--repeat": 10_000, "--seed": 2**32 - 1}  # the second is Python's own limit


def main(arguments: list[str]) -> int:
    own, passed_on = options.split(arguments)
    parsed = _parser().parse_args(own)
    root = options.project(parsed.directory)
    settings = config.load(root)
    maxfail = 1 if parsed.failfast else parsed.maxfail
    if maxfail < 0:
        raise UsageError(f"invalid --maxfail {maxfail}: expected 1 or more")
    workers = _workers(parsed.workers)
    asked = options.asked(
        parsed,
        root,
        settings,
        maxfail=maxfail,
        workers=workers,
        repeat=_at_least(parsed.repeat, "--repeat", 1),
        seed=None if parsed.seed is None else _at_least(parsed.seed, "--seed", 0),
        verbosity=parsed.verbosity,
        locals=parsed.locals,
        last_failed=parsed.last_failed,
        archive=not parsed.no_archive,
        arguments=passed_on,
    )
    plan = plan_run(asked, settings, os.environ)
    for notice in plan.notices:
        print(f"proctor: {notice}", file=sys.stderr)
    texts = text_settings.of_run(settings, parsed.budget, plan.keeping.archive, os.environ)
    outputs = output.build(parsed.format, parsed.outputs, parsed.failure_summary, os.environ, texts)
    try:
        with stoppable(None if outputs.live else announce_interrupt) as stop:
            executed = execute(Request(plan, stop, outputs.sinks, outputs.result_lines, outputs.finish))
    finally:
        outputs.close()
    return outputs.conclude(executed.result.exit_code)


def _parser() -> options.Parser:
    parser = options.Parser("proctor run", description="Run tests and say what happened.")
    options.add_selection(parser)
    parser.add_argument("-x", dest="failfast", action="store_true", help="stop at the first failure")
    parser.add_argument("--maxfail", type=int, default=0, metavar="N", help="stop after N failures")
    at_once = "N at a time (pytest: with pytest-xdist)"
    parser.add_argument("-n", dest="workers", default="", metavar="N|auto", help=at_once)
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run each test N times")
    seed = "of hashes, and of the order with pytest-randomly"
    parser.add_argument("--seed", type=int, metavar="N", help=seed)
    parser.add_argument("--locals", action="store_true", help="show local variables with each failure")
    parser.add_argument("--verbosity", type=int, metavar="N", help="of pytest: 2 shows values whole")
    failed = "only what failed when it last ran"
    parser.add_argument("--last-failed", "--lf", action="store_true", help=failed)
    known = ("auto", *formats.offered("run"))
    parser.add_argument("--format", choices=known, default="auto", help="what stdout shows")
    parser.add_repeatable("-o", "outputs", "FORMAT=PATH", "also write that; repeatable")
    tokens = "maximum size of the agent text, in tokens"
    parser.add_argument("--budget", type=int, metavar="TOKENS", help=tokens)
    options.add_failure_summary(parser)
    parser.add_argument("--no-archive", action="store_true", help="leave nothing in .proctor/")
    parser.epilog = "Arguments after -- go to the runner as they are."
    return parser


def _at_least(number: int, option: str, least: int) -> int:
    if not least <= number <= _MOST[option]:
        raise UsageError(f"invalid {option} {number}: expected {least} to {_MOST[option]}")
    return number


def _workers(value: str) -> str:
    if value in ("", "0"):
        return ""
    if value != "auto" and not (value.isascii() and value.isdigit()):
        raise UsageError(f"invalid -n {value!r}: expected a number of processes or auto")
    return value

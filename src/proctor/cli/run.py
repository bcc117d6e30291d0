"""`proctor run`: run tests and report what happened."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from proctor import config
from proctor.cli import options, output, text_settings
from proctor.cli.interrupt import announce_interrupt
from proctor.cli.parser import EXIT_CODES, suggest
from proctor.errors import UsageError
from proctor.execute import BeforeEnd, Elsewhere, Executed, Request, Starting, execute
from proctor.outcome import RunOutcome
from proctor.plan_run import Asked, RunPlan, plan_run
from proctor.process.cold_start import ColdStart
from proctor.process.stop import Stop, stoppable
from proctor.wire import formats

_MOST = {"--repeat": 10_000, "--seed": 2**32 - 1}  # the second is Python's own limit


def main(arguments: list[str]) -> int:
    own, passed_on = options.split(arguments)
    parsed = parser().parse_args(own)
    root = options.project(parsed.directory)
    settings = config.load(root)
    asked = asked_for(parsed, passed_on, root, settings)
    plan = _planned(parsed, asked, settings)
    outputs = outputs_of(parsed, plan)
    try:
        with stoppable(None if outputs.live else announce_interrupt) as stop:
            plan, elsewhere = _elsewhere(parsed, asked, plan, stop, outputs.live)
            executed = execute(request(plan, stop, outputs, elsewhere=elsewhere))
    finally:
        outputs.close()
    explain(executed, asked, settings.mask_secrets)
    return outputs.conclude(executed.result.exit_code)


def asked_for(
    parsed: argparse.Namespace, passed_on: tuple[str, ...], root: Path, settings: config.Settings
) -> Asked:
    maxfail = 1 if parsed.failfast else parsed.maxfail
    if maxfail < 0:
        raise UsageError(f"invalid --maxfail {maxfail}: expected 1 or more")
    return options.asked(
        parsed,
        root,
        settings,
        maxfail=maxfail,
        workers=options.checked(config.workers, parsed.workers, "-n"),
        test_timeout=options.checked(config.seconds, parsed.test_timeout, "--test-timeout"),
        retries=options.checked(config.retries, parsed.retries, "--retries"),
        flaky_fails=None if parsed.flaky is None else parsed.flaky == "fail",
        parallel=parsed.parallel,
        isolate=parsed.isolate,
        repeat=_at_least(parsed.repeat, "--repeat", 1),
        seed=None if parsed.seed is None else _at_least(parsed.seed, "--seed", 0),
        verbosity=parsed.verbosity,
        full_differences=parsed.verbose > parsed.quiet,
        locals=parsed.locals,
        no_capture=parsed.no_capture,
        last_failed=parsed.last_failed,
        failed_first=parsed.failed_first,
        exitfirst_new=parsed.exitfirst_new,
        archive=not parsed.no_archive,
        history=not parsed.no_history,
        baseline=parsed.baseline,
        arguments=passed_on,
        invocation=options.invocation(parsed, root),
    )


def _planned(parsed: argparse.Namespace, asked: Asked, settings: config.Settings) -> RunPlan:
    if parsed.force and parsed.plan is None and parsed.engine is None:
        raise UsageError("--force needs --plan FILE or --engine ENGINE")
    if parsed.plan is None and parsed.shard is None:
        return plan_run(asked, settings, os.environ)
    from proctor.cli.shard import shard_run  # most runs are of one machine

    return shard_run(parsed.plan, parsed.shard, parsed.force, asked, settings)


def _elsewhere(
    parsed: argparse.Namespace, asked: Asked, plan: RunPlan, stop: Stop, live: bool
) -> tuple[RunPlan, Elsewhere | None]:
    if parsed.engine is None and parsed.shards is None:
        return plan, None
    from proctor.cli.engine import elsewhere  # most runs are of one machine

    return elsewhere(parsed.engine, parsed.shards, parsed.force, asked, plan, stop, live)


def outputs_of(parsed: argparse.Namespace, plan: RunPlan) -> output.Outputs:
    """Writes the notices about the plan first."""
    for notice in plan.notices:
        print(f"proctor: {notice}", file=sys.stderr)
    texts = text_settings.of_run(
        plan.settings, parsed.budget, plan.keeping.archive, os.environ, options.shown(parsed)
    )
    shows_output = parsed.no_capture or parsed.show_output
    return output.build(
        parsed.format, parsed.outputs, parsed.failure_summary, os.environ, texts, shows_output
    )


def request(
    plan: RunPlan,
    stop: Stop,
    outputs: output.Outputs,
    starting: Starting = ColdStart,
    elsewhere: Elsewhere | None = None,
) -> Request:
    return Request(
        plan,
        stop,
        outputs.sinks,
        outputs.result_lines,
        outputs.finish,
        _comparison(plan, stop),
        starting,
        elsewhere,
    )


def explain(executed: Executed, asked: Asked, mask: bool) -> None:
    """On stderr: what the outputs do not say."""
    if executed.forgotten:
        print(f"proctor: {executed.forgotten}", file=sys.stderr)
    is_empty_shard = executed.result.exit_code == 0
    if executed.result.outcome in (RunOutcome.NO_TESTS, RunOutcome.USAGE_ERROR) and not is_empty_shard:
        from proctor.cli import nothing_ran

        nothing_ran.explain(executed.result, asked, mask)


def _comparison(plan: RunPlan, stop: Stop) -> BeforeEnd | None:
    if plan.baseline is None:
        return None
    from proctor.baseline.compare import comparison  # few runs ask for it

    return comparison(plan, stop)


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor run",
        "Run tests and report what happened.",
        examples=(
            ("proctor run", "every test of the project"),
            (
                "proctor run tests/test_shop.py -k cart -x",
                "matching tests of a file, up to the first failure",
            ),
            ("proctor run -o junit=junit.xml -- --cov=shop", "also write a report; --cov goes to pytest"),
        ),
        passes_on=True,
    )
    add_options(parser)
    _add_shards(parser)
    parser.remark = EXIT_CODES
    return parser


def add_options(parser: options.Parser) -> None:
    """All but those of shards; `watch` has the same."""
    options.add_selection(parser)
    _add_choice_of_tests(parser)
    _add_limits(parser)
    _add_ways_to_run(parser)
    _add_outputs(parser)
    archive = "do not keep the run in .proctor/"
    parser.group(options.WHERE).add_argument("--no-archive", action="store_true", help=archive)
    history = "do not compare with earlier runs, and do not remember this one"
    parser.group(options.WHERE).add_argument("--no-history", action="store_true", help=history)


def _add_choice_of_tests(parser: options.Parser) -> None:
    what = parser.group(options.WHAT)
    failed = "only tests that failed when they last ran (all, if none did)"
    what.add_argument("--last-failed", "--lf", action="store_true", help=failed)
    first = "run tests that failed when they last ran first, then the others (pytest, unittest, command)"
    what.add_argument("--failed-first", "--ff", action="store_true", help=first)
    repeat = "run each test N times (pytest; default: 1)"
    what.add_argument("--repeat", type=int, default=1, metavar="N", help=repeat)
    seed = "seed of Python's hashes, and of the test order with pytest-randomly (default: random)"
    what.add_argument("--seed", type=int, metavar="N", help=seed)


def _add_shards(parser: options.Parser) -> None:
    what, how = parser.group(options.WHAT), parser.group(options.HOW)
    shard = "only shard I of N, by --plan or else by a hash of each file's name (default: all tests)"
    what.add_argument("--shard", metavar="I/N", help=shard)
    plan = "with --shard: the plan of all shards, made by `proctor plan` (default: none)"
    what.add_argument("--plan", metavar="FILE", help=plan)
    force = "with --plan, --engine: run even if the commit or the packages differ from the plan's"
    what.add_argument("--force", action="store_true", help=force)
    engine = (
        "where to run the tests, divided into shards: local, dask:ADDRESS, or MODULE:FACTORY, a function that"
        " returns an Executor (default: here, undivided)"
    )
    suggest(how.add_argument("--engine", metavar="ENGINE", help=engine), ("local", "dask:"))
    how.add_argument(
        "--shards", type=int, metavar="N", help="with --engine, required: the number of shards (no default)"
    )


def _add_limits(parser: options.Parser) -> None:
    limits = parser.group(options.LIMITS)
    limits.add_argument("-x", dest="failfast", action="store_true", help="stop at the first failure")
    maxfail = "stop after N failures (default: no limit)"
    limits.add_argument("--maxfail", type=int, default=0, metavar="N", help=maxfail)
    new = "stop at the first failure of a test that passed when it last ran"
    limits.add_argument("--exitfirst-new", action="store_true", help=new)
    test_timeout = "time limit for each test (pytest, unittest; default: none)"
    limits.add_argument("--test-timeout", metavar="TIME", help=test_timeout)


def _add_ways_to_run(parser: options.Parser) -> None:
    how = parser.group(options.HOW)
    workers = "run N tests at a time; auto: as many as there are processors (default: 1)"
    suggest(how.add_argument("-n", dest="workers", metavar="N|auto", help=workers), ("auto",))
    parallel = "fork, xdist or off: what -n uses (pytest; default: fork if that is safe, else xdist)"
    how.add_argument("--parallel", choices=("fork", "xdist", "off"), default="", metavar="WAY", help=parallel)
    isolate = "run each test in a process of its own (pytest, unittest)"
    how.add_argument("--isolate", action="store_true", help=isolate)
    retries = "run each failed test up to K times more, after the others (pytest, unittest; default: 0)"
    how.add_argument("--retries", type=int, metavar="K", help=retries)
    baseline = (
        "run the tests that failed again with the code and tests of REF, and say which fail there too"
        " (pytest, unittest; default REF: where this branch left the default branch)"
    )
    parser.add_optional(options.HOW, "--baseline", "REF", baseline)
    flaky = "pass or fail: what a test that passes only in a retry makes of the run (default: pass)"
    how.add_argument("--flaky", choices=("pass", "fail"), metavar="WHAT", help=flaky)


def _add_outputs(parser: options.Parser) -> None:
    show = parser.group(options.SHOW)
    options.add_outputs(parser, formats.offered("run"))
    options.add_report(parser)
    no_capture = "do not capture the output of tests (pytest's -s), and show it on stderr as it comes"
    show.add_argument("-s", dest="no_capture", action="store_true", help=no_capture)
    printed = "show what the test processes print, such as pytest's own text, on stderr as it comes"
    show.add_argument("--show-output", action="store_true", help=printed)
    show.add_argument(
        "--locals", action="store_true", help="show the local variables of each failure (pytest)"
    )
    verbosity = "pytest's own verbosity: 2 shows compared values in full (default: the project's)"
    show.add_argument("--verbosity", type=int, metavar="N", help=verbosity)
    tokens = "maximum size of the agent text, in tokens (default: no limit)"
    show.add_argument("--budget", type=int, metavar="TOKENS", help=tokens)
    options.add_failure_summary(parser)


def _at_least(number: int, option: str, least: int) -> int:
    if not least <= number <= _MOST[option]:
        raise UsageError(f"invalid {option} {number}: expected {least} to {_MOST[option]}")
    return number

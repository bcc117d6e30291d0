"""`proctor plan`: divide the tests among several machines."""

from __future__ import annotations

import os
import sys

from proctor import config
from proctor.cli import options
from proctor.cli.interrupt import announce_interrupt
from proctor.cli.read_report import read_report
from proctor.cli.whole_file import output_file
from proctor.errors import UsageError
from proctor.process.stop import stoppable
from proctor.regular_files import read_bytes
from proctor.result import RunResult
from proctor.shards import plan as plans
from proctor.shards.listing import Listed, check_complete, listed
from proctor.shards.making import make
from proctor.shards.split import by_time
from proctor.shards.timings import Times, of_history, of_reports
from proctor.verdict import not_run_reason


def main(arguments: list[str]) -> int:
    own, passed_on = options.split(arguments)
    parsed = parser().parse_args(own)
    if not 1 <= parsed.shards <= plans.MOST:
        raise UsageError(f"invalid --shards {parsed.shards}: expected 1 to {plans.MOST}")
    root = options.project(parsed.directory)
    _check_output(parsed.output)
    reports = [result for name in parsed.timings for result in _report(name)]
    settings = config.load(root)
    asked = options.asked(parsed, root, settings, arguments=passed_on)
    with stoppable(announce_interrupt) as stop:
        found = listed(asked, settings, os.environ, stop)
    check_complete(found.result)
    uses_history = settings.history and not reports
    times = of_history(found.result, root, os.environ) if uses_history else of_reports(found.result, reports)
    plan = make(found, os.environ, lambda groups: by_time(groups, times.seconds, times.usual, parsed.shards))
    with output_file(parsed.output) as file:
        file.write(plans.encode(plan))
    _summarise(plan, found, times, bool(reports))
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
        page="docs/reference/plan.md",
    )
    options.add_selection(parser)
    what, show = parser.group(options.WHAT), parser.group(options.SHOW)
    what.add_argument("--shards", type=int, required=True, metavar="N", help="the number of shards, required")
    times = "divide by the times in these documents, logs or JUnit files (default: those of earlier runs)"
    what.add_argument("--timings", nargs="+", action="extend", default=[], metavar="REPORT", help=times)
    show.add_argument("-o", dest="output", metavar="FILE", help="file to write (default: stdout)")
    return parser


def _report(name: str) -> list[RunResult]:
    try:
        data = read_bytes(name)
    except OSError as error:
        raise UsageError(f"--timings {name} cannot be read: {error.strerror}") from None
    return read_report(data, name)[0]


def _summarise(plan: plans.Plan, found: Listed, times: Times, by_reports: bool) -> None:
    """On stderr: where the times come from, and what the plan lacks."""
    total = len(found.result.selected)
    if by_reports:
        about = f"{len(times.seconds)} of {total} tests have a time in the reports"
        about += "; the others are taken to last the median" if 0 < len(times.seconds) < total else ""
    else:
        about = "divided by the times of earlier runs" if times else ""
    if not times:
        about = "; ".join(filter(None, [about, "divided by number, because no times are known"]))
    lines = [f"{plan.total} tests in {len(plan.shards)} shards: {about}"]
    if empty := sum(not shard.tests for shard in plan.shards):
        lines.append(f"{empty} of {len(plan.shards)} shards have no tests: a file is never divided")
    lines += [f"not in the plan: {not_run_reason(suite)}" for suite in found.result.missing]
    lines += found.result.notices
    for line in lines:
        print(f"proctor: {line}", file=sys.stderr)


def _check_output(path: str | None) -> None:
    """Before the tests are listed, which may take long."""
    if path is not None and not os.path.isdir(os.path.dirname(path) or os.curdir):
        raise UsageError(f"-o {path}: no such directory: {os.path.dirname(path)}")
    if path is not None and os.path.isdir(path):
        raise UsageError(f"-o {path} is a directory: expected a file")

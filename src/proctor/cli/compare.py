"""`proctor compare A B`: what is new, fixed, slower in the second of two runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from proctor import config
from proctor.archive.lookup import LAST, find_run
from proctor.archive.read_log import read_log
from proctor.cli import options
from proctor.cli.read_report import read_report
from proctor.cli.writers import stdout_writer
from proctor.comparison import Comparison, Side, compare, side
from proctor.errors import UsageError
from proctor.history.compared import remembered_side
from proctor.outcome import RunOutcome
from proctor.wire.literal import encode_line

STDIN = "-"


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor compare",
        "Compare two runs: which failures are new or fixed, and which tests came, went or need more time.",
        examples=(
            ("proctor compare 20261117-0915 last", "two kept runs"),
            ("proctor compare main.xml last", "a report of another tool with the last run"),
            ("proctor compare old.json new.json --format json", "two documents, for a program"),
        ),
        page="docs/reference/history.md",
    )
    what = parser.group("what to compare")
    run = (
        f"ID of a run or its beginning, {LAST}, a path of a run, report, stream or log, or {STDIN} for stdin"
    )
    what.add_argument("a", metavar="A", help=f"the run before: {run}")
    what.add_argument("b", metavar="B", help="the run after, likewise")
    options.add_format(parser, ("human", "json"), "human")
    options.add_directory(parser)
    parser.remark = (
        "exit codes: 0 nothing is new; 1 a test fails in B that did not fail in A; 2 nothing is new, but\n"
        "tests of B did not run; 5 B has no tests"
    )
    return parser


def main(arguments: list[str]) -> int:
    parsed = parser().parse_args(arguments)
    if parsed.a == parsed.b == STDIN:
        raise UsageError("A and B are both stdin: expected at most one -")
    root = options.project(parsed.directory)
    found = compare(_side(parsed.a, root), _side(parsed.b, root))
    if parsed.format == "json":
        sys.stdout.buffer.write(encode_line(found.document()))
    else:
        from proctor.render.comparison_text import write_comparison

        write_comparison(found, stdout_writer(os.environ), config.masks_secrets(root))
    _explain(found, parsed.b)
    return found.exit_code


def _side(name: str, root: Path) -> Side:
    if name == STDIN or os.path.isfile(name):
        return _of_file(name)
    try:
        folder = find_run(name, root, os.environ)
    except UsageError:
        # The history has runs that are no longer kept with all their files, and imported ones.
        if os.sep not in name and (found := remembered_side(name, root, os.environ)):
            return found
        raise
    return side(read_log(folder).result, folder.name)


def _of_file(name: str) -> Side:
    try:
        with sys.stdin.buffer if name == STDIN else open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from None
    results, gap = read_report(data, name)
    if not results:
        raise UsageError(f"{name} has no suite: nothing to compare")
    if len(results) > 1:
        raise UsageError(f"{name} has {len(results)} runs: expected a file with one")
    found = side(results[0], results[0].run.run_id or name)
    if not gap or not found.ended:
        return found
    return Side(found.name, RunOutcome.INCOMPLETE, found.ends, found.not_run, found.whole, gap)


def _explain(found: Comparison, name: str) -> None:
    """An exit code that is not 0 is explained on stderr."""
    if not found.after.complete:
        not_run = f", {len(found.after.not_run)} tests did not run" if found.after.not_run else ""
        print(f"proctor: {name}: {found.after.outcome.replace('_', ' ')}{not_run}", file=sys.stderr)
    if found.new:
        count = f"{len(found.new)} test{'s fail' if len(found.new) != 1 else ' fails'}"
        print(f"proctor: {count} that did not fail in the first run", file=sys.stderr)

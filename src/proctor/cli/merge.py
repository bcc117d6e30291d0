"""`proctor merge`: one run from many, with the proof that nothing is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from proctor import events as e
from proctor.archive.inside import Folder
from proctor.archive.lookup import find_run
from proctor.archive.store import new_run_id
from proctor.cli import options, output, text_settings
from proctor.cli.parser import EXIT_CODES, suggest
from proctor.cli.source import opened
from proctor.execute import Executed
from proctor.shards import plan as plans
from proctor.shards.merge import Recorded, merge
from proctor.wire import formats
from proctor.wire.reports.any_report import AnyReport


def main(arguments: list[str]) -> int:
    parsed = parser().parse_args(arguments)
    root = options.project(parsed.directory)
    runs = [_recorded(name, root) for name in parsed.runs]
    plan = plans.read(Path(parsed.plan)) if parsed.plan is not None else None
    settings = text_settings.of_replay(root, os.environ, options.shown(parsed))
    outputs = output.build(parsed.format, parsed.outputs, parsed.failure_summary, os.environ, settings)
    started = e.RunStarted(new_run_id(datetime.now(UTC)), "", (), str(root), "", "", suites=len(runs))
    try:
        result = merge(runs, plan, started, outputs.sinks)
        outputs.finish(Executed(result, Folder(root)))
    finally:
        outputs.close()
    return outputs.conclude(result.exit_code)


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor merge",
        "Make one run from many, and say what is missing.",
        examples=(
            ("proctor merge shard-*.jsonl --plan plan.json", "all shards of a plan"),
            ("proctor merge py311.xml py312.xml", "reports of other tools"),
        ),
        page="docs/reference/merge.md",
    )
    what = parser.group("which runs")
    run = "directory or ID of a run, a document, a log, a stream or a report of another tool"
    what.add_argument("runs", nargs="+", metavar="RUN|FILE", help=run)
    what.add_argument("--plan", metavar="FILE", help="the plan whose tests must all have a result")
    options.add_format(parser, ("auto", *formats.offered("run")), "auto")
    written = "also write this format to a file; may be repeated"
    suggest(
        parser.add_repeatable(options.SHOW, "-o", "outputs", "FORMAT=PATH", written),
        [f"{name}=" for name in formats.offered("run")],
    )
    options.add_report(parser)
    options.add_failure_summary(parser)
    options.add_directory(parser)
    parser.remark = EXIT_CODES
    return parser


def _recorded(name: str, root: Path) -> Recorded:
    if os.path.isfile(name):
        return Recorded(name, partial(_entries, name, Path(name), "auto"))
    run = find_run(name, root, os.environ)
    return Recorded(name, partial(_entries, name, run, "events"))


def _entries(name: str, where: Path | Folder, form: str) -> Iterator[Sequence[e.Entry]]:
    reader = AnyReport(name, form)
    with opened(where) as source:
        for piece in source.pieces(lambda: False):
            yield reader.feed(piece)
        yield reader.close()

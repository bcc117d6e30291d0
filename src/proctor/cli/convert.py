"""`proctor convert`: write a report in another format."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from proctor.cli import standard_streams, text_settings
from proctor.cli.parser import Parser, suggest
from proctor.cli.whole_file import whole_file
from proctor.cli.writers import Output, Runs, check
from proctor.errors import OutputError, UsageError
from proctor.events import Entry
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.wire import formats
from proctor.wire.reports.any_report import AnyReport

_PIECE = 1 << 16
_INCOMPLETE = 2


def main(arguments: list[str]) -> int:
    parsed = parser().parse_args(arguments)
    try:
        there = parsed.input != "-" and parsed.output and os.path.exists(parsed.output)
        if there and os.path.samefile(parsed.input, parsed.output):
            raise UsageError(f"-o {parsed.output} is the input itself: expected another file")
        source = sys.stdin.buffer if parsed.input == "-" else open(parsed.input, "rb")  # noqa: SIM115
        with source:
            return _convert(source, parsed.input, parsed.source, parsed.target, parsed.output)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        if standard_streams.is_full(error):
            raise OutputError(parsed.output or "stdout", error) from None
        raise UsageError(f"{error.filename or parsed.output or 'stdout'}: {error.strerror}") from None


def parser() -> Parser:
    parser = Parser(
        "proctor convert",
        "Write a report in another format.",
        examples=(
            ("proctor convert junit.xml --to agent", "a report of another tool, for an agent"),
            ("proctor convert result.json --to junit -o junit.xml", "into a file"),
            ("go test -json | proctor convert - --to ctrf", "from a pipe"),
        ),
        page="docs/reference/formats.md",
    )
    what, show = parser.group("what to read"), parser.group("what to write")
    what.add_argument("input", metavar="IN", help="the report, or - for stdin")
    known = formats.offered("from")
    read = f"format of IN: {', '.join(known)} (default: auto, by its content)"
    source = what.add_argument("--from", dest="source", metavar="FORMAT", default="auto", help=read)
    suggest(source, ("auto", *known))
    to = formats.offered("to")
    write = f"format to write, required: {', '.join(to)}"
    show.add_argument("--to", dest="target", required=True, choices=to, metavar="FORMAT", help=write)
    show.add_argument("-o", dest="output", metavar="OUT", help="file to write (default: stdout)")
    parser.remark = (
        "exit codes: 0 the whole report was read and is complete, whatever its outcomes; 2 it is not"
    )
    return parser


def _convert(source: IO[bytes], name: str, form: str, target: str, output: str | None) -> int:
    check(target)
    report = AnyReport(name, form)
    batches = _entries(report, source)
    first: list[Entry] = []
    while report.form == "auto":  # OUT is opened only after IN is known to be readable
        first += next(batches)
    results: list[RunResult] = []
    with whole_file(output) as file:
        settings = msgspec.structs.replace(text_settings.of_replay(Path(), {}), colours=False)
        runs = Runs(target, Output(file, settings, {}, path=output or ""))
        replay = Replay(runs.sinks, results.append)
        replay.take(first)
        for batch in batches:
            replay.take(batch)
        replay.close()
        replay.check()
        runs.close(name)
    gaps = [gap for gap in dict.fromkeys((*replay.gaps, report.gap)) if gap]
    gap = "; ".join(gap for gap in gaps if not any(gap != other and gap in other for other in gaps))
    lost = formats.left_out(target, results[0]) if results else []
    _remark(name, target, gap if results else "it has no suite", lost)
    return 0 if results and not gap else _INCOMPLETE


def _entries(report: AnyReport, source: IO[bytes]) -> Iterator[list[Entry]]:
    while piece := source.read(_PIECE):
        yield report.feed(piece)
    yield report.close()


def _remark(name: str, target: str, gap: str, lost: list[str]) -> None:
    remarks = [f"{name} is not complete: {gap}"] if gap else []
    if lost:
        remarks.append(f"{target} cannot hold {', '.join(lost)}: left out")
    if remarks:
        print(f"proctor: {'; '.join(remarks)}", file=sys.stderr)

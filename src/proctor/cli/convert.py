"""`proctor convert`: a report in another form."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import IO

from proctor.cli import readers, streams
from proctor.cli.parser import Parser
from proctor.cli.readers import AtTheEnd, Events, Stream
from proctor.errors import OutputError, UsageError
from proctor.events import Entry
from proctor.relay import Sink
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.wire import formats
from proctor.wire.document import writer as document
from proctor.wire.reports.any_report import AnyReport

_PIECE = 1 << 16
TARGETS = ("json", "stream", "events", *formats.WRITERS, *readers.TEXTS, "agent", "github", "failures")
_SINGLE = ("json", *formats.WRITERS)  # one run is one document
_INCOMPLETE = 2


def main(arguments: list[str]) -> int:
    parsed = _parser().parse_args(arguments)
    try:
        if parsed.output and os.path.exists(parsed.output) and _same(parsed.input, parsed.output):
            raise UsageError(f"-o {parsed.output} is the report itself; another file would do")
        source = sys.stdin.buffer if parsed.input == "-" else open(parsed.input, "rb")  # noqa: SIM115
        with source:
            return _convert(source, parsed.input, parsed.source, parsed.target, parsed.output)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        if streams.is_full(error):
            raise OutputError(parsed.output or "stdout", error) from None
        raise UsageError(f"{error.filename or parsed.output or 'stdout'}: {error.strerror}") from None


def _same(source: str, output: str) -> bool:
    return source != "-" and os.path.samefile(source, output)


def _parser() -> Parser:
    parser = Parser("proctor convert", description="Write a report in another form.")
    parser.add_argument("input", metavar="IN", help="a report, or - for stdin")
    parser.add_argument("-o", dest="output", metavar="OUT", help="a file (stdout)")
    parser.add_argument(
        "--from", dest="source", metavar="FORMAT", default="auto", help=f"auto, {', '.join(formats.READ)}"
    )
    parser.add_argument("--to", dest="target", metavar="FORMAT", required=True, choices=TARGETS)
    parser.epilog = "Exits with 0 when the whole report was read and is complete, whatever its outcomes."
    return parser


def _convert(source: IO[bytes], name: str, form: str, target: str, output: str | None) -> int:
    report = AnyReport(name, form)
    batches = _entries(report, source)
    first: list[Entry] = []
    while report.form == "auto":  # a wrong wish must not cost a file, so it is opened when that is known
        first += next(batches)
    results: list[RunResult] = []
    with _output(output) as file:
        replay = Replay(lambda: [_writer(target, file)], results.append)
        replay.take(first)
        for batch in batches:
            replay.take(batch)
        replay.close()
        replay.check()
    if len(results) > 1 and target in _SINGLE:
        raise UsageError(f"{name} has {len(results)} runs, and {target} holds one; stream or events would do")
    gap = "; ".join([*replay.gaps, *([report.gap] if report.gap else [])])
    lost = formats.left_out(target, results[0]) if results and target in formats.WRITERS else []
    _remark(name, target, gap if results else "it has no suite", lost)
    return 0 if results and not gap else _INCOMPLETE


def _entries(report: AnyReport, source: IO[bytes]) -> Iterator[list[Entry]]:
    while piece := source.read(_PIECE):
        yield report.feed(piece)
    yield report.close()


def _writer(target: str, file: IO[bytes]) -> Sink:
    if target == "events":
        return Events(file)
    if target == "stream":
        from proctor.wire.stream.writer import StrictStream

        return Stream(file, StrictStream())
    if target in readers.TEXTS or target in ("agent", "github", "failures"):
        return readers.text_reader(target, readers.speaker(file), {})
    return AtTheEnd(lambda result: file.writelines(_chunks(target, result)))


def _remark(name: str, target: str, gap: str, lost: list[str]) -> None:
    remarks = [f"{name} is not complete: {gap}"] if gap else []
    if lost:
        remarks.append(f"{target} cannot hold {', '.join(lost)}: left out")
    if remarks:
        print(f"proctor: {'; '.join(remarks)}", file=sys.stderr)


def _output(path: str | None) -> IO[bytes]:
    return open(path, "wb") if path else open(sys.stdout.fileno(), "wb", closefd=False)


def _chunks(target: str, result: RunResult) -> Iterator[bytes]:
    if target == "json":
        return document.chunks(result, load=_no_files)
    return formats.writer(target)(result)


def _no_files(path: str) -> str:
    raise FileNotFoundError(path)  # no report brings files

"""`proctor convert`: another tool's report in another form."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO

from proctor.cli.parser import Parser
from proctor.errors import StreamError, UsageError
from proctor.events import ChannelBroken, RunStarted
from proctor.launch import Voice
from proctor.relay import Relay, Sink
from proctor.result import Result
from proctor.wire import document, formats
from proctor.wire.detect import HEAD, detect
from proctor.wire.report import Reader

_PIECE = 1 << 16
_OWN = ("json", "events")  # what we write of every run; the others are written for other tools
_INCOMPLETE = 2


def main(arguments: list[str]) -> int:
    parsed = _parser().parse_args(arguments)
    try:
        source = sys.stdin.buffer if parsed.input == "-" else open(parsed.input, "rb")  # noqa: SIM115
        with source:
            return _convert(source, parsed.input, parsed.source, parsed.target, parsed.output)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise UsageError(f"{error.filename or parsed.output or 'stdout'}: {error.strerror}") from None


def _parser() -> Parser:
    parser = Parser("proctor convert", description="Write another tool's report in another form.")
    parser.add_argument("input", metavar="IN", help="a report, or - for stdin")
    parser.add_argument("-o", dest="output", metavar="OUT", help="a file (stdout)")
    parser.add_argument(
        "--from", dest="source", metavar="FORMAT", default="auto", help=f"auto, {', '.join(formats.READERS)}"
    )
    parser.add_argument(
        "--to", dest="target", metavar="FORMAT", required=True, choices=(*_OWN, *formats.WRITERS)
    )
    parser.epilog = "Exits with 0 when the whole report was read and is complete, whatever its outcomes."
    return parser


def _convert(source: IO[bytes], name: str, form: str, target: str, output: str | None) -> int:
    head = source.read(HEAD)
    if form == "auto":
        form = _detected(head, name)
    reader = formats.reader(form)  # before the output is opened: a wrong name must not cost a file
    with _output(output) as file:
        started = RunStarted("", form, (), "", "", "", source=Voice.REPORT)
        relay = Relay(started, _sinks(target, file))
        gap = _read(head, source, reader, relay)
        finished = relay.result.finished
        result = relay.close(finished.duration if finished else 0.0)
        for chunk in _chunks(target, result):
            file.write(chunk)
        file.flush()
    lost = formats.left_out(target, result) if target in formats.WRITERS else []
    remarks = [f"{name} is not complete: {gap}"] if gap else []
    if lost:
        remarks.append(f"{target} cannot hold {', '.join(lost)}: left out")
    if remarks:
        print(f"proctor: {'; '.join(remarks)}", file=sys.stderr)
    return _INCOMPLETE if gap else 0


def _sinks(target: str, file: IO[bytes]) -> list[Sink]:
    """Events are written as they are read; everything else when all of them are known."""
    if target != "events":
        return []
    from proctor.cli.output import Events

    return [Events(file)]


def _detected(head: bytes, name: str) -> str:
    form = detect(head, name)
    if form is None and not head:
        raise UsageError(f"{name} is empty: the tool that should have written it ended before it did")
    if form is None:
        raise UsageError(f"cannot tell the format of {name}; --from: {', '.join(formats.READERS)}")
    return form


def _read(head: bytes, source: IO[bytes], reader: Reader, relay: Relay) -> str:
    """What keeps the report from being complete; what was read until then is kept."""
    try:
        for piece in _pieces(head, source):
            for event in reader.feed(piece):
                relay.publish(event, 0.0)
        for event in reader.close():
            relay.publish(event, 0.0)
    except StreamError as error:
        relay.publish(ChannelBroken(str(error)), 0.0)
    result = relay.result
    if result.finished is None:
        return result.channel_error or "it has no end"
    return ""


def _pieces(head: bytes, source: IO[bytes]) -> Iterator[bytes]:
    piece = head
    while piece:
        yield piece
        piece = source.read(_PIECE)


def _output(path: str | None) -> IO[bytes]:
    return open(path, "wb") if path else open(sys.stdout.fileno(), "wb", closefd=False)


def _chunks(target: str, result: Result) -> Iterator[bytes]:
    if target == "json":
        return document.chunks(result, load=_no_files)
    return formats.writer(target)(result) if target in formats.WRITERS else iter(())


def _no_files(path: str) -> str:
    raise FileNotFoundError(path)  # no report brings files

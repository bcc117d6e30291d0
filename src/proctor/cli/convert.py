"""`proctor convert`: another tool's report in another form."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import IO

from proctor.cli.parser import Parser
from proctor.errors import StreamError, UsageError
from proctor.events import ChannelBroken, Entry, RunStarted
from proctor.launch import Voice
from proctor.relay import Relay
from proctor.result import Result
from proctor.wire import document, formats, jsonl
from proctor.wire.detect import HEAD, detect
from proctor.wire.report import Reader

_PIECE = 1 << 16
_OWN = ("json", "events")  # what we write of every run; the others are written for other tools
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
        raise UsageError(f"{error.filename or parsed.output or 'stdout'}: {error.strerror}") from None


def _same(source: str, output: str) -> bool:
    return source != "-" and os.path.samefile(source, output)


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


class _Log:
    """A sink that writes each event as it comes. Its fault is kept: the file is all that is asked for."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.fault: OSError | None = None

    def handle(self, entry: Entry, so_far: Result) -> None:
        try:
            self._file.write(jsonl.encode(entry, so_far))
        except OSError as error:
            self.fault = error
            raise

    def tick(self, now: float, so_far: Result) -> None:
        """There is no one to wait for a line."""


def _convert(source: IO[bytes], name: str, form: str, target: str, output: str | None) -> int:
    head = source.read(HEAD)
    if form == "auto":
        form = _detected(head, name)
    reader = formats.reader(form)  # before the output is opened: a wrong name must not cost a file
    with _output(output) as file:
        log = _Log(file)
        started = RunStarted("", form, (), "", "", "", source=Voice.REPORT)
        relay = Relay(started, [log] if target == "events" else [])
        gap = _read(head, source, reader, relay)
        finished = relay.result.finished
        result = relay.close(finished.duration if finished else 0.0)
        for chunk in _chunks(target, result):
            file.write(chunk)
        if log.fault is not None:
            raise log.fault
    _remark(name, target, gap, formats.left_out(target, result) if target in formats.WRITERS else [])
    return _INCOMPLETE if gap else 0


def _remark(name: str, target: str, gap: str, lost: list[str]) -> None:
    remarks = [f"{name} is not complete: {gap}"] if gap else []
    if lost:
        remarks.append(f"{target} cannot hold {', '.join(lost)}: left out")
    if remarks:
        print(f"proctor: {'; '.join(remarks)}", file=sys.stderr)


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

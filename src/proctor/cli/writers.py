"""Sinks that write a run to a file or to stdout, one for each format of the table in `wire/formats`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from proctor.cli.text_settings import TextSettings
from proctor.errors import OutputError
from proctor.events import Entry, Event, RunFinished
from proctor.outcome import RunOutcome
from proctor.relay import Sink
from proctor.render.writer import Writer, coloured_writer, plain_writer
from proctor.result import RunResult
from proctor.text import utf8
from proctor.wire import formats


class Output(NamedTuple):
    """What a writer needs beside the run."""

    file: IO[bytes]
    settings: TextSettings
    environ: Mapping[str, str]
    directory: Callable[[], Path | None] = lambda: None  # of the files that tests attached, at the end

    @property
    def write(self) -> Writer:
        return speaker(self.file, self.settings.colours)


class Lines:
    """Writes the lines of each entry at once. A run that goes on gets no final line."""

    name = "lines"

    def __init__(self, file: IO[bytes], encode: Callable[[Entry, RunResult], Iterable[bytes]]) -> None:
        self._file, self._encode = file, encode

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        if not (isinstance(entry.event, RunFinished) and entry.event.outcome is RunOutcome.RUNNING):
            self._file.writelines(self._encode(entry, so_far))

    def tick(self, now: float, so_far: RunResult) -> None:
        self._file.flush()


class AtTheEnd:
    """Writes the result when the run is over."""

    name = "the report"

    def __init__(self, write: Callable[[RunResult], None]) -> None:
        self.write = write

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        if isinstance(entry.event, RunFinished):
            self.write(so_far)

    def handle_all(self, first: Entry, events: Sequence[Event], so_far: RunResult) -> None:
        if isinstance(events[-1], RunFinished):  # nothing follows it
            self.write(so_far)

    def tick(self, now: float, so_far: RunResult) -> None:
        pass


def writer(name: str, output: Output) -> Sink:
    """The sink for a format; one that writes nothing before the end of a run is `AtTheEnd`."""
    row = formats.FORMATS[name]
    made = formats.load(row.write)
    sink: Sink
    if row.writer == "report":
        sink = AtTheEnd(lambda result: write_all(output.file, made(result)))
    elif row.writer == "text":
        sink = AtTheEnd(lambda result: made(result, output.write))
    else:
        sink = made(output.write if row.writer == "sink" else output)
    return masking(sink, output.settings) if row.mask == "values" else sink


def for_each_run(name: str, output: Output) -> Callable[[], list[Sink]]:
    """Makes the sink for each run of an input that may have several; labels of a stream are unique in all."""
    first = writer(name, output)
    return lambda: [first if isinstance(first, Lines) else writer(name, output)]


def masking(sink: Sink, settings: TextSettings) -> Sink:
    """The same sink, with secrets masked in what it gets, unless the settings turn that off."""
    if not settings.mask:
        return sink
    from proctor.render.masking import Masked, masked_values

    if isinstance(sink, AtTheEnd):
        write = sink.write
        return AtTheEnd(lambda result: write(masked_values(result)))
    return Masked(sink)


def events(output: Output) -> Sink:
    from proctor.wire.stream import log

    return Lines(output.file, lambda entry, so_far: [log.encode(entry, so_far)])


def stream(output: Output) -> Sink:
    from proctor.wire.stream.writer import StrictStream

    return Lines(output.file, StrictStream().lines)


def json(output: Output) -> Sink:
    from proctor.archive.recording import document_chunks

    return AtTheEnd(lambda result: write_all(output.file, document_chunks(result, output.directory())))


def report(output: Output) -> Sink:
    """The text for people as a file has it: nothing before the end of the run."""
    from proctor.render.human import report_text

    return AtTheEnd(lambda result: output.write(report_text(result)))


def agent(output: Output) -> Sink:
    return AtTheEnd(lambda result: output.write(output.settings.agent_text(result)))


def failures(output: Output) -> Sink:
    return AtTheEnd(lambda result: output.write(output.settings.failure_index(result)))


def github(output: Output) -> Sink:
    from secrets import token_hex

    from proctor.render.github import SUMMARY, step_summary, write_github_log

    def write(result: RunResult) -> None:
        write_github_log(result, output.write, _prefix(result, output.environ), token_hex(16))
        if path := output.environ.get("GITHUB_STEP_SUMMARY"):
            try:
                with open(path, "ab") as file:
                    text = step_summary(result, SUMMARY - file.tell())
                    file.write(utf8(text))
            except OSError as error:
                raise OutputError(path, error) from None

    return AtTheEnd(write)


def _prefix(result: RunResult, environ: Mapping[str, str]) -> str:
    """From the repository to the project, in whose terms places are given."""
    workspace = environ.get("GITHUB_WORKSPACE")
    if not workspace:
        return ""
    relative = os.path.relpath(result.run.cwd or os.getcwd(), workspace)
    return "" if relative == "." or relative.startswith("..") else f"{relative}/"


def speaker(file: IO[bytes], colours: bool = False) -> Writer:
    def write(text: str) -> None:
        file.write(utf8(text))
        file.flush()

    return coloured_writer(write) if colours else plain_writer(write)


def write_all(file: IO[bytes], chunks: Iterable[bytes]) -> None:
    file.writelines(chunks)
    file.flush()

"""Sinks that write a run to a file or to stdout, one for each format of the table in `wire/formats`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, NamedTuple

from proctor.cli.text_settings import TextSettings, on_terminal, wants_colours
from proctor.errors import OutputError, UsageError
from proctor.events import Entry, Event, RunFinished
from proctor.outcome import RunOutcome
from proctor.relay import Sink
from proctor.render.writer import Writer, coloured_writer, plain_writer
from proctor.result import RunResult
from proctor.text import utf8
from proctor.wire import formats

if TYPE_CHECKING:
    from proctor.archive.inside import Folder


class Output(NamedTuple):
    """What a writer needs beside the run."""

    file: IO[bytes]
    settings: TextSettings
    environ: Mapping[str, str]
    directory: Callable[[], Folder | None] = lambda: None  # of the files that tests attached, at the end
    path: str = ""  # of the file; empty: it is stdout

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
    """Writes the result when the run is over. `follows` is a sink that collects what no result says."""

    name = "the report"

    def __init__(self, write: Callable[[RunResult], None], follows: Sink | None = None) -> None:
        self.write, self.follows = write, follows

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        if isinstance(entry.event, RunFinished):
            self.write(so_far)

    def handle_all(self, first: Entry, events: Sequence[Event], so_far: RunResult) -> None:
        if isinstance(events[-1], RunFinished):  # nothing follows it
            self.write(so_far)

    def tick(self, now: float, so_far: RunResult) -> None:
        pass


def check(name: str) -> None:
    """Raises a UsageError if a package is missing that this format needs."""
    if name == "html":
        from proctor.cli.page import check_installed

        check_installed()


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


class Runs:
    """Writes an input that may have several runs: a format that holds one is written when all was read."""

    def __init__(self, name: str, output: Output) -> None:
        self._name, self._output = name, output
        self._first = writer(name, output)
        self._results: list[RunResult] = []

    def sinks(self) -> list[Sink]:
        """For the next run; labels of a stream are unique in all of them."""
        if formats.FORMATS[self._name].one_run:
            follows = self._first.follows if isinstance(self._first, AtTheEnd) else None
            return [*([follows] if follows else []), AtTheEnd(self._results.append)]
        return [self._first if isinstance(self._first, Lines) else writer(self._name, self._output)]

    def close(self, source: str) -> None:
        """Write the only run, if that has waited for the end of `source`."""
        if len(self._results) > 1:
            many = f"{source} has {len(self._results)} runs and {self._name} holds one"
            raise UsageError(f"{many}: expected stream or events")
        if self._results and isinstance(self._first, AtTheEnd):
            self._first.write(self._results[0])


def masking(sink: Sink, settings: TextSettings) -> Sink:
    """The same sink, with secrets masked in what it gets, unless the settings turn that off."""
    if not settings.mask:
        return sink
    from proctor.render.masking import Masked, masked_values

    if isinstance(sink, AtTheEnd):
        write = sink.write
        return AtTheEnd(lambda result: write(masked_values(result)), sink.follows)
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


def human(output: Output) -> Sink:
    from proctor.render.plain_log import PlainLog

    return PlainLog(output.write, output.settings.shown)


def report(output: Output) -> Sink:
    """The text for people as a file has it: nothing before the end of the run."""
    from proctor.render.human import report_text

    return AtTheEnd(lambda result: output.write(report_text(result, output.settings.shown)))


def agent(output: Output) -> Sink:
    return AtTheEnd(lambda result: output.write(output.settings.agent_text(result)))


def failures(output: Output) -> Sink:
    return AtTheEnd(lambda result: output.write(output.settings.failure_index(result)))


def html(output: Output) -> Sink:
    from proctor.cli.page import run_writer

    timeline, write = run_writer(output)
    return AtTheEnd(write, timeline)


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
        if text.endswith("\n"):
            file.flush()

    return coloured_writer(write) if colours else plain_writer(write)


def stdout_writer(environ: Mapping[str, str]) -> Writer:
    """For the texts of verbs that write no run."""
    if not on_terminal(environ):
        return speaker(sys.stdout.buffer, wants_colours(environ))
    from rich.console import Console

    from proctor.render.terminal_writer import TerminalWriter

    return TerminalWriter(Console())


def write_all(file: IO[bytes], chunks: Iterable[bytes]) -> None:
    file.writelines(chunks)
    file.flush()

"""The readers of runs by the names of their formats, and what they need from the world: a stream to speak on,
colours, a terminal, the places that GitHub names."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING

from proctor.errors import OutputError
from proctor.events import Entry, RunFinished
from proctor.relay import Sink
from proctor.render.writer import Writer, coloured_writer, plain_writer
from proctor.result import RunResult
from proctor.text import utf8
from proctor.wire.stream import log as jsonl

if TYPE_CHECKING:
    from proctor.wire.stream.writer import StrictStream

#: Formats that are text for people, and may have colours.
TEXTS = ("human", "libtest", "dots", "names", "tree", "summary")


class Events:
    """Each event as a line, at once."""

    name = "events"

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        self._file.write(jsonl.encode(entry, so_far))

    def tick(self, now: float, so_far: RunResult) -> None:
        self._file.flush()


class Stream:
    """The public stream, each line as soon as it can be said."""

    name = "stream"

    def __init__(self, file: IO[bytes], stream: StrictStream) -> None:
        self._file, self._stream = file, stream

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        self._file.writelines(self._stream.lines(entry, so_far))

    def tick(self, now: float, so_far: RunResult) -> None:
        self._file.flush()


class AtTheEnd:
    """A reader that has nothing to say before the run is over."""

    name = "the report"

    def __init__(self, tell: Callable[[RunResult], None]) -> None:
        self._tell = tell

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        if isinstance(entry.event, RunFinished):
            self._tell(so_far)

    def tick(self, now: float, so_far: RunResult) -> None:
        pass


def text_reader(form: str, write: Writer, environ: Mapping[str, str]) -> Sink:
    """A reader that speaks; each is loaded only when it is asked for."""
    if form == "human":
        from proctor.render.human import PlainLog

        return PlainLog(write)
    if form == "agent":
        from proctor.render.agent import agent_text

        return AtTheEnd(lambda result: write(agent_text(result)))
    if form == "failures":
        from proctor.render.result_index import failure_index

        return AtTheEnd(lambda result: write(failure_index(result)))
    if form == "libtest":
        from proctor.render.libtest import Libtest

        return Libtest(write)
    if form == "dots":
        from proctor.render.dots import Dots

        return Dots(write)
    if form == "names":
        from proctor.render.line_per_test import LinePerTest

        return LinePerTest(write)
    if form == "tree":
        from proctor.render.outcome_tree import write_outcome_tree

        return AtTheEnd(lambda result: write_outcome_tree(result, write))
    if form == "summary":
        from proctor.render.summary import write_summary

        return AtTheEnd(lambda result: write_summary(result, write))
    assert form == "github", form
    return AtTheEnd(lambda result: _write_github(result, write, environ))


def speaker(file: IO[bytes], colours: bool = False) -> Writer:
    def write(text: str) -> None:
        file.write(utf8(text))
        file.flush()

    return coloured_writer(write) if colours else plain_writer(write)


def wants_colours(environ: Mapping[str, str]) -> bool:
    """NO_COLOR is obeyed before FORCE_COLOR, and that before what stdout is."""
    if environ.get("NO_COLOR"):
        return False
    if forced := environ.get("FORCE_COLOR"):
        return forced != "0"
    return on_terminal(environ)


def on_terminal(environ: Mapping[str, str]) -> bool:
    return sys.stdout.isatty() and environ.get("TERM") != "dumb"


def _write_github(result: RunResult, write: Writer, environ: Mapping[str, str]) -> None:
    from secrets import token_hex

    from proctor.render.github import SUMMARY, step_summary, write_github_log

    write_github_log(result, write, _prefix(result, environ), token_hex(16))
    if path := environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with open(path, "ab") as file:
                text = step_summary(result, SUMMARY - file.tell())
                file.write(utf8(text))
        except OSError as error:
            raise OutputError(path, error) from None


def _prefix(result: RunResult, environ: Mapping[str, str]) -> str:
    """From the repository to the project, in whose terms places are given."""
    workspace = environ.get("GITHUB_WORKSPACE")
    if not workspace:
        return ""
    relative = os.path.relpath(result.run.cwd or os.getcwd(), workspace)
    return "" if relative == "." or relative.startswith("..") else f"{relative}/"

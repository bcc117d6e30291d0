"""Where an answer goes and in which form: readers of a run, made from `--format` and `-o FORMAT=PATH`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import IO, NamedTuple

from proctor.agent_mode import agent_mode
from proctor.archive.recording import loader, whole_output
from proctor.errors import UsageError
from proctor.events import Entry
from proctor.execute import Answer
from proctor.relay import Sink
from proctor.render.agent import agent_text
from proctor.render.failure_index import failure_index
from proctor.render.human import PlainLog, report
from proctor.result import Result
from proctor.wire import document, jsonl

FORMATS = ("auto", "human", "agent", "json", "events", "results")
_TEXTS = ("human", "agent")  # something may follow them; the others are read to their last byte


class Events:
    """Each event as a line, at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def handle(self, entry: Entry, so_far: Result) -> None:
        self._file.write(jsonl.encode(entry, so_far))

    def tick(self, now: float, so_far: Result) -> None:
        self._file.flush()


class Outputs:
    """All that was asked for: what follows the run live, and what is written when it is over."""

    def __init__(self) -> None:
        self.sinks: list[Sink] = []
        self.result_lines: list[Callable[[bytes], None]] = []
        self._last: list[Callable[[Answer], None]] = []
        self._close: list[Callable[[], None]] = []

    def add(self, form: str, file: IO[bytes]) -> None:
        if form == "events":
            self.sinks.append(Events(file))
        elif form == "results":
            self.result_lines.append(lambda line: _line(file, line))
        elif form == "json":
            self._last.append(lambda answer: _document(answer, file))
        elif form == "agent":
            self._last.append(lambda answer: _text(file, agent_text(answer.result)))
        else:
            self._last.append(lambda answer: _text(file, report(answer.result)))

    def add_terminal(self, environ: Mapping[str, str]) -> None:
        """A person's view: live on a terminal, plain lines elsewhere."""
        if sys.stdout.isatty() and environ.get("TERM") != "dumb":
            from rich.console import Console

            from proctor.render.live import LiveTerminal

            live = LiveTerminal(Console())
            self.sinks.append(live)
            self._close.append(live.close)
        else:
            self.sinks.append(PlainLog(_say))

    def add_failure_index(self, rows: int, length: int) -> None:
        """The last thing on stdout."""
        self._last.append(lambda answer: _failure_index(answer.result, rows, length))

    def finish(self, answer: Answer) -> None:
        for write in self._last:
            write(answer)

    def close(self) -> None:
        for close in self._close:
            close()


class Summary(NamedTuple):
    """The failure index as it was asked for: `auto`, `on` or `off`."""

    asked: str
    rows: int
    length: int


def build(form: str, files: list[str], summary: Summary, environ: Mapping[str, str]) -> Outputs:
    outputs = Outputs()
    is_terminal = sys.stdout.isatty()
    if form == "auto":
        form = "agent" if agent_mode(environ, is_terminal).on else "human"
    if summary.asked == "on" and form not in _TEXTS:
        raise UsageError(f"--failure-summary on follows a text; --format {form} is none: human would do")
    for option in files:
        name, equals, path = option.partition("=")
        if not equals or not path or name not in FORMATS[1:]:
            raise UsageError(f"-o {option!r} is not FORMAT=PATH; formats: {', '.join(FORMATS[1:])}")
        try:
            file = open(path, "wb")  # noqa: SIM115  open until the run is over
        except OSError as error:
            raise UsageError(f"-o {option!r} cannot be written: {error.strerror}") from None
        outputs.add(name, file)
        outputs._close.append(file.close)
    if form == "human":
        outputs.add_terminal(environ)
    else:
        outputs.add(form, sys.stdout.buffer)
    # The text for agents has a line for each failure already.
    if summary.asked == "on" or (form == "human" and agent_mode(environ, is_terminal, summary.asked).on):
        outputs.add_failure_index(summary.rows, summary.length)
    return outputs


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _line(file: IO[bytes], line: bytes) -> None:
    file.write(line)
    file.flush()


def _text(file: IO[bytes], text: str) -> None:
    file.write(text.encode("utf-8", "backslashreplace"))
    file.flush()


def _failure_index(result: Result, rows: int, length: int) -> None:
    try:
        text = failure_index(result, rows, length)
    except Exception as error:  # noqa: BLE001  a fault here must not cost the run
        print(f"proctor: no failure index: {type(error).__name__}: {error}", file=sys.stderr)
        return
    sys.stdout.flush()
    _text(sys.stdout.buffer, text)


def _document(answer: Answer, file: IO[bytes]) -> None:
    directory = answer.directory
    for chunk in document.chunks(answer.result, loader(directory), whole_output(directory, answer.result)):
        file.write(chunk)
    file.flush()

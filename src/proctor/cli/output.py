"""Where an answer goes and in which form: readers of a run, made from `--format` and `-o FORMAT=PATH`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import IO

import msgspec

from proctor.agent_mode import agent_mode
from proctor.archive.recording import loader, whole_output
from proctor.errors import UsageError
from proctor.events import Entry
from proctor.execute import Answer
from proctor.relay import Sink
from proctor.render.agent import Detail, agent_text
from proctor.render.budget import within
from proctor.render.human import PlainLog, report
from proctor.result import Result
from proctor.wire import document, jsonl

FORMATS = ("auto", "human", "agent", "json", "events", "results")


class Telling(msgspec.Struct, frozen=True):
    """How much an agent is told."""

    budget: int = 0
    mask_secrets: bool = True
    kept: bool = True  # `proctor show` will find the run

    def text(self, result: Result) -> str:
        detail = Detail(mask=self.mask_secrets, kept=self.kept)
        return within(result, self.budget, detail) if self.budget else agent_text(result, detail)


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

    def __init__(self, telling: Telling) -> None:
        self._telling = telling
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
            self._last.append(lambda answer: _text(file, self._telling.text(answer.result)))
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

    def finish(self, answer: Answer) -> None:
        for write in self._last:
            write(answer)

    def close(self) -> None:
        for close in self._close:
            close()


def build(form: str, files: list[str], environ: Mapping[str, str], telling: Telling) -> Outputs:
    outputs = Outputs(telling)
    if form == "auto":
        form = "agent" if agent_mode(environ, sys.stdout.isatty()).on else "human"
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


def _document(answer: Answer, file: IO[bytes]) -> None:
    directory = answer.directory
    for chunk in document.chunks(answer.result, loader(directory), whole_output(directory, answer.result)):
        file.write(chunk)
    file.flush()

"""Where an answer goes and in which form: readers of a run, made from `--format` and `-o FORMAT=PATH`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import IO

from proctor.agent_mode import agent_mode
from proctor.archive.recording import loader, whole_output
from proctor.cli.readers import Events, Stream, on_terminal, speaker, text_reader, wants_colours
from proctor.errors import UsageError
from proctor.execute import Answer
from proctor.relay import Sink
from proctor.render.agent import agent_text
from proctor.wire import document

FORMATS = ("auto", "human", "agent", "json", "stream", "events", "results", "github", "junit", "ctrf", "tap")


class Outputs:
    """All that was asked for: what follows the run live, and what is written when it is over."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.sinks: list[Sink] = []
        self.result_lines: list[Callable[[bytes], None]] = []
        self._last: list[Callable[[Answer], None]] = []
        self._close: list[Callable[[], None]] = []

    def add(self, form: str, file: IO[bytes]) -> None:
        if form == "events":
            self.sinks.append(Events(file))
        elif form == "stream":
            from proctor.wire.stream import StrictStream

            self.sinks.append(Stream(file, StrictStream()))
        elif form == "github":
            self.sinks.append(text_reader(form, speaker(file), self._environ))
        elif form == "results":
            self.result_lines.append(lambda line: _line(file, line))
        elif form == "json":
            self._last.append(lambda answer: _document(answer, file))
        elif form in ("junit", "ctrf", "tap"):
            from proctor.wire import formats

            write = formats.writer(form)
            self._last.append(lambda answer: file.writelines(write(answer.result)))
        elif form == "agent":
            self._last.append(lambda answer: speaker(file)(agent_text(answer.result)))
        else:
            from proctor.render.human import report_text

            self._last.append(lambda answer: speaker(file)(report_text(answer.result)))

    def add_file(self, form: str, path: str) -> None:
        file = open(path, "wb")  # noqa: SIM115  open until the run is over
        self.add(form, file)
        self._close.append(file.close)

    def add_terminal(self) -> None:
        """A person's view: live on a terminal, plain lines elsewhere."""
        if on_terminal(self._environ):
            from rich.console import Console

            from proctor.render.live import LiveTerminal

            live = LiveTerminal(Console())
            self.sinks.append(live)
            self._close.append(live.close)
        else:
            say = speaker(sys.stdout.buffer, wants_colours(self._environ))
            self.sinks.append(text_reader("human", say, self._environ))

    def finish(self, answer: Answer) -> None:
        for write in self._last:
            write(answer)

    def close(self) -> None:
        for close in self._close:
            close()


def build(form: str, files: list[str], environ: Mapping[str, str]) -> Outputs:
    outputs = Outputs(environ)
    for option in files:
        name, equals, path = option.partition("=")
        if not equals or not path or name not in FORMATS[1:]:
            raise UsageError(f"-o {option!r} is not FORMAT=PATH; formats: {', '.join(FORMATS[1:])}")
        try:
            outputs.add_file(name, path)
        except OSError as error:
            raise UsageError(f"-o {option!r} cannot be written: {error.strerror}") from None
    form = chosen(form, environ)
    if form == "human":
        outputs.add_terminal()
    else:
        outputs.add(form, sys.stdout.buffer)
    return outputs


def chosen(form: str, environ: Mapping[str, str]) -> str:
    """What `auto` stands for here."""
    if form != "auto":
        return form
    return "agent" if agent_mode(environ, sys.stdout.isatty()).on else "human"


def _line(file: IO[bytes], line: bytes) -> None:
    file.write(line)
    file.flush()


def _document(answer: Answer, file: IO[bytes]) -> None:
    directory = answer.directory
    for chunk in document.chunks(answer.result, loader(directory), whole_output(directory, answer.result)):
        file.write(chunk)
    file.flush()

"""Where an answer goes and in which form: readers of a run, made from `--format` and `-o FORMAT=PATH`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import IO, NamedTuple

from proctor.agent_mode import agent_mode
from proctor.archive.recording import loader, whole_output
from proctor.cli.readers import Events, Stream, on_terminal, speaker, text_reader, wants_colours
from proctor.cli.telling import Telling
from proctor.errors import UsageError
from proctor.execute import Answer
from proctor.relay import Sink
from proctor.result import Result
from proctor.wire import document

FORMATS = ("auto", "human", "agent", "json", "stream", "events", "results", "github", "junit", "ctrf", "tap")
_TEXTS = ("human", "agent")  # something may follow them; the others are read to their last byte


class Outputs:
    """All that was asked for: what follows the run live, and what is written when it is over."""

    def __init__(self, environ: Mapping[str, str], telling: Telling) -> None:
        self._environ, self._telling = environ, telling
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
            self._last.append(lambda answer: speaker(file)(self._telling.text(answer.result)))
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

    def add_failure_index(self, summary: Summary) -> None:
        """The last thing on stdout."""
        self._last.append(lambda answer: _failure_index(answer.result, summary))

    def finish(self, answer: Answer) -> None:
        for write in self._last:
            write(answer)

    def close(self) -> None:
        for close in self._close:
            close()


class Summary(NamedTuple):
    """The failure index as it was asked for: `auto`, `on` or `off`."""

    asked: str
    rows: int | None = None  # None: as many as usual
    length: int | None = None


def build(
    form: str, files: list[str], summary: Summary, environ: Mapping[str, str], telling: Telling
) -> Outputs:
    form = chosen(form, environ)
    if summary.asked == "on" and form not in _TEXTS:
        raise UsageError(f"--failure-summary on follows a text; --format {form} is none: human would do")
    outputs = Outputs(environ, telling)
    for option in files:
        name, equals, path = option.partition("=")
        if not equals or not path or name not in FORMATS[1:]:
            raise UsageError(f"-o {option!r} is not FORMAT=PATH; formats: {', '.join(FORMATS[1:])}")
        try:
            outputs.add_file(name, path)
        except OSError as error:
            raise UsageError(f"-o {option!r} cannot be written: {error.strerror}") from None
    if form == "human":
        outputs.add_terminal()
    else:
        outputs.add(form, sys.stdout.buffer)
    if summary.asked == "on" or (form == "human" and _agent_reads(summary, environ)):
        outputs.add_failure_index(summary)  # the text for agents has such lines already
    return outputs


def _agent_reads(summary: Summary, environ: Mapping[str, str]) -> bool:
    return agent_mode(environ, sys.stdout.isatty(), summary.asked).on


def chosen(form: str, environ: Mapping[str, str]) -> str:
    """What `auto` stands for here."""
    if form != "auto":
        return form
    return "agent" if agent_mode(environ, sys.stdout.isatty()).on else "human"


def _line(file: IO[bytes], line: bytes) -> None:
    file.write(line)
    file.flush()


def _failure_index(result: Result, summary: Summary) -> None:
    from proctor.failure_row import LENGTH, ROWS
    from proctor.render.failure_index import failure_index

    try:
        text = failure_index(result, summary.rows or ROWS, summary.length or LENGTH)
    except Exception as error:  # noqa: BLE001  a fault here must not cost the run
        print(f"proctor: no failure index: {type(error).__name__}: {error}", file=sys.stderr)
        return
    sys.stdout.flush()
    speaker(sys.stdout.buffer)(text)


def _document(answer: Answer, file: IO[bytes]) -> None:
    directory = answer.directory
    for chunk in document.chunks(answer.result, loader(directory), whole_output(directory, answer.result)):
        file.write(chunk)
    file.flush()

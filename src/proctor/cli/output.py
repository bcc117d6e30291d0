"""Where an answer goes and in which form: readers of a run, made from `--format` and `-o FORMAT=PATH`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import IO, NamedTuple, TypeVar

from proctor.agent_mode import agent_mode
from proctor.archive.recording import document_chunks
from proctor.cli import streams
from proctor.cli.readers import Events, Stream, on_terminal, speaker, text_reader, wants_colours
from proctor.cli.telling import Telling
from proctor.errors import OutputError, UsageError
from proctor.execute import Executed
from proctor.relay import Sink
from proctor.result import RunResult

FORMATS = ("auto", "human", "agent", "json", "stream", "events", "results", "github", "junit", "ctrf", "tap")
_STDOUT = "stdout"
_Given = TypeVar("_Given")
_TEXTS = ("human", "agent")  # something may follow them; the others are read to their last byte


class Outputs:
    """All that was asked for: what follows the run live, and what is written when it is over.

    One that cannot be written costs neither the run nor the others.
    """

    def __init__(self, environ: Mapping[str, str], telling: Telling) -> None:
        self._environ, self._telling = environ, telling
        self._live: list[tuple[str, Sink]] = []
        self.result_lines: list[Callable[[bytes], None]] = []
        self._last: list[Callable[[Executed], None]] = []
        self._close: list[tuple[str, Callable[[], None]]] = []
        self._faults: dict[str, Exception] = {}

    @property
    def sinks(self) -> list[Sink]:
        return [sink for _, sink in self._live]

    def add(self, name: str, form: str, file: IO[bytes]) -> None:
        if form == "events":
            self._live.append((name, Events(file)))
        elif form == "stream":
            from proctor.wire.stream.writer import StrictStream

            self._live.append((name, Stream(file, StrictStream())))
        elif form == "github":
            self._live.append((name, text_reader(form, speaker(file), self._environ)))
        elif form == "results":
            self.result_lines.append(self._kept(name, lambda line: _write(file, [line])))
        else:
            self._last.append(self._kept(name, self._writer(form, file)))

    def _writer(self, form: str, file: IO[bytes]) -> Callable[[Executed], None]:
        """Of a form that is written when the run is over."""
        if form == "json":
            return lambda answer: _write(file, document_chunks(answer.result, answer.directory))
        if form in ("junit", "ctrf", "tap"):
            from proctor.wire import formats

            write = formats.writer(form)
            return lambda answer: _write(file, write(answer.result))
        if form == "agent":
            return lambda answer: speaker(file)(self._telling.text(answer.result))
        from proctor.render.human import report_text

        return lambda answer: speaker(file)(report_text(answer.result))

    def add_file(self, form: str, path: str) -> None:
        file = open(path, "wb")  # noqa: SIM115  open until the run is over
        name = f"-o {form}={path}"
        self.add(name, form, file)
        self._close.append((name, file.close))

    def add_terminal(self) -> None:
        """A person's view: live on a terminal, plain lines elsewhere."""
        if on_terminal(self._environ):
            from rich.console import Console

            from proctor.render.live import LiveTerminal

            live = LiveTerminal(Console())
            self._live.append((_STDOUT, live))
            self._close.append((_STDOUT, live.close))
        else:
            say = speaker(sys.stdout.buffer, wants_colours(self._environ))
            self._live.append((_STDOUT, text_reader("human", say, self._environ)))

    def add_failure_index(self, summary: Summary) -> None:
        """The last thing on stdout."""
        self._last.append(self._kept(_STDOUT, lambda answer: _failure_index(answer.result, summary)))

    def _kept(self, name: str, write: Callable[[_Given], None]) -> Callable[[_Given], None]:
        """The same, until it fails: what comes after a gap is of no use."""

        def written(given: _Given) -> None:
            if name not in self._faults:
                try:
                    write(given)
                except Exception as error:  # noqa: BLE001  told when the run is over
                    self._faults[name] = error

        return written

    def finish(self, answer: Executed) -> None:
        names = {id(sink): name for name, sink in self._live}
        for sink, error in answer.faults:
            if id(sink) in names:
                self._faults[names[id(sink)]] = error
        for write in self._last:
            write(answer)

    def close(self) -> None:
        for name, close in self._close:
            try:
                close()
            except Exception as error:  # noqa: BLE001
                self._faults.setdefault(name, error)

    def conclude(self, exit_code: int) -> int:
        """The run's exit code, unless that is 0 and a report that was asked for is not there."""
        lost = 0
        if _STDOUT in self._faults:
            streams.forget_stdout()
        for name, error in self._faults.items():
            if name == _STDOUT and isinstance(error, BrokenPipeError):
                continue  # whoever read it had enough
            fault = OutputError(name, error) if isinstance(error, OSError) else error
            if not isinstance(fault, OutputError):
                raise fault
            print(f"proctor: {fault} [{fault.slug}]", file=sys.stderr)
            lost = fault.exit_code
        return exit_code or lost


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
        outputs.add(_STDOUT, form, sys.stdout.buffer)
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


def _write(file: IO[bytes], chunks: Iterable[bytes]) -> None:
    file.writelines(chunks)
    file.flush()


def _failure_index(result: RunResult, summary: Summary) -> None:
    from proctor.failure_row import LENGTH, ROWS
    from proctor.render.result_index import failure_index

    try:
        text = failure_index(result, summary.rows or ROWS, summary.length or LENGTH)
    except Exception as error:  # noqa: BLE001  a fault here must not cost the run
        print(f"proctor: no failure index: {type(error).__name__}: {error}", file=sys.stderr)
        return
    sys.stdout.flush()
    speaker(sys.stdout.buffer)(text)

"""The outputs of `proctor run`: a sink, or a writer for the end, for `--format` and each `-o FORMAT=PATH`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import IO, Literal, TypeVar, cast

from msgspec.structs import replace

from proctor.agent_mode import agent_mode
from proctor.archive.inside import Folder
from proctor.cli import standard_streams
from proctor.cli.text_settings import TextSettings, on_terminal
from proctor.cli.writers import AtTheEnd, Output, check, masking, report, speaker, write_all, writer
from proctor.errors import OutputError, UsageError
from proctor.execute import Executed
from proctor.relay import Sink, why_stopped
from proctor.result import RunResult
from proctor.wire import formats

_STDOUT = "stdout"
_Given = TypeVar("_Given")


class Outputs:
    """All that was asked for: what follows the run live, and what is written when it is over.

    One that cannot be written affects neither the run nor the others.
    """

    def __init__(self, environ: Mapping[str, str], settings: TextSettings) -> None:
        self._environ, self._settings = environ, settings
        self._directory: Folder | None = None
        self.live = False  # stdout is a terminal that shows the run as it goes on
        self.sinks: list[Sink] = []
        self.result_lines: list[Callable[[bytes], None]] = []
        self._last: list[Callable[[RunResult], None]] = []
        self._close: list[tuple[str, Callable[[], None]]] = []
        self._faults: dict[str, Exception] = {}

    def add(self, name: str, form: str, output: Output) -> None:
        if form == "results":
            self.result_lines.append(self._kept(name, lambda line: write_all(output.file, [line])))
            return
        # In a file, the text for people has nothing before the end of the run.
        as_report = form == "human" and name != _STDOUT
        sink = masking(report(output), output.settings) if as_report else writer(form, output)
        if isinstance(sink, AtTheEnd):
            if sink.follows is not None:
                self._follow(name, sink.follows)
            self._last.append(self._kept(name, sink.write))
        else:
            self._follow(name, sink)

    def _follow(self, name: str, sink: Sink) -> None:
        sink.name = name
        self.sinks.append(sink)

    def add_file(self, form: str, path: str) -> None:
        check(form)
        file = open(path, "wb")  # noqa: SIM115  open until the run is over
        name = f"-o {form}={path}"
        self.add(name, form, self._output(file, colours=False, path=path))
        self._close.append((name, file.close))

    def _output(self, file: IO[bytes], colours: bool, path: str = "") -> Output:
        settings = replace(self._settings, colours=colours)
        return Output(file, settings, self._environ, lambda: self._directory, path)

    def add_stdout(self, form: str, shows_output: bool = False) -> None:
        """`shows_output`: what the test processes write goes to stderr; no live display on that terminal."""
        shared = shows_output and sys.stdout.isatty() and sys.stderr.isatty()
        if form == "human" and on_terminal(self._environ) and not shared:
            live, close = live_terminal(self._settings)
            self._follow(_STDOUT, live)
            self.live = True
            self._close.append((_STDOUT, close))
            file = None
        else:
            file = sys.stdout.buffer
        if shows_output:
            file = self._add_raw_output(file, shared)
        if file is not None:
            self.add(_STDOUT, form, self._output(file, self._settings.colours))

    def _add_raw_output(self, stdout: IO[bytes] | None, shared: bool) -> IO[bytes] | None:
        """Returns stdout as it is to be used beside the output of the tests' processes."""
        from proctor.cli.raw_output import AfterOutput, RawOutput

        raw = RawOutput(sys.stderr.buffer, self._settings.mask)
        self.sinks.append(raw)
        return cast(IO[bytes], AfterOutput(stdout, raw)) if stdout is not None and shared else stdout

    def add_failure_index(self) -> None:
        """The last thing on stdout."""
        self._last.append(self._kept(_STDOUT, self._write_failure_index))

    def _write_failure_index(self, result: RunResult) -> None:
        try:
            text = self._settings.failure_index(result)
        except Exception as error:  # noqa: BLE001  a fault here must not affect the run
            print(f"proctor: no failure index: {type(error).__name__}: {error}", file=sys.stderr)
            return
        sys.stdout.flush()
        speaker(sys.stdout.buffer)(text)

    def _kept(self, name: str, write: Callable[[_Given], None]) -> Callable[[_Given], None]:
        """Calls `write` until it fails once: what comes after a gap is of no use."""

        def written(given: _Given) -> None:
            if name not in self._faults:
                try:
                    write(given)
                except Exception as error:  # noqa: BLE001  reported when the run is over
                    self._faults[name] = error

        return written

    def finish(self, executed: Executed) -> None:
        for sink, error in executed.faults:
            if sink in self.sinks:
                self._faults[sink.name] = error
            elif (stopped := why_stopped(sink, error)) not in executed.result.notices:
                print(f"proctor: {stopped}", file=sys.stderr)  # at the last entry: no notice could follow
        self._directory = executed.directory
        for write in self._last:
            write(executed.result)

    def close(self) -> None:
        for name, close in self._close:
            try:
                close()
            except Exception as error:  # noqa: BLE001
                self._faults.setdefault(name, error)

    @property
    def unread(self) -> bool:
        """Whether the reader of stdout has gone."""
        return isinstance(self._faults.get(_STDOUT), BrokenPipeError)

    def conclude(self, exit_code: int) -> int:
        """The run's exit code, unless that is 0 and a report that was asked for is not there."""
        lost = 0
        if _STDOUT in self._faults:
            standard_streams.forget_stdout()
        for name, error in self._faults.items():
            if name == _STDOUT and isinstance(error, BrokenPipeError):
                continue  # closing stdout early (e.g. `| head`) does not affect the run
            fault = OutputError(name, error) if isinstance(error, OSError) else error
            if not isinstance(fault, OutputError):
                raise fault
            print(f"proctor: {fault} [{fault.slug}]", file=sys.stderr)
            lost = fault.exit_code
        return exit_code or lost


def build(
    form: str,
    files: list[str],
    summary: str,
    environ: Mapping[str, str],
    settings: TextSettings,
    shows_output: bool = False,
    offered: Literal["run", "show"] = "run",
) -> Outputs:
    """`summary`: the value of `--failure-summary`, `auto`, `on` or `off`; `offered`: as in `wire/formats`."""
    form = chosen(form, environ)
    indexed = with_failure_index(form, summary, environ)
    outputs = Outputs(environ, settings)
    known = formats.offered(offered)
    for option in files:
        name, equals, path = option.partition("=")
        if not equals or not path or name not in known:
            from proctor.nearest import did_you_mean  # only on the way out

            near = did_you_mean(name, known) if equals else ""
            expected = f": expected FORMAT=PATH, FORMAT one of {', '.join(known)}"
            raise UsageError(f"invalid -o {option!r}{near or expected}")
        try:
            outputs.add_file(name, path)
        except OSError as error:
            raise UsageError(f"-o {option!r} cannot be written: {error.strerror}") from None
    outputs.add_stdout(form, shows_output)
    if indexed:
        outputs.add_failure_index()
    return outputs


def with_failure_index(form: str, summary: str, environ: Mapping[str, str]) -> bool:
    """Whether the failure index follows the text on stdout. The agent text has such lines already."""
    if summary == "on" and not formats.FORMATS[form].is_text:
        raise UsageError(f"--failure-summary on needs a text format: expected --format human, not {form}")
    return summary == "on" or (form == "human" and agent_mode(environ, sys.stdout.isatty(), summary).on)


def chosen(form: str, environ: Mapping[str, str]) -> str:
    """The format that `auto` stands for here."""
    if form != "auto":
        return form
    return "agent" if agent_mode(environ, sys.stdout.isatty()).on else "human"


def live_terminal(settings: TextSettings) -> tuple[Sink, Callable[[], None]]:
    """The sink for a person at a terminal, and what gives the terminal back."""
    from rich.console import Console

    from proctor.render.links import has_links
    from proctor.render.live import LiveTerminal

    live = LiveTerminal(Console(), settings.shown, has_links(os.environ))
    return masking(live, settings), live.close

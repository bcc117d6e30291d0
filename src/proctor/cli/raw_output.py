"""`-s` and `--show-output` of `proctor run`: what the processes of a run write, on stderr as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from proctor.events import Entry, Event, OutputReceived
from proctor.render.secrets import masked
from proctor.result import RunResult
from proctor.text import utf8


class RawOutput:
    """A sink. If nobody reads stderr any more, it falls silent: the run goes on."""

    name = "stderr"

    def __init__(self, file: IO[bytes], mask: bool) -> None:
        self._file: IO[bytes] | None = file
        self._mask = mask
        self._in_line = False  # the last line has no end yet

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        self.handle_all(entry, (entry.event,), so_far)

    def handle_all(self, first: Entry, events: Sequence[Event], so_far: RunResult) -> None:
        for event in events:
            if type(event) is OutputReceived and event.text:
                self._write(masked(event.text) if self._mask else event.text)

    def tick(self, now: float, so_far: RunResult) -> None:
        pass

    def end_line(self) -> None:
        """Something else is going to be written to the same terminal."""
        if self._in_line:
            self._write("\n")

    def _write(self, text: str) -> None:
        self._in_line = not text.endswith("\n")
        if self._file is not None:
            try:
                self._file.write(utf8(text))
                self._file.flush()
            except OSError:
                self._file = None


class AfterOutput:
    """A file on the terminal that the output is on, too: what is written here begins on a line of its own."""

    def __init__(self, file: IO[bytes], output: RawOutput) -> None:
        self._file, self._output = file, output

    def write(self, data: bytes) -> int:
        self._output.end_line()
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

"""One process of a run under way: its bytes become events, and its results find their files."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Protocol

import msgspec

from proctor import events as e
from proctor.launch import Artifact, Launch, Voice
from proctor.outcome import Outcome, RunOutcome
from proctor.process.allowance import Allowance
from proctor.process.attachments import Attachments
from proctor.process.supervise import Chunk, Diversion, signal_name
from proctor.result import Excerpt
from proctor.running import Running
from proctor.wire.control.decoder import (
    Broken,
    ControlDecoder,
    Disconnected,
    Duration,
    FileChunk,
    FileOpened,
    Frame,
)
from proctor.wire.control.ledger import Body, Finished, Ledger, Limits, Partial, Plain
from proctor.wire.control.program import ProgramEnd, ProgramReader
from proctor.wire.control.session import SessionReader
from proctor.wire.fault import FaultReader, explain

if TYPE_CHECKING:
    from proctor.wire.reports.lines import LineReader
    from proctor.wire.reports.pytest_text import TextReader

_TAIL = 8 << 10  # characters of a program's output that its result shows
_BATCH = 1000  # results
_LARGE = 1 << 16  # bytes of a file that are worth a way of their own


class _Reader(Protocol):
    """Understands the results of a process."""

    def start(self) -> list[e.Event]: ...

    def full_name(self, name: str | None) -> str: ...

    def read(self, frame: Partial | Finished, files: tuple[e.File, ...] = ()) -> list[e.Event]: ...


class Listener:
    """Bytes in, events out, in the order in which they were read."""

    def __init__(self, run: Running, launch: Launch, limits: Limits) -> None:
        self._run, self._name = run, launch.name
        self.deaf = False  # the channel is of no more use
        self.stopped: RunOutcome | None = None  # we ended it, and why
        self.allowance = Allowance(launch.duration, run.now())
        self._begun = run.now()
        self._test = launch.name if launch.voice is Voice.PROGRAM else ""
        self._output = run.shelf.output(self._test)
        self._tail = Excerpt(_TAIL)
        self._decoders: dict[str, codecs.IncrementalDecoder] = {
            stream: codecs.getincrementaldecoder("utf-8")("backslashreplace")
            for stream in ("stdout", "stderr")
        }
        self._ledger = Ledger(limits)
        self._control = ControlDecoder(self._ledger, plain=launch.voice is Voice.PROGRAM)
        self._files = Attachments(run.shelf.store)
        self._fault = FaultReader(launch.cwd)
        self._text = _text_reader(launch.name) if launch.voice is Voice.TEXT else None
        self._lines = _line_reader(launch) if launch.reader else None
        self._session: SessionReader | None = None
        self._program: ProgramReader | None = None
        self._reader: _Reader
        if self._test:
            self._reader = self._program = ProgramReader(self._test, self._output.path, run.labels)
        else:
            self._reader = self._session = SessionReader(launch.name, self._output.path, run.labels)
        run.publish_all(self._reader.start())

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """What the process has built, if that is its purpose."""
        return self._lines.artifacts if self._lines is not None else ()

    @property
    def diversion(self) -> Diversion | None:
        """What comes next may go straight to a file."""
        left = self._control.direct
        if left < _LARGE or self._files.descriptor is None:
            return None
        return Diversion(self._files.descriptor, left)

    def take(self, chunk: Chunk) -> None:
        if chunk.moved:
            self._files.went_by(chunk.moved)
            self._attach()
            self._hear(self._control.went_by(chunk.moved))
        elif chunk.stream == "control":
            self._hear(self._control.feed(chunk.data))
        else:
            self._read(chunk.stream, chunk.data)

    def lose_channel(self) -> None:
        """The program closed the channel and lived on. A session may do that only after its end."""
        result = self._run.result
        if self._session is not None and result.suite is not None and result.finished is None:
            self._run.publish(e.ChannelBroken("the control channel was closed before the session finished"))

    def end(self, exit_status: int | None) -> None:
        """The process is gone: the last words, then what it all means."""
        for stream in self._decoders:
            self._read(stream, b"", final=True)
        self._hear(self._control.close())
        if self._text is not None:
            self._run.publish_all(self._text.close())
        if self._lines is not None:
            self._run.publish_all(self._lines.close(exit_status, self._run.result))
        if self._session is not None:
            self._run.publish_all(self._session.close())
        signal = None if exit_status is None else signal_name(exit_status)
        error = str(self._control.error) if self._control.error else None
        self._flush(exit_status, signal, error)
        dumps = self._fault.dumps()
        if dumps and self._session is not None and (self._run.stopped or exit_status is None or signal):
            self._run.publish(dumps[-1])
        if exit_status is not None:
            self._run.publish(e.ProcessExited(exit_status, signal, self._test))
        if self._program is not None:
            seconds = self._run.now() - self._begun
            end = ProgramEnd(seconds, exit_status, signal, self.stopped, error, self._tail.text())
            self._run.publish_all(self._program.end(end))
        self._files.close()
        self._output.close()

    def _flush(self, exit_status: int | None, signal: str | None, error: str | None) -> None:
        """What is still open, and what the test did not say about itself."""
        note = "time limit reached" if self.stopped is RunOutcome.TIMEOUT else signal or ""
        observed = 1 if exit_status is None or self.stopped is not None else exit_status
        for number, finished in enumerate(self._ledger.close(observed, note, error), 1):
            self._finish(finished)
            if number % _BATCH == 0:
                self._run.tick()  # there may be more of them than should wait in memory

    def _read(self, stream: str, data: bytes, final: bool = False) -> None:
        if data:
            self._output.write(data)
        if self._lines is not None and stream == "stdout":
            self._lines.stopped = self.stopped is not None
            self._run.publish_all(self._lines.feed(data))
            return
        text = self._decoders[stream].decode(data, final)
        if not text:
            return
        self._run.publish(e.OutputReceived(stream, text, self._test))
        if self._test:
            self._tail.add(text)
        elif stream == "stderr":
            self._fault.feed(text)
            if self._lines is not None:
                self._lines.hear(text)
        elif self._text is not None:
            self._run.publish_all(self._text.feed(text))

    def _hear(self, frames: list[Frame]) -> None:
        plain: list[Plain] = []
        for frame in frames:
            if isinstance(frame, Plain):
                plain.append(frame)
                continue
            if plain:
                self._finish_plain(plain)
                plain = []
            match frame:
                case Partial():
                    self._tell(frame, ())
                case Finished():
                    self._finish(frame)
                case FileOpened():
                    self._files.open(frame.result, frame.name, frame.length)
                    self._attach()
                case FileChunk():
                    self._files.write(frame.data)
                    self._attach()
                case Duration():
                    self.allowance.change(frame, self._run.now())
                case Broken():
                    self.deaf = True
                    if self._session is not None:
                        self._run.publish(e.ChannelBroken(f"control channel: {frame.error}"))
                case Disconnected():
                    self.deaf = True
                case _:
                    pass  # the ledger has taken note of what needs it
        if plain:
            self._finish_plain(plain)

    def _attach(self) -> None:
        if whole := self._files.whole():
            result, file = whole
            self._run.publish(e.FileAttached(self._reader.full_name(result), file))

    def _finish(self, finished: Finished) -> None:
        files = self._files.take(finished.name) if "files" in finished.body else ()
        if self._run.keeps_results:
            full = self._reader.full_name(finished.name)
            self._run.write_result(_normal_form(full, finished.body, files, self._output.path))
        self._tell(finished, files)

    def _finish_plain(self, frames: list[Plain]) -> None:
        """Many results at once, in as few steps as can be: all that each has is a name and a status."""
        assert self._program is not None
        names = [f"{self._test}/{frame.name}" for frame in frames]
        if self._run.keeps_results:
            lines = [
                _PlainLine(full, frame.name, frame.status) for full, frame in zip(names, frames, strict=True)
            ]
            self._run.write_result(_encoder.encode_lines(lines))
        self._run.publish_parts(self._program.read_plain(names, frames))

    def _tell(self, frame: Partial | Finished, files: tuple[e.File, ...]) -> None:
        try:
            found = self._reader.read(frame, files)
        except msgspec.ValidationError as error:
            reason = f"a result of {frame.name or self._name} is not understood: {error}"
            self._run.publish(e.ChannelBroken(reason))
            return
        for event in found:
            if isinstance(event, e.TestFinished) and event.outcome is Outcome.CRASH:
                event = explain(event, self._fault.dumps())
            self._run.publish(event)


def _line_reader(launch: Launch) -> LineReader:
    from proctor.wire.reports.lines import LineReader  # likewise

    return LineReader(launch)


def _text_reader(name: str) -> TextReader:
    from proctor.wire.reports.pytest_text import TextReader  # for old pytests only: no start waits for it

    return TextReader(name)


_encoder = msgspec.json.Encoder()


class _PlainLine(msgspec.Struct):
    test: str
    name: str
    status: str


def _normal_form(test: str, said: Body, files: tuple[e.File, ...], output: str) -> bytes:
    """One line of results.jsonl: the result under its full name, with paths where it has files."""
    body: Body = {"test": test, **said}
    if files and isinstance(body.get("files"), list):
        paths = {file.name: file.path for file in files}
        body["files"] = [{**file, "path": paths.get(file["name"], "")} for file in body["files"]]
    if "testout" in body:
        body["testout_path"] = output
    return _encoder.encode(body) + b"\n"

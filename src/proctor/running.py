"""One run under way: the bytes of a process become events, and events find their readers and their files."""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from proctor import events as e
from proctor.archive import store
from proctor.archive.recording import Recording
from proctor.errors import LaunchError
from proctor.launch import Voice
from proctor.outcome import Outcome, RunOutcome
from proctor.process.attachments import Attachments
from proctor.process.deadline import Ending
from proctor.process.supervise import Chunk, signal_name
from proctor.relay import Relay, Sink
from proctor.result import Result
from proctor.wire.control import Broken, ControlDecoder, Disconnected, FileChunk, FileOpened
from proctor.wire.fault import FaultReader, explain
from proctor.wire.ledger import Body, Finished, Ledger, Partial
from proctor.wire.session import SessionReader

if TYPE_CHECKING:
    from proctor.wire.pytest_text import TextReader

#: Takes each finished result of the control channel, as one line of its normal form.
ResultLine: TypeAlias = Callable[[bytes], None]


class Keeping(msgspec.Struct, frozen=True):
    """What becomes of a run on disk."""

    archive: bool = True
    keep_runs: int = 50


class Shelf:
    """The run's directory, if it can have one, and the places in it. Trouble here becomes a notice."""

    def __init__(self, root: Path, run_id: str, environ: Mapping[str, str], keeping: Keeping) -> None:
        self._root, self._run_id, self._environ, self._keeping = root, run_id, environ, keeping
        self.notices: list[str] = []
        self.recording: Recording | None = None
        self.kept: Path | None = None
        self._scratch: str | None = None
        directory = store.open_run(root, run_id, environ) if keeping.archive else None
        if directory is not None:
            self.recording = Recording(directory)
            self.kept = directory.path
        elif keeping.archive:
            self.notices.append("this run is not kept: neither the project nor the cache can be written")
        self.attachments = Attachments(self.kept or self._make_scratch())

    def _make_scratch(self) -> Path:
        import tempfile

        self._scratch = tempfile.mkdtemp(prefix="proctor-")
        return Path(self._scratch)

    @property
    def files(self) -> Path:
        return self.kept or Path(self._scratch or "")

    @property
    def sinks(self) -> list[Sink]:
        return [self.recording] if self.recording is not None else []

    def __enter__(self) -> Shelf:
        return self

    def finish(self, result: Result) -> None:
        if self.attachments.fault is not None:
            result.notices.append(f"some attached files were not kept: {self.attachments.fault}")
        if self.recording is None:
            return
        try:
            self.recording.finish(
                result, lambda: store.open_run(self._root, self._run_id, self._environ, outside=True)
            )
            self.kept = self.recording.directory.path
            store.prune(self._root, self._environ, self._keeping.keep_runs)
        except OSError as error:
            result.notices.append(f"this run is not kept whole: {error}")

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self.attachments.close()
        if self.recording is not None:
            self.recording.close()
        unused = self.kept if error is LaunchError else None  # nothing was started: there is nothing to keep
        for leftover in (self._scratch, unused):
            if leftover is not None:
                import shutil

                shutil.rmtree(leftover, ignore_errors=True)


class Running:
    """One run under way: bytes in, events out, in the order in which they were read."""

    def __init__(self, relay: Relay, shelf: Shelf, voice: Voice, result_lines: Sequence[ResultLine]) -> None:
        self._relay, self._shelf, self._result_lines = relay, shelf, list(result_lines)
        if shelf.recording is not None:
            self._result_lines.append(shelf.recording.result)
        self._start = time.monotonic()
        self._name = relay.result.run.runner
        self._decoders: dict[str, codecs.IncrementalDecoder] = {
            stream: codecs.getincrementaldecoder("utf-8")("backslashreplace")
            for stream in ("stdout", "stderr")
        }
        self._ledger = Ledger()
        self._control = ControlDecoder(self._ledger)
        self._session = SessionReader(self._name)
        self._text = _text_reader(self._name) if voice is Voice.TEXT else None
        self._fault = FaultReader(relay.result.run.cwd)
        self.deaf = False
        for notice in shelf.notices:
            self._publish(e.Noticed(notice))

    def now(self) -> float:
        return time.monotonic() - self._start

    def tick(self) -> None:
        self._relay.tick(self.now())

    @property
    def interrupted(self) -> bool:
        return self._relay.result.interrupted is not None

    def stop(self, reason: RunOutcome) -> Ending:
        self._publish(e.RunStopped(reason))
        return Ending(self.now())

    def take(self, chunk: Chunk) -> None:
        if chunk.stream == "control":
            self._hear(chunk.data)
        else:
            self._read(chunk.stream, chunk.data)

    def lose_channel(self) -> None:
        """The program closed the channel and lived on. After the end of its session it may."""
        if self._relay.result.suite is not None and self._relay.result.finished is None:
            self._publish(e.ChannelBroken("the control channel was closed before the session finished"))

    def close(self, exit_status: int | None) -> Result:
        """The process is gone: the last words, then what it all means."""
        for stream in self._decoders:
            self._read(stream, b"", final=True)
        for frame in self._control.close():
            if isinstance(frame, Broken):
                self._break(frame)
        if self._text is not None:
            self._publish_all(self._text.close())
        self._publish_all(self._session.close())
        error = str(self._control.error) if self._control.error else None
        for finished in self._ledger.close(exit_status if exit_status is not None else 1, error):
            self._write_result(finished, self._shelf.attachments.take(finished.name))
        dumps = self._fault.dumps()
        stopped = self._relay.result.stopped is not None
        if dumps and (stopped or exit_status is None or exit_status < 0):
            self._publish(dumps[-1])
        if exit_status is not None:
            self._publish(e.ProcessExited(exit_status, signal_name(exit_status)))
        return self._relay.close(self.now())

    def _publish(self, event: e.Event) -> None:
        self._relay.publish(event, self.now())

    def _publish_all(self, events: Sequence[e.Event]) -> None:
        now = self.now()
        for event in events:
            self._relay.publish(event, now)

    def _read(self, stream: str, data: bytes, final: bool = False) -> None:
        if self._shelf.recording is not None and data:
            self._shelf.recording.output(data)
        text = self._decoders[stream].decode(data, final)
        if not text:
            return
        self._publish(e.OutputReceived(stream, text))
        if stream == "stderr":
            self._fault.feed(text)
        elif self._text is not None:
            self._publish_all(self._text.feed(text))

    def _hear(self, data: bytes) -> None:
        now = self.now()
        for frame in self._control.feed(data):
            match frame:
                case Partial():
                    self._tell(frame, (), now)
                case Finished():
                    files = self._shelf.attachments.take(frame.name) if "files" in frame.body else ()
                    self._write_result(frame, files)
                    self._tell(frame, files, now)
                case FileOpened():
                    self._shelf.attachments.open(frame.result, frame.name, frame.length)
                case FileChunk():
                    self._shelf.attachments.write(frame.data)
                case Broken():
                    self._break(frame)
                case Disconnected():
                    self.deaf = True
                case _:
                    pass  # the words about time mean nothing to a suite that has one limit for all

    def _tell(self, frame: Partial | Finished, files: tuple[e.File, ...], now: float) -> None:
        try:
            found = self._session.read(frame, files)
        except msgspec.ValidationError as error:
            self._publish(
                e.ChannelBroken(f"a result of {frame.name or self._name} is not understood: {error}")
            )
            return
        for event in found:
            if isinstance(event, e.TestFinished) and event.outcome is Outcome.CRASH:
                event = explain(event, self._fault.dumps())
            self._relay.publish(event, now)

    def _break(self, frame: Broken) -> None:
        self.deaf = True
        self._publish(e.ChannelBroken(f"control channel: {frame.error}"))

    def _write_result(self, finished: Finished, files: tuple[e.File, ...]) -> None:
        if self._result_lines:
            line = _normal_form(self._name, finished, files)
            for write in self._result_lines:
                write(line)


def _text_reader(name: str) -> TextReader:
    from proctor.wire.pytest_text import TextReader  # for old pytests only: no start waits for it

    return TextReader(name)


_encoder = msgspec.json.Encoder()


def _normal_form(own: str, finished: Finished, files: tuple[e.File, ...]) -> bytes:
    """One line of results.jsonl: the result under its full name, with paths where it has files."""
    body: Body = {"test": finished.name or own, **finished.body}
    if files and isinstance(body.get("files"), list):
        paths = {file.name: file.path for file in files}
        body["files"] = [{**file, "path": paths.get(file["name"], "")} for file in body["files"]]
    if "testout" in body:
        body["testout_path"] = store.OUTPUT_FILE
    return _encoder.encode(body) + b"\n"

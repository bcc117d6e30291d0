"""Turns the bytes of one process of a run into events, and stores the files of its results.

Here are the listeners for those that report on the control channel; `output_listener` has the others.
"""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

import msgspec

from proctor import events as e
from proctor.fold import ended
from proctor.launch import Artifact, Launch, Program
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.process.allowance import Allowance
from proctor.process.attachments import Attachments
from proctor.process.process import Chunk, Diversion, signal_name
from proctor.result import Excerpt, SuiteResult
from proctor.running import Running
from proctor.unique_names import UniqueNames
from proctor.wire import exit_status
from proctor.wire.control.decoder import (
    Broken,
    ControlDecoder,
    Disconnected,
    Duration,
    FileChunk,
    FileOpened,
    Frame,
)
from proctor.wire.control.ledger import Body, Finished, Ledger, Limits, Partial, Parts
from proctor.wire.control.passing import NormalForm, Pairs
from proctor.wire.control.program import ProgramEnd, ProgramReader
from proctor.wire.control.session import SessionReader
from proctor.wire.fault import Crashes, FaultReader

OWN_LIMIT_SECONDS = 20.0  # that a session which ends tests itself has for that
_TAIL = 8 << 10  # characters of a program's output that its result shows
_COMPLAINT = 1 << 16  # characters of stderr that may explain an exit status
_LAST_OUTPUT = 1 << 15  # characters of output, of which the last lines may
_BATCH = 1000  # results
_LARGE = 1 << 16  # bytes of a file that are worth a way of their own


class _Reader(Protocol):
    """Decodes the results of a process."""

    def start(self) -> list[e.Event]: ...

    def full_name(self, name: str | None) -> str: ...

    def read(self, frame: Partial | Finished, files: tuple[e.File, ...] = ()) -> list[e.Event]: ...


class Listener(ABC):
    """Bytes in, events out, in the order in which they were read. Every process has a control channel."""

    heeds_maxfail = True  # or the run has to stop the process when as many tests have failed

    def __init__(self, run: Running, suite: int, launch: Launch, limits: Limits, own: str = "") -> None:
        """`own` is the name of the test that the process is."""
        self._run, self._suite, self._name = run, suite, launch.name
        self.deaf = False  # the channel is of no more use
        self.stopped: RunOutcome | None = None  # we ended the process, and why
        self.interrupting = False  # we interrupt it because a test takes too long
        self.allowance = Allowance(None, run.now())
        self._test = own
        self._output = run.shelf.output(own)
        self._decoders: dict[str, codecs.IncrementalDecoder] = {
            stream: codecs.getincrementaldecoder("utf-8")("backslashreplace")
            for stream in ("stdout", "stderr")
        }
        self._ledger = Ledger(limits)
        self._control = ControlDecoder(self._ledger, in_parts=bool(own), in_pairs=not own)
        self._files = Attachments(run.shelf.store)
        self._reader = self._make_reader()
        self._publish(self._reader.start())

    @abstractmethod
    def _make_reader(self) -> _Reader: ...

    @abstractmethod
    def _read_text(self, stream: str, text: str) -> None:
        """What the process wrote to stdout or stderr; it has been published as output."""

    @abstractmethod
    def _end(self, exit_code: int | None, signal: str | None) -> None:
        """The process is gone and all it wrote was read: publish what that means."""

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """What the process has built, if that is its purpose."""
        return ()

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
            self._publish(self._attached())
            self._hear(self._control.went_by(chunk.moved))
        elif chunk.stream == "control":
            self._hear(self._control.feed(chunk.data))
        else:
            self._read(chunk.stream, chunk.data)

    def overdue(self, now: float) -> list[e.TestOverdue]:
        """Tests that take longer than they may, as of this moment."""
        return []

    def next_overdue(self) -> float | None:
        """When the next test will have taken too long."""
        return None

    @property
    def handed_over(self) -> str:
        """Why the tests of this process have to run in another way; empty: they do not."""
        return ""

    def lose_channel(self) -> None:  # noqa: B027  a program may do so
        """The process closed the channel and lived on. A session may do that only after its end."""

    def end(self, exit_code: int | None) -> None:
        """The process has ended: publishes its last results, then the conclusions."""
        for stream in self._decoders:
            self._read(stream, b"", final=True)
        self._hear(self._control.close())
        self._end(exit_code, None if exit_code is None else signal_name(exit_code))
        self._files.close()
        self._output.close()

    @property
    def _channel_error(self) -> str | None:
        return str(self._control.error) if self._control.error else None

    def _publish(self, events: list[e.Event]) -> None:
        self._run.publish_all(events, self._suite)

    def _flush(self, exit_code: int | None, signal: str | None) -> None:
        """The results that are still open, and the test's own if it did not report one."""
        note = "time limit reached" if self.stopped is RunOutcome.TIMEOUT else signal or ""
        observed = 1 if exit_code is None or self.stopped is not None else exit_code
        closed = self._ledger.close(observed, note, self._channel_error)
        while batch := list(islice(closed, _BATCH)):
            self._publish(self._read_results(batch))
            self._run.tick()  # there may be more of them than should wait in memory

    def _read(self, stream: str, data: bytes, final: bool = False) -> None:
        if data:
            self._output.write(data)
        text = self._decoders[stream].decode(data, final)
        if text:
            self._run.publish(e.OutputReceived(stream, text, self._test), self._suite)
            self._read_text(stream, text)

    def _hear(self, frames: list[Frame]) -> None:
        """All of them became known at the same moment: their events are published together."""
        results: list[Partial | Finished] = []
        events: list[e.Event] = []
        for frame in frames:
            if type(frame) is Finished or type(frame) is Partial:
                results.append(frame)
                continue
            if results:
                events += self._read_results(results)
                results = []
            match frame:
                case Parts():
                    self._publish(events)
                    events = []
                    self._publish(self._read_parts(frame))
                case Pairs():
                    events += self._read_pairs(frame)
                case FileOpened():
                    self._files.open(frame.result, frame.name, frame.length)
                    events += self._attached()
                case FileChunk():
                    self._files.write(frame.data)
                    events += self._attached()
                case Duration():
                    self.allowance.change(frame, self._run.now())
                case Broken():
                    self.deaf = True
                    events += self._broken(frame)
                case Disconnected():
                    self.deaf = True
                case _:
                    pass  # the ledger has taken note of what needs it
        if results:
            events += self._read_results(results)
        self._publish(events)

    def _read_parts(self, parts: Parts) -> list[e.Event]:
        raise AssertionError("only a program's decoder makes these")

    def _read_pairs(self, pairs: Pairs) -> list[e.Event]:
        raise AssertionError("only a session's decoder makes these")

    def _broken(self, broken: Broken) -> list[e.Event]:
        """The process broke the rules of the channel. Of a program that is known when it has ended."""
        return []

    def _attached(self) -> list[e.Event]:
        """The file that has just arrived whole, if one has."""
        if whole := self._files.whole():
            result, file = whole
            return [e.FileAttached(self._reader.full_name(result), file)]
        return []

    def _read_results(self, frames: Sequence[Partial | Finished]) -> list[e.Event]:
        """Keeps the finished results and returns the events of all."""
        events: list[e.Event] = []
        lines: list[Body] = []
        for frame in frames:
            files: tuple[e.File, ...] = ()
            if type(frame) is Finished:
                if self._files.waiting:
                    files = _listed(self._files.take(frame.name), frame.body)
                full = self._reader.full_name(frame.name)
                lines.append(_normal_form(full, frame.body, files, self._output.path))
            try:
                events += self._reader.read(frame, files)
            except msgspec.ValidationError as error:
                reason = f"a result of {frame.name or self._name} is not understood: {error}"
                events.append(e.ChannelBroken(reason))
        if lines:
            self._run.write_results(lines)
        return events


class ProgramListener(Listener):
    """The process is a test. Its own result is published when it has ended: a crash may yet come after it."""

    def __init__(self, run: Running, suite: int, launch: Launch, program: Program, limits: Limits) -> None:
        self._labels = run.labels
        super().__init__(run, suite, launch, limits, own=launch.name)
        self.allowance = Allowance(program.duration, run.now())
        self._begun = run.now()
        self._tail = Excerpt(_TAIL)

    def _make_reader(self) -> _Reader:
        self._program = ProgramReader(self._test, self._output.path, self._labels)
        return self._program

    def _read_parts(self, parts: Parts) -> list[e.Event]:
        full = [f"{self._test}/{name}" for name in parts.names]
        self._run.write_results(
            [{"test": test, **body} for test, body in zip(full, parts.bodies, strict=True)]
        )
        return self._program.read_parts(full, parts.bodies)

    def _read_text(self, stream: str, text: str) -> None:
        self._tail.add(text)

    def _end(self, exit_code: int | None, signal: str | None) -> None:
        self._flush(exit_code, signal)
        if exit_code is not None:
            self._publish([e.ProcessExited(exit_code, signal, self._test)])
        seconds = self._run.now() - self._begun
        end = ProgramEnd(seconds, exit_code, signal, self.stopped, self._channel_error, self._tail.text())
        self._publish(self._program.end(end))


class SessionListener(Listener):
    """The process reports a session of many tests."""

    def __init__(
        self, run: Running, suite: int, launch: Launch, limits: Limits, test_timeout: float = 0.0
    ) -> None:
        self._labels = UniqueNames() if run.result.suites[suite].session.round else run.labels
        self._cwd, self._test_timeout = launch.cwd, test_timeout
        self._fault, self._crashes = FaultReader(launch.cwd), Crashes(launch.cwd)
        self._stdout, self._stderr, self._both = (
            Excerpt(_LAST_OUTPUT),
            Excerpt(_COMPLAINT),
            Excerpt(_LAST_OUTPUT),
        )
        super().__init__(run, suite, launch, limits)

    def _make_reader(self) -> _Reader:
        suite = self._run.result.suites[self._suite]
        self._session = SessionReader(
            self._name,
            self._output.path,
            self._labels,
            self._cwd,
            len(suite.sessions),
            suite.count is not None,
        )
        return self._session

    @property
    def handed_over(self) -> str:
        return self._session.handed_over

    def overdue(self, now: float) -> list[e.TestOverdue]:
        return [e.TestOverdue(test, limit) for test, limit, end in self._limited() if end <= now]

    def next_overdue(self) -> float | None:
        return min((end for _, _, end in self._limited()), default=None)

    def _limited(self) -> Iterator[tuple[str, float, float]]:
        """Each running test that has a limit and was not interrupted, its limit, and when that is reached."""
        if not self._test_timeout and not self._session.limits:
            return
        suite = self._run.result.suites[self._suite]
        grace = OWN_LIMIT_SECONDS if self._session.timed else 0.0
        for test, since in suite.running.items():
            own = self._run.own_name(test, self._suite)
            limit = self._session.limits.get(own, self._test_timeout)
            if limit and test not in suite.session.overdue:
                yield test, limit, since + limit + grace

    def lose_channel(self) -> None:
        session = self._run.result.suites[self._suite].session
        if session.described is not None and session.finished is None:
            reason = "the control channel was closed before the session finished"
            self._publish([e.ChannelBroken(reason)])

    def _read_text(self, stream: str, text: str) -> None:
        self._both.add(text)
        if stream == "stderr":
            self._stderr.add(text)
            self._fault.feed(text)
        else:
            self._stdout.add(text)

    def _broken(self, broken: Broken) -> list[e.Event]:
        return [e.ChannelBroken(f"control channel: {broken.error}")]

    def _read_pairs(self, pairs: Pairs) -> list[e.Event]:
        self._run.write_results(
            [
                NormalForm(one.name, one.name, end.status, one.file, one.line, end.proctor)
                for one, end in zip(pairs.begun, pairs.passed, strict=True)
            ]
        )
        suite = self._run.result.suites[self._suite]
        found = self._session.read_pairs(pairs)
        if suite.attempts or suite.session.overdue:  # few runs have either
            return [ended(suite, event) if isinstance(event, e.TestFinished) else event for event in found]
        return found

    def _read_results(self, frames: Sequence[Partial | Finished]) -> list[e.Event]:
        suite = self._run.result.suites[self._suite]
        found = [self._explained(event, suite) for event in super()._read_results(frames)]
        return [event for event in found if not self._is_known(event, suite) and not self._was_cut(event)]

    def _was_cut(self, event: e.Event) -> bool:
        """Of a test that was running when we ended the process because of another one: it has no end."""
        end = event.result if isinstance(event, e.AttemptFailed) else event
        if self.stopped is not RunOutcome.FAILED or not isinstance(end, e.TestFinished):
            return False
        failed = end.failure is not None or any(phase.outcome == "failed" for phase in end.phases)
        return end.outcome in BAD and not failed

    def _is_known(self, event: e.Event, suite: SuiteResult) -> bool:
        """An earlier session has told it."""
        if isinstance(event, e.Noticed):
            return bool(suite.restarts) and event.text in self._run.result.notices
        return isinstance(event, e.CollectionFailed) and event in suite.errors

    def _explained(self, event: e.Event, suite: SuiteResult) -> e.Event:
        if not isinstance(event, e.TestFinished):
            return event
        if event.outcome is Outcome.CRASH:
            unfinished = [test for test in (*suite.selected, *suite.running) if test not in suite.tests]
            event = self._crashes.explain(event, self._fault.dumps(), unfinished)
        return ended(suite, event)

    def _end(self, exit_code: int | None, signal: str | None) -> None:
        if self.handed_over:
            return
        self._publish(self._session.close())
        if self.stopped is RunOutcome.TIMEOUT and not self._run.stopped:
            self._publish([e.RunStopped(self.stopped, only_suite=True)])
        self._flush(exit_code, signal)
        stopped = self._run.stopped or self.stopped is not None or self.interrupting
        if fault := self._crashes.own(self._fault.dumps(), "SIGABRT" if stopped else signal):
            self._publish([fault])
        if exit_code is not None:
            explained = self._explain_status(exit_code)
            quoted = self._quoted(exit_code, explained is not None)
            self._publish([event for event in (explained, quoted) if event is not None])
            self._publish([e.ProcessExited(exit_code, signal)])

    def _quoted(self, exit_code: int, is_explained: bool) -> e.OutputQuoted | None:
        """What the process printed, if its status cannot be explained by a test or in any other way.

        An exception in the summary of a plugin says less than what the plugin has printed before.
        """
        suite = self._run.result.suites[self._suite]
        failed = suite.errors or suite.running or any(suite.counts[outcome] for outcome in BAD)
        if exit_code <= 0 or failed or self.stopped is not None:
            return None
        from proctor.wire.last_words import quoted  # only on the way out

        if not is_explained:
            texts = self._stderr.text(), self._stdout.text(), self._both.text()
            return quoted(suite.session.printed, *texts)
        return quoted(suite.session.printed) if suite.session.broke is not None else None

    def _explain_status(self, exit_code: int) -> e.StatusExplained | None:
        session = self._run.result.suites[self._suite].session
        explained = exit_status.explained(session, exit_code, self._stderr.text())
        missing = exit_status.missing_target(explained)
        if explained is None or not missing:
            return explained
        from proctor.runners.nearest_tests import suggestion  # only on the way out

        near = suggestion(missing, Path(self._cwd))
        return msgspec.structs.replace(explained, reason=explained.reason + near)


def _listed(files: tuple[e.File, ...], body: Body) -> tuple[e.File, ...]:
    """The files of a result, without those that it removed after they arrived."""
    names = {file["name"] for file in body.get("files", ())}
    return tuple(file for file in files if file.name in names)


def _normal_form(test: str, said: Body, files: tuple[e.File, ...], output: str) -> Body:
    """One line of results.jsonl: the result under its full name, with paths where it has files."""
    body: Body = {"test": test, **said}
    if files:
        paths = {file.name: file.path for file in files}
        body["files"] = [{**file, "path": paths.get(file["name"], "")} for file in body["files"]]
    if "testout" in body:
        body["testout_path"] = output
    return body

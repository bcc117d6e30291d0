"""A run under way: what all its processes share. Sends events to the readers and bytes to files."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

from proctor import events as e
from proctor.archive import store
from proctor.archive.inside import Folder
from proctor.archive.recording import OUTPUT_LIMIT, Recording
from proctor.errors import LaunchError
from proctor.outcome import RunOutcome
from proctor.process.attachments import FileStore
from proctor.relay import Fault, Relay, Sink
from proctor.result import RunResult
from proctor.unique_names import UniqueNames

if TYPE_CHECKING:
    from proctor.archive.scratch import Scratch
    from proctor.quarantine import Quarantine
    from proctor.wire.relabel import SuiteLabels

_encoder = msgspec.json.Encoder()

#: Takes finished results of the control channel, in their normal form, a line each.
ResultLine: TypeAlias = Callable[[bytes], None]


_NOWHERE = "neither the project nor the cache can be written"


def timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Keeping(msgspec.Struct, frozen=True):
    """How a run is kept on disk."""

    archive: bool = True
    keep_runs: int = 50
    history: bool = False  # results, for later runs


class Output(Protocol):
    """Where the whole output of a process goes; the path is relative to the run's directory."""

    path: str

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class _SuiteOutput:
    """The output of the only process of a run."""

    path = store.OUTPUT_FILE

    def __init__(self, recording: Recording | None) -> None:
        self._recording = recording

    def write(self, data: bytes) -> None:
        if self._recording is not None:
            self._recording.output(data)

    def close(self) -> None:
        pass


class _ProgramOutput:
    """The output of one of several processes, in a file of its own."""

    def __init__(self, files: FileStore) -> None:
        self._files = files
        self.path, self._descriptor = files.create("output.txt")
        self._left = OUTPUT_LIMIT

    def write(self, data: bytes) -> None:
        if self._descriptor is not None and not self._files.write(self._descriptor, data[: self._left]):
            self.close()
        self._left -= min(self._left, len(data))

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Shelf:
    """The run's directory, if one can be made, and the paths in it. Errors become notices."""

    def __init__(self, root: Path, run_id: str, environ: Mapping[str, str], keeping: Keeping) -> None:
        self._root, self._run_id, self._environ, self._keeping = root, run_id, environ, keeping
        self.notices: list[str] = []
        self.recording: Recording | None = None
        self._scratch: Scratch | None = None
        directory = store.open_run(root, run_id, environ) if keeping.archive else None
        if directory is not None:
            self._record(directory)
        elif keeping.archive:
            link = store.link_in_the_way(root)
            why = f"{link}, and the cache cannot be written" if link else _NOWHERE
            self.notices.append(f"this run is not kept: {why}")
        self.store = self._make_store()

    def _record(self, directory: store.RunDirectory) -> None:
        try:
            self.recording = Recording(directory, self._rescue)
        except OSError as error:
            directory.discard()
            self.notices.append(f"this run is not kept: {error}")
            return
        link = store.link_in_the_way(self._root)
        if link:
            self.notices.append(f"{link}: this run is kept in {directory.path}")

    def _make_store(self) -> FileStore:
        if self.recording is not None:
            return FileStore(self.recording.directory.descriptor)
        from proctor.archive.scratch import Scratch  # few runs are not kept

        self._scratch = Scratch("proctor-run-")
        try:
            descriptor = Folder(Path(self._scratch.path)).open()
        except OSError:  # for lack of descriptors
            return FileStore(-1)
        try:
            return FileStore(descriptor)
        finally:
            os.close(descriptor)

    def _rescue(self) -> store.RunDirectory | None:
        """Another place for the run, which later files go to as well."""
        directory = store.open_run(self._root, self._run_id, self._environ, outside=True)
        if directory is not None:
            self.store.move_to(directory.descriptor)
        return directory

    @property
    def files(self) -> Folder:
        if self.recording is not None:
            return self.recording.directory.folder
        return Folder(Path(self._scratch.path if self._scratch is not None else ""))

    @property
    def sinks(self) -> list[Sink]:
        return [self.recording] if self.recording is not None else []

    def keep(self, name: str, data: bytes) -> str | None:
        """The path of a new file with this content; None if it cannot be written."""
        path = self.attach(name, data)
        return None if path is None else str(self.files.path / path)

    def attach(self, name: str, data: bytes) -> str | None:
        """The same, and the path is relative to the run's directory."""
        path, descriptor = self.store.create(name)
        if descriptor is None:
            return None
        try:
            return path if self.store.write(descriptor, data) else None
        finally:
            os.close(descriptor)

    def output(self, test: str) -> Output:
        """For the process of that test, or of a whole suite."""
        return _ProgramOutput(self.store) if test else _SuiteOutput(self.recording)

    def __enter__(self) -> Shelf:
        return self

    @property
    def swapped(self) -> str:
        """A notice that a test has put a link in the archive's place, or nothing."""
        if self.recording is None or self.recording.directory.folder.base != self._root:
            return ""
        link = store.link_in_the_way(self._root)
        return f"{link}: this run is not kept there" if link else ""

    def prune(self) -> None:
        """Remove the oldest runs beyond the number to keep."""
        if self.recording is not None:
            try:
                store.prune(self._root, self._environ, self._keeping.keep_runs)
            except OSError:
                pass  # the next run tries again

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.store.close()
        if self.recording is not None:
            short = isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)
            nothing_started = isinstance(error, LaunchError) or short
            self.recording.close(discard=nothing_started)
        if self._scratch is not None:
            self._scratch.close()


class Running:
    """The clock of a run and its readers."""

    def __init__(
        self,
        started: e.RunStarted,
        sinks: Sequence[Sink],
        shelf: Shelf,
        result_lines: Sequence[ResultLine],
        since: float,
        quarantine: Quarantine | None = None,
    ) -> None:
        self.shelf = shelf
        self._quarantine = quarantine
        self._since = since
        self._result_lines = list(result_lines)
        if shelf.recording is not None:
            self._result_lines.append(shelf.recording.result)
        self.labels = UniqueNames()
        self.entered = 0  # suites
        self._labels: SuiteLabels | None = None  # in a run of several suites
        self._relay = Relay(started, [*sinks, *shelf.sinks])
        for notice in shelf.notices:
            self.publish(e.Noticed(notice))

    def now(self) -> float:
        return time.monotonic() - self._since

    def tick(self, shown: RunResult | None = None) -> None:
        """`shown`: what readers see instead of the result so far, because more is known than has arrived."""
        self._relay.tick(self.now(), shown)

    @property
    def result(self) -> RunResult:
        """So far."""
        return self._relay.result

    @property
    def faults(self) -> list[Fault]:
        """Readers that failed."""
        return self._relay.faults

    @property
    def stopped(self) -> bool:
        return self.result.stopped is not None

    def stop(self, reason: RunOutcome) -> None:
        self.publish(e.RunStopped(reason))

    def enter(self, suite: e.SuiteEntered, at: float | None = None) -> int:
        """A suite begins; returns its number. `at`: as of publish_all."""
        number = self.entered
        self.entered += 1
        if number == 1:
            from proctor.wire.relabel import SuiteLabels  # most runs have one suite

            first = self.result.suites[0]
            known = (first.selected, first.deselected, first.running, first.tests)
            self._labels = SuiteLabels(name for names in known for name in names)
        self.publish(suite, number, at)
        return number

    def end_session(self, suite: int) -> None:
        """The process of a session is gone, and the suite may have another one."""
        self._relay.close_session(self.now(), suite)

    def leave(self, suite: int) -> None:
        """All processes of the suite are gone."""
        self._relay.close_suite(self.now(), suite)

    def own_name(self, test: str, suite: int) -> str:
        """The name that a suite itself has for one of its tests: another suite may have used that, too."""
        return test if self._labels is None or "#" not in test else self._labels.original(test, suite)

    def publish(self, event: e.Event, suite: int = 0, at: float | None = None) -> None:
        self.publish_all((event,), suite, at)

    def publish_each(self, events: Iterable[e.Event]) -> None:
        """Facts about the run as a whole, whose tests have the names of the run already."""
        for event in events:
            self._relay.publish(event, self.now())

    def publish_all(self, events: Sequence[e.Event], suite: int = 0, at: float | None = None) -> None:
        """`at`: seconds since the start of the run; None: now."""
        if self._labels is not None:
            events = [self._labels.relabelled(event, suite) for event in events]
        if self._quarantine is not None:
            known = self.result.suites[suite].quarantined if suite < len(self.result.suites) else {}
            events = self._quarantine.marked(events, known)
        self._relay.publish_all(events, self.now() if at is None else at, suite)

    def write_results(self, results: Sequence[Mapping[str, Any] | msgspec.Struct]) -> None:
        """Results of the control channel in their normal form."""
        if self._result_lines:
            lines = _encoder.encode_lines(results)
            for write in self._result_lines:
                write(lines)

    def close(self) -> RunResult:
        """All processes are gone."""
        if self.shelf.store.fault is not None:
            self.publish(e.Noticed(f"some attached files were not kept: {self.shelf.store.fault}"))
        if self.shelf.swapped:
            self.publish(e.Noticed(self.shelf.swapped))
        return self._relay.close(self.now())

"""Writes a run to disk as it happens: whole after a kill up to the last batch of events."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from proctor.archive.inside import open_inside
from proctor.archive.store import (
    EVENTS_FILE,
    FILES_FOLDER,
    OUTPUT_FILE,
    RESULT_FILE,
    RESULTS_FILE,
    RUN_FILE,
    RunDirectory,
    RunHead,
)
from proctor.events import Entry, OutputReceived, RunFinished, TestFinished
from proctor.launch import Voice
from proctor.result import KEPT, Result
from proctor.wire import document, jsonl

OUTPUT_LIMIT = 16 << 30  # bytes of one output kept on disk: more is a run away, not a run


class Recording:
    """A sink, and the place for what is not an event: raw output and finished results."""

    def __init__(self, directory: RunDirectory) -> None:
        self.directory = directory
        self._files: dict[str, int] = {}
        self._pending: dict[str, list[bytes]] = {}
        self._entries: list[Entry] = []
        self._logged_output = 0
        self._kept_output = 0
        for name in (EVENTS_FILE, OUTPUT_FILE, RESULTS_FILE):  # all at once: the directory may vanish
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._files[name] = os.open(directory.path / name, flags, 0o644)
            self._pending[name] = []

    def handle(self, entry: Entry, so_far: Result) -> None:
        if entry.seq == 0:
            self._write_head(so_far)
        event = entry.event
        if isinstance(event, OutputReceived):
            entry = self._clipped(entry, event)
        self._entries.append(entry)
        if isinstance(event, RunFinished):
            self._flush(so_far)

    def handle_parts(self, first: int, at: float, parts: Sequence[TestFinished], so_far: Result) -> None:
        self._encode(so_far)
        self._pending[EVENTS_FILE].append(jsonl.encode_parts(first, at, parts))

    def _clipped(self, entry: Entry, event: OutputReceived) -> Entry:
        """The whole output is in output.txt; the log keeps its beginning."""
        room = max(0, KEPT - self._logged_output)
        self._logged_output += len(event.text)
        if len(event.text) <= room:
            return entry
        return Entry(entry.seq, entry.at, OutputReceived(event.stream, event.text[:room]))

    def output(self, data: bytes) -> None:
        room = OUTPUT_LIMIT - self._kept_output
        if room > 0:
            self._kept_output += len(data)
            self._pending[OUTPUT_FILE].append(data[:room])

    def result(self, line: bytes) -> None:
        self._pending[RESULTS_FILE].append(line)

    def tick(self, now: float, so_far: Result) -> None:
        self._flush(so_far)

    def _encode(self, so_far: Result) -> None:
        self._pending[EVENTS_FILE].append(jsonl.encode_lines(self._entries, so_far))
        self._entries.clear()

    def _flush(self, so_far: Result) -> None:
        self._encode(so_far)
        for name, pending in self._pending.items():
            if pending:
                data = memoryview(b"".join(pending))
                pending.clear()
                while data:
                    data = data[os.write(self._files[name], data) :]

    def _write_head(self, result: Result) -> None:
        run = result.run
        head = RunHead(run.run_id, run.runner, run.started, run.command, run.everything, run.collect_only)
        if result.outcome != "running":
            head.outcome, head.summary = str(result.outcome), result.summary()
        _replace(self.directory.path / RUN_FILE, lambda file: _write_all(file, msgspec.json.encode(head)))

    def finish(self, result: Result, rescue: Callable[[], RunDirectory | None]) -> None:
        """Write the document. Should the directory be gone, `rescue` names another one."""
        self._flush(result)
        if self.directory.vanished:
            self._move_to(rescue())
        path = self.directory.path
        if result.run.source == Voice.PROGRAM:
            (path / OUTPUT_FILE).unlink(missing_ok=True)  # programs have files of their own

        def write(file: int) -> None:
            for chunk in document.chunks(result, loader(path), whole_output(path, result)):
                _write_all(file, chunk)

        _replace(path / RESULT_FILE, write)
        self._write_head(result)

    def _move_to(self, directory: RunDirectory | None) -> None:
        if directory is None:
            raise FileNotFoundError(f"{self.directory.path} is gone, and there is no other place")
        for name, source in self._files.items():
            with open(directory.path / name, "wb") as target:
                offset = 0
                while piece := os.pread(source, 1 << 20, offset):
                    target.write(piece)
                    offset += len(piece)
        self.directory.close()
        self.directory = directory

    def close(self) -> None:
        for file in self._files.values():
            os.close(file)
        self.directory.close()


def whole_output(directory: Path, result: Result) -> str:
    """Where all that the processes of a run wrote is kept: in one file, or in one for each program."""
    return str(directory / (FILES_FOLDER if result.run.source == Voice.PROGRAM else OUTPUT_FILE))


def loader(directory: Path) -> Callable[[str], str]:
    """Texts that tests attached, by relative path; a long one is cut in the middle and says so."""

    def load(relative: str) -> str:
        try:
            with os.fdopen(open_inside(directory, relative), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size <= KEPT:
                    return file.read().decode("utf-8", "backslashreplace")
                head = file.read(KEPT // 2)
                file.seek(-(KEPT // 2), os.SEEK_END)
                tail = file.read()
        except OSError as error:
            return f"[{relative} cannot be read: {error.strerror}]"
        left_out = f"\n[... {size - KEPT} bytes left out; the whole is in {directory / relative} ...]\n"
        return head.decode("utf-8", "backslashreplace") + left_out + tail.decode("utf-8", "backslashreplace")

    return load


def _replace(path: Path, write: Callable[[int], None]) -> None:
    """All of the new content or all of the old, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        write(file)
    finally:
        os.close(file)
    os.replace(temporary, path)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]

"""Writes a run to disk while it runs. After a kill, everything up to the last batch of events is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from proctor.archive.inside import Folder, new_file, open_inside, remove, replace_inside
from proctor.archive.store import (
    EVENTS_FILE,
    FAILURES_FILE,
    FILES_FOLDER,
    OUTPUT_FILE,
    RESULT_FILE,
    RESULTS_FILE,
    RUN_FILE,
    RunDirectory,
    RunHead,
)
from proctor.events import Entry, Event, OutputReceived, RunFinished, RunStarted
from proctor.failure_row import escaped
from proctor.launch import Voice
from proctor.result import KEPT, RunResult
from proctor.text import text_of
from proctor.wire.document import writer as document
from proctor.wire.literal import encode
from proctor.wire.stream import log

_SPECIAL = frozenset(
    {RunStarted, OutputReceived, RunFinished}
)  # events that are more to a record than a line
OUTPUT_LIMIT = 16 << 30  # bytes of output kept on disk; more means that a test writes without end


class Recording:
    """A sink that also takes raw output and finished results. If its directory is gone or the disk is full,
    `rescue` returns another one."""

    name = "the record of the run"

    def __init__(
        self, directory: RunDirectory, rescue: Callable[[], RunDirectory | None] = lambda: None
    ) -> None:
        self.directory, self._rescue = directory, rescue
        self._files = _opened(directory)
        self._pending: dict[str, list[bytes]] = {name: [] for name in self._files}
        self._entries: list[Entry] = []
        self._logged_output = 0
        self._kept_output = 0

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        if entry.seq == 0:
            self._write_head(so_far)
        event = entry.event
        if isinstance(event, OutputReceived):
            entry = self._clipped(entry, event)
        self._entries.append(entry)
        if isinstance(event, RunFinished):
            self._finish(so_far)

    def handle_all(self, first: Entry, events: Sequence[Event], so_far: RunResult) -> None:
        if not _SPECIAL.isdisjoint(map(type, events)):
            for seq, event in enumerate(events, first.seq):
                self.handle(Entry(seq, first.at, first.suite, event), so_far)
        else:
            self._encode(so_far)
            self._pending[EVENTS_FILE].append(log.encode_all(first, events, so_far))

    def _clipped(self, entry: Entry, event: OutputReceived) -> Entry:
        """The whole output is in output.txt; the log keeps its beginning."""
        room = max(0, KEPT - self._logged_output)
        self._logged_output += len(event.text)
        if len(event.text) <= room:
            return entry
        return msgspec.structs.replace(entry, event=OutputReceived(event.stream, event.text[:room]))

    def output(self, data: bytes) -> None:
        room = OUTPUT_LIMIT - self._kept_output
        if room > 0:
            self._kept_output += len(data)
            self._pending[OUTPUT_FILE].append(data[:room])

    def result(self, line: bytes) -> None:
        self._pending[RESULTS_FILE].append(line)

    def _encode(self, so_far: RunResult) -> None:
        if self._entries:
            self._pending[EVENTS_FILE].append(log.encode_lines(self._entries, so_far))
            self._entries.clear()

    def tick(self, now: float, so_far: RunResult) -> None:
        """Writes everything that is pending."""
        self._encode(so_far)
        for name, pending in self._pending.items():
            if pending:
                data = memoryview(b"".join(pending))
                pending.clear()
                while data:
                    try:
                        data = data[os.write(self._files[name], data) :]
                    except OSError as error:
                        self._move(error, so_far)

    def _write_head(self, result: RunResult) -> None:
        run = result.run
        head = RunHead(run.run_id, run.runner, run.started, run.command, run.everything, run.collect_only)
        head.asked = run.asked
        if result.outcome != "running":
            head.outcome, head.summary = str(result.outcome), result.summary()
        replace_inside(self.directory.descriptor, RUN_FILE, lambda file: _write_all(file, encode(head)))

    def _finish(self, result: RunResult) -> None:
        """Nothing follows: write the document."""
        self.tick(0.0, result)
        if self.directory.vanished:
            self._move(FileNotFoundError(f"{self.directory.path} is gone"), result)
        try:
            self._write_document(result)
        except OSError as error:
            self._move(error, result)
            self._write_document(result)

    def _write_document(self, result: RunResult) -> None:
        if _of_programs(result):
            remove(OUTPUT_FILE, self.directory.descriptor)  # programs have files of their own

        def write(file: int) -> None:
            for chunk in document_chunks(result, self.directory.folder):
                _write_all(file, chunk)

        replace_inside(self.directory.descriptor, RESULT_FILE, write)
        if failing := result.failing:
            lines = "".join(f"{_one_line(test)}\n" for test in failing)
            replace_inside(
                self.directory.descriptor, FAILURES_FILE, lambda file: _write_all(file, lines.encode())
            )
        self._write_head(result)

    def _move(self, trouble: OSError, so_far: RunResult) -> None:
        """To another directory, with all that is written already; raises `trouble` if there is none."""
        before, directory = self.directory, self._rescue()
        if directory is None:
            raise trouble
        files: dict[str, int] = {}
        try:
            files = _opened(directory)
            for name, source in self._files.items():
                offset = 0
                while piece := os.pread(source, 1 << 20, offset):
                    _write_all(files[name], piece)
                    offset += len(piece)
        except OSError:
            _close(files)
            directory.discard()
            raise trouble from None
        _close(self._files)
        self.directory, self._files = directory, files
        self._write_head(so_far)
        before.discard()  # one run in two places would be two runs

    def close(self, discard: bool = False) -> None:
        _close(self._files)
        if discard:
            self.directory.discard()
        else:
            self.directory.close()


def _one_line(test: str) -> str:
    """The id as it is, or, if a line of a file cannot hold it, as a row of the failure index has it."""
    plain = test.splitlines() == [test] and not any("\ud800" <= letter <= "\udfff" for letter in test)
    return test if plain else escaped(test)


def _opened(directory: RunDirectory) -> dict[str, int]:
    """All at once: the directory may vanish."""
    files: dict[str, int] = {}
    try:
        for name in (EVENTS_FILE, OUTPUT_FILE, RESULTS_FILE):
            files[name] = new_file(name, directory.descriptor, os.O_RDWR | os.O_APPEND)
    except OSError:
        _close(files)
        raise
    return files


def _close(files: dict[str, int]) -> None:
    for file in files.values():
        os.close(file)


def document_chunks(result: RunResult, folder: Folder | None) -> Iterator[bytes]:
    """The result document of a run, with the texts that are in files of its directory."""
    if folder is None:
        return document.chunks(result, loader(Folder(Path(os.devnull))))
    output = folder.path / (FILES_FOLDER if _of_programs(result) else OUTPUT_FILE)
    return document.chunks(result, loader(folder), str(output))


def _of_programs(result: RunResult) -> bool:
    """Every process of the run is a test with an output of its own."""
    return all(suite.source == Voice.PROGRAM for suite in result.suites)


def loader(folder: Folder) -> Callable[[str], str]:
    """Texts that tests attached, by relative path; a long one is cut in the middle, with a note there."""

    def load(relative: str) -> str:
        try:
            with os.fdopen(open_inside(folder, relative), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size <= KEPT:
                    return text_of(file.read())
                head = file.read(KEPT // 2)
                file.seek(-(KEPT // 2), os.SEEK_END)
                tail = file.read()
        except OSError as error:
            return f"[{relative} cannot be read: {error.strerror}]"
        left_out = f"\n[... {size - KEPT} bytes left out; the whole is in {folder.path / relative} ...]\n"
        return text_of(head) + left_out + text_of(tail)

    return load


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]

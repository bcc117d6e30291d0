"""A stream or a log, told again by any of the readers, also while it still grows."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from proctor.archive.inside import open_inside
from proctor.archive.recording import document_chunks
from proctor.archive.store import EVENTS_FILE, in_use
from proctor.cli.readers import (
    TEXTS,
    AtTheEnd,
    Events,
    Stream,
    on_terminal,
    speaker,
    text_reader,
    wants_colours,
)
from proctor.errors import UsageError
from proctor.events import Entry
from proctor.outcome import EXIT_CODES, WORST_FIRST, RunOutcome
from proctor.relay import Sink
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.wire.reports.report_run import RunReader
from proctor.wire.stream.rules import StreamRules
from proctor.wire.stream.writer import StrictStream

FORMATS = ("auto", *TEXTS, "agent", "github", "failures", "json", "stream", "events")

_PIECE = 1 << 16
_SILENCE = 0.2  # seconds after which readers get a look at the clock


class Source:
    """Where bytes come from, and how one waits for more of them."""

    def __init__(self, file: int, directory: Path | None) -> None:
        self._file = file
        self.directory = directory  # of what a log refers to

    def pieces(self, may_grow: Callable[[], bool]) -> Iterator[bytes]:
        """To the end, and beyond it while it may grow. An empty piece means: nothing new for a moment."""
        while True:
            ready, _, _ = select.select([self._file], [], [], _SILENCE)
            if not ready:
                yield b""
            elif piece := os.read(self._file, _PIECE):
                yield piece
            elif may_grow():
                yield b""
                time.sleep(_SILENCE)  # that a file has grown is not an event one can wait for
            elif piece := os.read(self._file, _PIECE):
                yield piece  # written before we asked
            else:
                return


@contextmanager
def opened(path: Path | None) -> Iterator[Source]:
    """A file, the log in the directory of a run, or stdin."""
    if path is None:
        yield Source(0, None)
        return
    try:
        if path.is_dir():
            file, directory = open_inside(path, EVENTS_FILE), path
        else:
            file, directory = os.open(path, os.O_RDONLY | os.O_CLOEXEC), path.parent
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    try:
        yield Source(file, directory)
    finally:
        os.close(file)


def check(pieces: Iterator[bytes], name: str) -> int:
    """Each broken rule with its line, on stdout."""
    rules, rest, broken, lines = StreamRules(), b"", 0, 0
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        lines += len(whole)
        for line in whole:
            for violation in rules.check(line + b"\n"):
                broken += 1
                print(f"{name}: {violation}")
    for violation in [*(rules.check(rest) if rest else []), *rules.close()]:
        broken += 1
        print(f"{name}: {violation}")
    if broken:
        print(f"proctor: {name} breaks the rules of the stream {broken} times [stream]", file=sys.stderr)
    else:
        print(f"{name}: {lines} lines, no rule broken")
    return int(bool(broken))


def show(
    reader: RunReader,
    source: Source,
    name: str,
    form: str,
    follow: bool,
    environ: Mapping[str, str],
    indexed: bool = False,
) -> int:
    """Tell the runs in the source, their failures last if `indexed`; returns the worst exit code."""
    results: list[RunResult] = []
    closers: list[Callable[[], None]] = []
    make = _reader(form, source.directory, environ, closers)
    plain = form == "human" and not on_terminal(environ)  # its sign of life is for silence alone
    replay, clock = Replay(lambda: [make()], results.append), _Clock()

    def may_grow() -> bool:
        return follow and not (results and replay.idle) and not _abandoned(source.directory)

    try:
        for piece in source.pieces(may_grow):
            entries = reader.feed(piece)
            clock.heard(entries)
            replay.take(entries)
            if not piece or not plain:
                replay.tick(clock.now())
            replay.check()
        replay.take(reader.close())
        replay.close()
        replay.check()
        if indexed:
            from proctor.render.result_index import failure_index

            speaker(sys.stdout.buffer)("".join(failure_index(result) for result in results))
    finally:
        for close in closers:
            close()
    return _conclude(results, name)


def _reader(
    form: str, directory: Path | None, environ: Mapping[str, str], closers: list[Callable[[], None]]
) -> Callable[[], Sink]:
    """Makes a reader for each run that the input has."""
    out = sys.stdout.buffer
    if form == "stream":
        stream = StrictStream()
        return lambda: Stream(out, stream)
    if form == "events":
        return lambda: Events(out)
    if form == "json":
        return lambda: AtTheEnd(lambda result: _document(result, directory))
    if form == "human" and on_terminal(environ):
        return lambda: _live(closers)
    say = speaker(out, form in TEXTS and wants_colours(environ))
    return lambda: text_reader(form, say, environ)


def _live(closers: list[Callable[[], None]]) -> Sink:
    from rich.console import Console

    from proctor.render.live import LiveTerminal

    live = LiveTerminal(Console())
    closers.append(live.close)
    return live


def _document(result: RunResult, directory: Path | None) -> None:
    sys.stdout.buffer.writelines(document_chunks(result, directory))


def _abandoned(directory: Path | None) -> bool:
    """A run of ours whose writer is gone: nothing more will come."""
    return directory is not None and (directory / "lock").exists() and not in_use(directory)


class _Clock:
    """Seconds since the run began, as far as its entries let us know when that was."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def heard(self, entries: list[Entry]) -> None:
        if entries:
            self._began = min(self._began, time.monotonic() - entries[-1].at)

    def now(self) -> float:
        return time.monotonic() - self._began


def _conclude(results: list[RunResult], name: str) -> int:
    if not results:
        print(f"proctor: {name} has no suite; nothing to show [stream]", file=sys.stderr)
        return 2
    outcomes = {result.outcome for result in results}
    return conclude(next(outcome for outcome in WORST_FIRST if outcome in outcomes), name)


def conclude(outcome: RunOutcome, name: str) -> int:
    """The exit code of what was shown; one that is not 0 is explained on stderr."""
    code = EXIT_CODES[outcome]
    if code:
        print(f"proctor: {name}: {outcome.replace('_', ' ')}", file=sys.stderr)
    return code

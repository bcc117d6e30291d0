"""What must hold for any bytes at all, one function for each way into proctor that somebody else writes to.

Each takes bytes and raises AssertionError, or whatever escaped, if it does not hold. `fuzz.py` looks for such
bytes; what it found stays in `found/`, where the tests try it again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec

from proctor import config, failure_row
from proctor import events as e
from proctor.errors import ConfigError, StreamError, UsageError
from proctor.launch import KnownTest, Launch, Voice
from proctor.outcome import BAD, RunOutcome
from proctor.relay import Relay
from proctor.render.agent import agent_text
from proctor.render.failure_index import failure_index
from proctor.render.human import report_text
from proctor.result import Result
from proctor.runners import matching
from proctor.wire import formats
from proctor.wire.control.decoder import Broken, ControlDecoder, FileChunk
from proctor.wire.control.ledger import Finished, Ledger, Limits, Partial
from proctor.wire.control.program import Labels
from proctor.wire.control.session import SessionReader
from proctor.wire.document import writer as document
from proctor.wire.fault import FaultReader
from proctor.wire.reports.lines import LineReader
from proctor.wire.reports.pytest_text import TextReader
from proctor.wire.stream import log as jsonl

Target: TypeAlias = Callable[[bytes], None]

_SMALL = Limits(json=4096, results=200, partials=20, files=20, file_bytes=1 << 16)


def control(data: bytes) -> None:
    """However the bytes are cut: the same frames, the same fault, and nothing past it."""
    size, data = _split(data)
    whole, pieces = _decode(data, len(data)), _decode(data, size)
    assert whole == pieces, (whole, pieces)


def _decode(data: bytes, size: int) -> tuple[list[object], tuple[str, int] | None]:
    ledger = Ledger(_SMALL)
    decoder = ControlDecoder(ledger)
    found: list[object] = []
    for piece in _pieces(data, size):
        found += decoder.feed(piece)
    found += decoder.close()
    found += ledger.close(1, "", None)
    fault = decoder.error
    frames = [frame for frame in _joined(found) if not isinstance(frame, Broken)]
    return frames, (fault.kind, fault.offset) if fault else None


def _joined(frames: list[object]) -> list[object]:
    """The bytes of a file may come in any pieces."""
    joined: list[object] = []
    for frame in frames:
        if not isinstance(frame, FileChunk):
            joined.append(frame)
        elif joined and isinstance(joined[-1], bytes):
            joined[-1] += frame.data
        else:
            joined.append(frame.data)
    return joined


def report(form: str, data: bytes) -> None:
    """However the bytes are cut: the same facts, each run judged, nothing green that was not."""
    size, data = _split(data)
    whole, pieces = _entries(form, data, len(data)), _entries(form, data, size)
    assert _comparable(whole) == _comparable(pieces), (whole, pieces)
    relay: Relay | None = None
    for entry in whole:
        if isinstance(entry.event, e.RunStarted):
            relay = Relay(entry.event, [])
        elif relay is not None:
            _publish(relay, [entry.event])
            if isinstance(entry.event, e.RunFinished):
                _check(relay.result)


def live(form: str, data: bytes) -> None:
    """A process that tells on its stdout what it does, and ends with 0 whatever that was."""
    size, data = _split(data)
    known = (KnownTest("a", "a.rs", 3), KnownTest("p::TestA", "a_test.go", 7))
    reader = LineReader(Launch(("x",), "/project", "x", Voice.LINES, reader=form, known=known))
    relay = Relay(e.RunStarted("", "x", (), "/project", "", "", source=Voice.LINES), [])
    for piece in _pieces(data, size):
        _publish(relay, reader.feed(piece))
    _publish(relay, reader.close(0, relay.result))
    _end(relay)


def session(data: bytes) -> None:
    """What the reporter in a framework says, a message each line: understood, or refused in words."""
    reader = SessionReader("pytest", "", Labels())
    relay = Relay(e.RunStarted("", "pytest", (), "/project", "", "", source=Voice.CONTROL), [])
    decoder = ControlDecoder(Ledger(_SMALL))
    said = b"".join(b"result %d\n%b" % (len(line), line) for line in data.splitlines())
    for frame in [*decoder.feed(said), *decoder.close()]:
        try:
            _publish(relay, reader.read(frame) if isinstance(frame, Partial | Finished) else [])
        except msgspec.ValidationError as error:
            _publish(relay, [e.ChannelBroken(str(error))])
    _end(relay)


def _publish(relay: Relay, events: Iterable[e.Event]) -> None:
    """Whatever was told can be kept, and read again."""
    for event in events:
        relay.publish(event, 0.0)
        kept = jsonl.decode(jsonl.encode(e.Entry(0, 0.0, event), relay.result).rstrip(b"\n"))
        assert kept is not None and type(kept.event) is type(event), (event, kept)


def _end(relay: Relay) -> None:
    _publish(relay, [e.ProcessExited(0)])
    _check(relay.close(0.0))


def _entries(form: str, data: bytes, size: int) -> list[e.Entry]:
    reader = formats.run_reader(form)
    found: list[e.Entry] = []
    try:
        for piece in _pieces(data, size):
            found += reader.feed(piece)
        found += reader.close()
    except StreamError:
        pass  # refused in words of ours
    return found


def _comparable(entries: list[e.Entry]) -> list[object]:
    """Output comes in the pieces that were read; an XML parser names a fault by how far it could see."""
    found: list[object] = []
    for entry in entries:
        match entry.event, found[-1] if found else None:
            case e.ChannelBroken(), _:
                found.append("broken")
            case e.RunFinished() as finished, _:
                found.append(msgspec.structs.replace(finished, reason=""))
            case e.OutputReceived() as more, e.OutputReceived() as said if more.stream == said.stream:
                found[-1] = msgspec.structs.replace(said, text=said.text + more.text)
            case event, _:
                found.append(event)
    return found


def _check(result: Result) -> None:
    assert sum(result.counts.values()) == len(result.tests), (result.counts, len(result.tests))
    if result.outcome is RunOutcome.PASSED:
        bad = [test.test for test in result.tests.values() if test.outcome in BAD]
        assert not bad and not result.collection_errors, bad
    for text in (agent_text(result), report_text(result), failure_index(result)):
        text.encode()
    for form in formats.WRITERS:
        b"".join(formats.writer(form)(result))
    msgspec.json.decode(b"".join(document.chunks(result, lambda _: "")))


def text(data: bytes) -> None:
    """pytest's words on a terminal: whatever they are, the end is told once."""
    size, data = _split(data)
    words = data.decode("utf-8", "backslashreplace")
    reader = TextReader("pytest")
    relay = Relay(e.RunStarted("", "pytest", (), "", "", "", source="text"), [])
    for at in range(0, len(words), size):
        _publish(relay, reader.feed(words[at : at + size]))
    _publish(relay, reader.close())
    _end(relay)


def fault(data: bytes) -> None:
    reader = FaultReader("/project")
    reader.feed(data.decode("utf-8", "backslashreplace"))
    for dump in reader.dumps():
        assert isinstance(dump, e.FaultTraced)


def row(data: bytes) -> None:
    """A line of the failure index is refused, or read and written again as it was."""
    line = data.decode("utf-8", "surrogateescape")
    try:
        found = failure_row.decode(line)
    except ValueError:
        return
    assert failure_row.decode(failure_row.encode(found)) == found
    fields = failure_row.Row(*[*line.split("\0"), "", ""][:3])
    assert failure_row.decode(failure_row.encode(fields)) == fields


def settings(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "proctor.toml").write_bytes(data)
        try:
            config.programs(config.load(root))
        except ConfigError as error:
            assert str(root) in str(error) or "tests: " in str(error)


def expression(data: bytes) -> None:
    words = data.decode("utf-8", "backslashreplace")[:200]
    try:
        matching.parse(words)(lambda word: word in "test_users_add")
    except UsageError as error:
        assert repr(words) in str(error)


def _split(data: bytes) -> tuple[int, bytes]:
    """The first byte says how large the pieces are."""
    return (data[0] % 31 + 1, data[1:]) if data else (1, b"")


def _pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size or 1)]


TARGETS: dict[str, Target] = {
    "control": control,
    **{form: partial(report, form) for form in formats.offered("from")},
    **{form: partial(live, form) for form in formats.READERS if not formats.FORMATS[form].offered},
    "session": session,
    "pytest-text": text,
    "fault": fault,
    "row": row,
    "settings": settings,
    "expression": expression,
}

"""What must hold for any bytes at all, one function for each way into proctor that somebody else writes to.

Each takes bytes and raises AssertionError, or whatever escaped, if it does not hold. `fuzz.py` looks for such
bytes; what it found stays in `found/`, where the tests try it again.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from proctor import config, failure_row
from proctor import events as e
from proctor.cli.text_settings import TextSettings
from proctor.cli.writers import Output, writer
from proctor.errors import ConfigError, StreamError, UsageError
from proctor.launch import KnownTest, Lines, Voice
from proctor.mcp_server import messages
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.relay import Relay
from proctor.render.masking import masked_values
from proctor.render.secrets import MASK, masked, masked_part
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.runners import matching, package_scripts
from proctor.unique_names import UniqueNames
from proctor.wire import formats
from proctor.wire.control.decoder import Broken, ControlDecoder, FileChunk
from proctor.wire.control.ledger import Finished, Ledger, Limits, Partial, Parts
from proctor.wire.control.passing import Pairs
from proctor.wire.control.session import SessionReader
from proctor.wire.document import writer as document
from proctor.wire.document.run import DocumentRun
from proctor.wire.fault import FaultReader
from proctor.wire.reports.detect import Detector, detect
from proctor.wire.reports.lines import LineReader
from proctor.wire.reports.pytest_text import TextReader
from proctor.wire.stream import log as jsonl

Target: TypeAlias = Callable[[bytes], None]

GROWTH, FRAME = 100, 1 << 20  # bytes that a byte may become; and bytes that may be written beside those

_SMALL = Limits(json=4096, results=200, partials=20, files=20, file_bytes=1 << 16)


def control(data: bytes) -> None:
    """However the bytes are cut: the same frames, the same fault, and nothing past it."""
    size, data = _split(data)
    whole, pieces = _decode(data, len(data)), _decode(data, size)
    assert whole == pieces, (whole, pieces)
    in_parts = _decode(data, size, in_parts=True)
    assert whole == in_parts, (whole, in_parts)
    in_pairs = _decode(data, size, in_pairs=True)
    assert whole == in_pairs, (whole, in_pairs)


def _decode(data: bytes, size: int, **ways: bool) -> tuple[list[object], tuple[str, int] | None]:
    ledger = Ledger(_SMALL)
    decoder = ControlDecoder(ledger, **ways)
    found: list[object] = []
    for piece in _pieces(data, size):
        found += decoder.feed(piece)
    found += decoder.close()
    found += ledger.close(1, "", None)
    fault = decoder.error
    frames = [frame for frame in _joined(_apart(found)) if not isinstance(frame, Broken)]
    return frames, (fault.kind, fault.offset) if fault else None


def _apart(frames: list[object]) -> list[object]:
    """Results one by one, in whatever way they came."""
    apart: list[object] = []
    for frame in frames:
        if isinstance(frame, Parts):
            apart += zip(frame.names, frame.bodies, strict=True)
        elif isinstance(frame, Pairs):
            for begun, passed in zip(frame.begun, frame.passed, strict=True):
                first, last = (msgspec.json.decode(msgspec.json.encode(one)) for one in (begun, passed))
                del first["partial"]
                apart += [(begun.name, first, "partial"), (begun.name, first | last)]
        elif isinstance(frame, Finished) and not frame.withdrawn:
            apart.append((frame.name, frame.body))
        elif isinstance(frame, Partial):
            apart.append((frame.name, frame.body, "partial"))
        else:
            apart.append(frame)
    return apart


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
    _spoiled(form, data)
    written = Written(data)
    kept = Kept()
    results: list[RunResult] = []
    replay = Replay(lambda: [written, kept], results.append)
    replay.take(whole)
    replay.close()
    replay.check()
    for result in results:
        _check(result, written)


#: What says that something failed, in the words of each format.
_FAILURES = {
    "tap": b"not ok\n",
    "libtest": b"error: test failed, to rerun pass `--test x`\n",
    "libtest-json": b'{ "type": "suite", "event": "failed", "failed": 1 }\n',
    "go-json": b"FAIL\tq [build failed]\n",
    "tap-j": b'{"type":"test","label":"z","status":"fail"}\n',
}


def _spoiled(form: str, data: bytes) -> None:
    """Whatever stands before a failure, it is no pass; nor if another report follows."""
    others = [words for name, words in _BEGINNINGS.items() if name != form]
    for more in [_FAILURES[form], *others] if form in _FAILURES else []:
        ends = [entry.event for entry in _entries(form, data + b"\n" + more, len(data) + 1)]
        assert not any(isinstance(end, e.RunFinished) and end.outcome is RunOutcome.PASSED for end in ends), (
            more
        )


_BEGINNINGS = {
    "libtest": b"running 1 test\ntest a ... FAILED\n",
    "go-json": b'{"Action":"run","Package":"p","Test":"TestA"}\n{"Action":"fail","Package":"p"}\n',
}


def detected(data: bytes) -> None:
    """However the bytes are cut, they are the same report, and it is one that can be read."""
    size, data = _split(data)
    detector = Detector()
    early = next((form for piece in _pieces(data, size) if (form := detector.feed(piece))), None)
    found = detect(data)
    assert (early or detector.close()) == found, (early, found)
    assert found is None or found in formats.offered("from")


def live(form: str, data: bytes) -> None:
    """A process that tells on its stdout what it does, and ends with 0 whatever that was."""
    size, data = _split(data)
    known = (KnownTest("a", "a.rs", 3), KnownTest("p::TestA", "a_test.go", 7))
    reader = LineReader("x", "/project", Lines(form, known=known))
    written = Written(data)
    relay = Relay(e.RunStarted("", "x", (), "/project", "", "", source=Voice.LINES), [written])
    for piece in _pieces(data, size):
        _publish(relay, reader.feed(piece))
    _publish(relay, reader.close(0, relay.result.suites[0]))
    _end(relay, written)


def session(data: bytes) -> None:
    """What the reporter in a framework says, a message each line: understood, or refused in words."""
    reader = SessionReader("pytest", "", UniqueNames())
    written = Written(data)
    relay = Relay(e.RunStarted("", "pytest", (), "/project", "", "", source=Voice.CONTROL), [written])
    decoder = ControlDecoder(Ledger(_SMALL), in_pairs=True)
    said = b"".join(b"result %d\n%b" % (len(line), line) for line in data.splitlines())
    for frame in [*decoder.feed(said), *decoder.close()]:
        try:
            if isinstance(frame, Pairs):
                _publish(relay, reader.read_pairs(frame))
            else:
                _publish(relay, reader.read(frame) if isinstance(frame, Partial | Finished) else [])
        except msgspec.ValidationError as error:
            _publish(relay, [e.ChannelBroken(str(error))])
    _end(relay, written)


class Kept:
    """Whatever is told can be kept, and read again."""

    name = "the log"

    def handle(self, entry: e.Entry, so_far: RunResult) -> None:
        kept = jsonl.decode(jsonl.encode(entry, so_far).rstrip(b"\n"))
        assert kept is not None and type(kept.event) is type(entry.event), (entry, kept)

    def tick(self, now: float, so_far: RunResult) -> None:
        pass


class Written:
    """Everything that is written about some bytes, by every reader of a run: no more than they are worth."""

    name = "everything"

    def __init__(self, data: bytes) -> None:
        self._most = GROWTH * len(data) + FRAME
        self._sizes: Counter[str] = Counter()
        names = [name for name in formats.offered("show") if name != "json"]
        self._sinks = [
            writer(name, Output(Measured(partial(self.add, name)), TextSettings(), {})) for name in names
        ]

    def handle(self, entry: e.Entry, so_far: RunResult) -> None:
        for sink in self._sinks:
            sink.handle(entry, so_far)

    def tick(self, now: float, so_far: RunResult) -> None:
        pass

    def add(self, form: str, data: bytes) -> None:
        self._sizes[form] += len(data)
        assert self._sizes[form] <= self._most, (form, self._most)


class Measured(io.BytesIO):
    """A file that only tells how much is written to it."""

    def __init__(self, add: Callable[[bytes], None]) -> None:
        super().__init__()
        self._add = add

    def write(self, data: Any) -> int:
        self._add(data)
        return len(data)


def _publish(relay: Relay, events: Iterable[e.Event], suite: int = 0) -> None:
    """Whatever was told can be kept, and read again."""
    for event in events:
        relay.publish(event, 0.0, suite)
        kept = jsonl.decode(jsonl.encode(e.Entry(0, 0.0, suite, event), relay.result).rstrip(b"\n"))
        assert kept is not None and type(kept.event) is type(event), (event, kept)


def _end(relay: Relay, written: Written) -> None:
    _publish(relay, [e.ProcessExited(0)])
    relay.close(0.0)
    assert not relay.faults, relay.faults
    _check(relay.result, written)


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
            case (e.RunFinished() | e.SuiteFinished()) as finished, _:
                found.append(msgspec.structs.replace(finished, reason=""))
            case e.OutputReceived() as more, e.OutputReceived() as said if more.stream == said.stream:
                found[-1] = msgspec.structs.replace(said, text=said.text + more.text)
            case event, _:
                found.append(event)
    return found


def _check(result: RunResult, written: Written) -> None:
    assert sum(result.counts.values()) == len(result.tests), (result.counts, len(result.tests))
    if result.outcome is RunOutcome.PASSED:
        bad = [test.test for test in result.tests.values() if test.outcome in BAD]
        assert not bad and not result.collection_errors, bad
        exits = [suite.exited for suite in result.suites if suite.exited is not None]
        assert not any(end.signal for end in exits), exits
        assert not any(suite.session.channel_error for suite in result.suites), result.suites
        assert not result.not_run, result.not_run
    whole = b"".join(document.chunks(result, lambda _: ""))
    written.add("json", whole)
    msgspec.json.decode(whole)
    _same_in_a_document(result)


def _same_in_a_document(result: RunResult) -> None:
    """What did not pass never passes in a document that is read again."""
    reader, again = DocumentRun(), list[RunResult]()
    replay = Replay(lambda: [], again.append)
    reader.feed(b"".join(document.chunks(result, lambda _: "")))
    replay.take(reader.close())
    assert all(found.outcome is not RunOutcome.PASSED or result.outcome is found.outcome for found in again)


def text(data: bytes) -> None:
    """pytest's words on a terminal: whatever they are, the end is told once."""
    size, data = _split(data)
    words = data.decode("utf-8", "backslashreplace")
    reader = TextReader("pytest")
    written = Written(data)
    relay = Relay(e.RunStarted("", "pytest", (), "", "", "", source="text"), [written])
    for at in range(0, len(words), size):
        _publish(relay, reader.feed(words[at : at + size]))
    _publish(relay, reader.close())
    _end(relay, written)


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
    words = data.decode("utf-8", "backslashreplace")
    try:
        matching.parse(words)(lambda word: word in "test_users_add")
    except UsageError as error:
        assert repr(words) in str(error) or len(words) > matching._SHOWN
        assert len(str(error)) < 3000


def script(data: bytes) -> None:
    """Whatever `npm test` is: its tools are known by their words, or all of it is said to be left out."""
    line = data.decode("utf-8", "backslashreplace").strip()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        scripts = {"test": line, "unit": "node --test unit", "all": f"{line} && npm run unit"}
        (root / "package.json").write_bytes(msgspec.json.encode({"scripts": scripts}))
        found = package_scripts.read(root)
        if found.text and not found.calls and found.others:
            (said, *_) = package_scripts.left_out(root, ())
            assert all(f"`{text}`" in said for text in found.others)


def masking(data: bytes) -> None:
    """Whatever a test prints: it can be masked, once is enough, a mask is short, and ids stay as they are."""
    words = data.decode("utf-8", "backslashreplace")
    hidden = masked(words)
    assert masked(hidden) == hidden, (hidden, masked(hidden))
    assert len(hidden) <= len(MASK) * len(words)
    assert masked_part(words, len(words) // 2, len(words)).count(MASK) <= hidden.count(MASK)
    phase = e.Phase("call", "failed", longrepr=words, stdout=words, tails={"stderr": words})
    test = e.TestFinished(words, Outcome.FAILED, message=words, phases=(phase,))
    shown = masked_values(test)
    assert (shown.test, shown.outcome, len(shown.phases)) == (words, Outcome.FAILED, 1)
    values = {
        "node_id": words,
        "name": words,
        "message": words,
        words[:50]: words,
        "more": [words, {"x": words}],
    }
    found = masked_values(values)
    assert found.keys() == values.keys() and found["node_id"] == found["name"] == words


def mcp(data: bytes) -> None:
    """However the bytes are cut: the same messages. What is taken can be passed on; answers have an id."""
    size, data = _split(data)
    whole, pieces = (_messages(data, length) for length in (len(data), size))
    assert whole == pieces
    for message in whole:
        if isinstance(message, dict):
            assert isinstance(message["method"], str)
            json.dumps(message, ensure_ascii=False, allow_nan=True).encode()
        else:
            answers = [json.loads(answer, parse_int=str) for answer in message.answers()]
            assert all(isinstance(answer["id"], str) for answer in answers)


def _messages(data: bytes, size: int) -> list[dict[str, Any] | messages.Refusal]:
    lines = messages.Lines()
    return [found for piece in _pieces(data, size) for found in lines.feed(piece)] + [*lines.close()]


def _split(data: bytes) -> tuple[int, bytes]:
    """The first byte says how large the pieces are."""
    return (data[0] % 31 + 1, data[1:]) if data else (1, b"")


def _pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size or 1)]


TARGETS: dict[str, Target] = {
    "control": control,
    **{form: partial(report, form) for form in formats.offered("from")},
    **{form: partial(live, form) for form in formats.READERS if not formats.FORMATS[form].offered},
    "detect": detected,
    "session": session,
    "pytest-text": text,
    "fault": fault,
    "row": row,
    "settings": settings,
    "expression": expression,
    "mcp": mcp,
    "masking": masking,
    "script": script,
}

"""Rust's libtest in its own JSON (`--format json`), one test binary or several after another, as events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from proctor import decoding
from proctor import events as e
from proctor.outcome import Outcome
from proctor.text import text_of, without_escapes
from proctor.wire.reports.cargo_text import CargoText
from proctor.wire.reports.libtest import SHOULD_PANIC, UNLIKE_EXPECTED, failed
from proctor.wire.reports.report import MOST_TESTS, LineReport, decode, finished

_OUTCOMES = {"ok": Outcome.PASSED, "ignored": Outcome.SKIPPED}
_COUNTED = {"ok": "passed", "failed": "failed", "ignored": "ignored"}
_MARK = b'{ "type": "'  # as libtest writes it; what a test printed may stand before it on the line
_LONG = 8 << 20  # bytes; a longer line is what a test printed without end
_KEPT = 1 << 20  # bytes of its head, and of its tail


class _Line(msgspec.Struct):
    type: str
    event: str = ""
    name: str = ""
    test_count: int = 0
    stdout: str = ""
    message: str = ""
    reason: str = ""
    exec_time: float = 0.0
    passed: int = 0
    failed: int = 0
    ignored: int = 0
    measured: int = 0
    median: float = 0.0
    deviation: float = 0.0
    mib_per_second: float | None = None  # in fact of 10^6 bytes


_decoder = decoding.decoder(_Line)


class LibtestJsonReader(LineReport):
    format = "libtest-json"

    def __init__(self) -> None:
        super().__init__()
        self._count = self._suites = self._failed_suites = 0
        self._promised = 0  # tests of the suite that is open
        self._found: Counter[str] = Counter()  # its results
        self._open = False
        self._cargo = CargoText()
        self._labels: dict[str, str] = {}  # of the suite that is open: names repeat from binary to binary
        self._seconds = 0.0
        self._head = b""
        self._left_out = 0  # bytes of the present line, behind its head

    def _hold(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _LONG:
            self._shorten(b"".join(self._pieces))

    def _shorten(self, line: bytes) -> None:
        """Of a line that has no end in sight, the head and the tail are kept."""
        if not self._left_out:
            self._head = line[: _border(line, _KEPT)]
            line = line[len(self._head) :]
        tail = line[_border(line, max(0, len(line) - _KEPT)) :]
        self._left_out += len(line) - len(tail)
        self._pieces, self._size = [tail], len(tail)

    def _line(self, line: bytes) -> Iterable[e.Event]:
        if self._left_out:
            self._shorten(line)
            mark = b"\\n[... %d bytes left out ...]\\n" % self._left_out
            line = b"".join((self._head, mark, *self._pieces))
            self._pieces, self._size, self._left_out = [], 0, 0
        at = line.find(_MARK)
        start = at if at >= 0 else 0 if line.startswith(b"{") else len(line)
        try:
            found = decode(line[start:], _decoder) if start < len(line) else None
        except ValueError:
            found, start = None, len(line)
        noise = text_of(line[:start]) + ("\n" if found is None else "")
        events: list[e.Event] = [e.OutputReceived("stdout", noise)] if noise.strip() else []
        if not self._open:
            strange = found is not None and not found.event and found.type != "bench"
            events += self._around(text_of(line[start:]) if strange else noise.removesuffix("\n"))
        return [*events, *(self._object(found) if found is not None else ())]

    def _around(self, text: str) -> list[e.Event]:
        """A line outside of the suites."""
        text = without_escapes(text)
        if found := self._cargo.line(text):
            return found
        self._outside(text)
        return []

    def _object(self, line: _Line) -> Iterator[e.Event]:
        match line.type, line.event:
            case "suite", "started":
                yield from self._suite_started(line)
            case "suite", "ok" | "failed":
                self._suite_ended(line)
            case "test", "started":
                yield e.TestStarted(self._label(line.name))
            case "test", "timeout":
                yield e.Noticed(f"{line.name} has been running for over 60 seconds")
            case ("test", "ok" | "failed" | "ignored") | ("bench", _):
                self._found["measured" if line.type == "bench" else _COUNTED[line.event]] += 1
                yield _finished(line, self._label(line.name))

    def _suite_started(self, line: _Line) -> Iterator[e.Event]:
        self._no_end()
        self._promised = max(0, min(line.test_count, MOST_TESTS))
        self._open, self._found, self._labels = True, Counter(), {}
        self._cargo.suite_began()
        self._suites += 1
        self._count += self._promised
        yield e.SuiteStarted("libtest", "", self._count)

    def _suite_ended(self, line: _Line) -> None:
        if not self._open:
            self._gaps.append("a suite ended that had not begun")
        said = {name: getattr(line, name) for name in ("passed", "failed", "ignored", "measured")}
        counted, found = sum(said.values()), self._found.total()
        if any(self._found[name] != number for name, number in said.items()):
            reported = f"{found} were reported, {self._found['failed']} failed"
            self._gaps.append(f"a suite counted {counted} tests, {line.failed} failed; {reported}")
        elif counted != self._promised:
            self._gaps.append(f"a suite of {self._promised} tests counted {counted}")
        elif (line.event == "failed") != bool(line.failed):
            self._gaps.append(f"a suite says {line.event} of itself, and {line.failed} of its tests failed")
        self._open = False
        self._failed_suites += bool(line.failed)
        self._seconds += line.exec_time

    def _label(self, name: str) -> str:
        if name not in self._labels:
            self._labels[name] = self._names.unique(name)
        return self._labels[name]

    def _no_end(self) -> None:
        if self._open:
            self._gaps.append(f"a suite has no end: {self._found.total()} of its tests were reported")
            self._failed_suites += 1

    def _last(self) -> Iterator[e.Event]:
        self._no_end()
        if gap := self._cargo.gap(self._suites, self._failed_suites):
            self._gaps.append(gap)
        elif not self._suites and not self._cargo.not_built:
            self._gaps.append("there is no suite in it")
        yield self._ending(None, self._count, duration=self._seconds)


def _border(line: bytes, at: int) -> int:
    """The position `at`, or the beginning of the escape that it is inside of."""
    last = line.rfind(b"\\", max(0, at - len(rb"\u00ff")), at)
    run = last + 1 - len(line[: last + 1].rstrip(b"\\"))
    return last if run % 2 else at


def _failed(line: _Line, name: str) -> e.TestFinished:
    """libtest's own message is a note behind what the test printed, as its text has it."""
    if line.message.startswith(UNLIKE_EXPECTED):
        test = failed(name, line.exec_time, line.stdout, line.message)
        return replace(test, subtype=SHOULD_PANIC)
    note = f"note: {line.message}" if line.message else ""
    return failed(name, line.exec_time, line.stdout + note, line.message or line.reason)


def _finished(line: _Line, name: str) -> e.TestFinished:
    if line.type == "bench":
        spread = {"median": line.median, "deviation": line.deviation}
        measured = finished(name, Outcome.PASSED, line.median / 1e9, properties=spread)
        return replace(measured, subtype="bench", throughput=line.mib_per_second)
    if line.event == "failed":
        return _failed(line, name)
    outcome = _OUTCOMES[line.event]
    return finished(name, outcome, line.exec_time, message=line.message, stdout=line.stdout)

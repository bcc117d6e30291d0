"""The full log: one JSON object a line. `suite`, `test` and `final` lines are those of the public stream with
more in `extra`; there are also `start`, `output`, `attachment`, `note` and `exit` lines."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import cache
from typing import Any, TypeAlias

import msgspec

from proctor import decoding
from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import BAD
from proctor.result import RunResult
from proctor.wire.literal import encode_line
from proctor.wire.stream.words import STATUS, one_line, status_of

# 1: first published form.
# 2: a line has the number of its suite, unless that is the first; before, suites followed one another. Every
#    suite is entered and finished, also the only one. Notes of kind `explained`.
FORMAT_VERSION = 2

_NOTES: dict[type, str] = {
    e.RunStarted: "run",
    e.SuiteDescribed: "suite",
    e.CollectorFinished: "collector",
    e.TestsSelected: "selected",
    e.TestsDeselected: "deselected",
    e.WarningRecorded: "warning",
    e.ResultAmended: "amended",
    e.AttemptFailed: "attempt",
    e.TestOverdue: "overdue",
    e.TestsQuarantined: "quarantined",
    e.SessionStarted: "session_started",
    e.SessionInterrupted: "interrupted",
    e.SessionBroke: "broke",
    e.SessionFinished: "session",
    e.StatusExplained: "explained",
    e.OutputQuoted: "quoted",
    e.ChannelBroken: "channel",
    e.FaultTraced: "fault",
    e.RunStopped: "stopped",
    e.SuiteMissing: "suite_missing",
    e.TestsPlanned: "tests_planned",
    e.SummaryPrinted: "printed",
    e.Noticed: "notice",
    e.HistoryCompared: "history",
    e.BaselineCompared: "baseline",
    e.SuiteEntered: "suite_entered",
    e.SuiteFinished: "suite_finished",
}
_NOTE_TYPES = {kind: event for event, kind in _NOTES.items()}

_encoder = msgspec.json.Encoder()


class Line(msgspec.Struct, omit_defaults=True):
    type: str
    seq: int
    at: float
    kind: str = ""
    label: str = ""
    status: str = ""
    reason: str = ""
    file: str = ""
    line: int = 0
    duration: int = 0
    name: str = ""
    build: str = ""
    count: int | None = None
    rustc: str = ""
    stream: str = ""
    text: str = ""
    code: int | None = None
    signal: str | None = None
    results: dict[str, int] | None = None
    extra: Any = None
    suite: int = 0


class _StartLine(msgspec.Struct, tag="start", omit_defaults=True, gc=False):
    """The two lines of every test have their own structs, which are faster without the fields of others."""

    seq: int
    at: float
    label: str
    file: str = ""
    line: int = 0
    suite: int = 0


class _TestLine(msgspec.Struct, tag="test", omit_defaults=True, gc=False, kw_only=True):
    seq: int
    at: float
    label: str
    status: str
    reason: str = ""
    file: str = ""
    line: int = 0
    duration: int = 0
    suite: int = 0
    extra: e.TestFinished


_AnyLine: TypeAlias = Line | _StartLine | _TestLine


def encode(entry: e.Entry, so_far: RunResult) -> bytes:
    """One line with its LF."""
    return encode_lines([entry], so_far)


def encode_lines(entries: Iterable[e.Entry], so_far: RunResult) -> bytes:
    """Many at once, in half the time that they take one by one."""
    return _encoded(
        [_line(entry.event, entry.seq, round(entry.at, 6), entry.suite, so_far) for entry in entries]
    )


def encode_all(first: e.Entry, events: Sequence[e.Event], so_far: RunResult) -> bytes:
    """The lines of events of one suite and one moment, of which the first is that of `first`."""
    at, suite = round(first.at, 6), first.suite
    quarantined = _quarantined(so_far, suite)
    lines: list[_AnyLine] = []
    for seq, event in enumerate(events, first.seq):
        if type(event) is e.TestFinished:
            lines.append(_test_line(event, seq, at, suite, event.test in quarantined))
        elif type(event) is e.TestStarted and (place := event.place) is not None:
            lines.append(_StartLine(seq, at, event.test, place.file, place.line, suite))
        else:
            lines.append(_line(event, seq, at, suite, so_far))
    return _encoded(lines)


def _encoded(lines: list[_AnyLine]) -> bytes:
    try:
        return _encoder.encode_lines(lines)
    except UnicodeEncodeError:
        return b"".join(map(encode_line, lines))


def _line(event: e.Event, seq: int, at: float, suite: int, so_far: RunResult) -> _AnyLine:
    """A line as a value. `so_far` gives a `final` line its counts and a `suite` line its compiler."""
    if isinstance(event, e.TestFinished):
        return _test_line(event, seq, at, suite, event.test in _quarantined(so_far, suite))
    if isinstance(event, e.TestStarted):
        file, line = (event.place.file, event.place.line) if event.place else ("", 0)
        return _StartLine(seq, at, event.test, file, line, suite)
    found = _other_line(event, seq, at, so_far, suite)
    found.suite = suite
    return found


def _other_line(event: e.Event, seq: int, at: float, so_far: RunResult, suite: int) -> Line:
    if isinstance(event, e.OutputReceived):
        return Line("output", seq, at, label=event.test, stream=event.stream, text=event.text)
    if isinstance(event, e.FileAttached):
        return Line("attachment", seq, at, label=event.test, extra=event.file)
    if isinstance(event, e.SuiteStarted):
        extra: dict[str, Any] = {"proctor": {"rev": FORMAT_VERSION}}
        if event.filtered_out:
            extra["filtered_out"] = event.filtered_out
        if event.prefix:
            extra["prefix"] = event.prefix
        if event.foreign:
            extra["foreign"] = event.foreign
        described = so_far.suites[suite].described
        rustc = (described.toolchain if described else {}).get("rustc", "none")
        return Line(
            "suite", seq, at, name=event.name, build=event.build, count=event.count, rustc=rustc, extra=extra
        )
    if isinstance(event, e.CollectionFailed):
        return _collection_line(event, seq, at)
    if isinstance(event, e.ProcessExited):
        return Line("exit", seq, at, label=event.test, code=event.exit_code, signal=event.signal)
    if isinstance(event, e.RunFinished):
        return Line("final", seq, at, results=_tally(so_far), extra=event)
    return Line("note", seq, at, kind=_NOTES[type(event)], extra=event)


def _quarantined(so_far: RunResult, suite: int) -> Container[str]:
    return so_far.suites[suite].quarantined if suite < len(so_far.suites) else ()


def _test_line(event: e.TestFinished, seq: int, at: float, suite: int, quarantined: bool) -> _TestLine:
    status = status_of(event.outcome, True) if quarantined else STATUS[event.outcome]
    if event.part_of and event.outcome not in BAD:  # there may be very many
        return _TestLine(seq=seq, at=at, label=event.test, status=status, suite=suite, extra=event)
    file, line = (event.place.file, event.place.line) if event.place else ("", 0)
    reason = one_line(event.message or event.outcome) if status == "fail" else ""
    return _TestLine(
        seq=seq,
        at=at,
        label=event.test,
        status=status,
        reason=reason,
        file=file,
        line=line,
        duration=round(event.seconds * 1e9),
        suite=suite,
        extra=event,
    )


def _collection_line(event: e.CollectionFailed, seq: int, at: float) -> Line:
    extra = {"outcome": "error", "phase": "collect", **msgspec.to_builtins(event)}
    reason = one_line(event.failure.message or "could not be collected")
    return Line("test", seq, at, label=event.file, status="fail", reason=reason, extra=extra)


def _tally(result: RunResult) -> dict[str, int]:
    tally = {"ok": result.flaky, "fail": len(result.collection_errors), "ignore": result.excused}
    for outcome, count in result.counts.items():
        tally[STATUS[outcome]] += count
    return tally


def decode(line: bytes) -> e.Entry | None:
    """The entry of one line; None for a type or kind that this version does not know."""
    return decoder()(line)[0]


@cache
def decoder() -> Callable[[bytes], tuple[e.Entry | None, Line]]:
    """For many lines: the entry of each, and the line, which repeats some of it in the words of the public
    stream. Raises StreamError."""
    line_of, encode = decoding.decoder(Line).decode, msgspec.json.encode
    test_of = decoding.converter(e.TestFinished)

    def decode(line: bytes) -> tuple[e.Entry | None, Line]:
        try:
            found = line_of(line)
            kind, extra = found.type, found.extra
            if kind == "start":  # half of all lines
                place = e.Place(found.file, found.line) if found.file else None
                event: e.Event | None = e.TestStarted(found.label, place)
            elif kind == "test" and not (isinstance(extra, dict) and extra.get("phase") == "collect"):
                event = test_of(extra)
            else:
                event = _event(found)
            if encode(found) != line:  # as most are written, so that none of them has a key twice
                from proctor.wire.reports.report import check_keys  # a run only writes one

                check_keys(line)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise StreamError(f"not a line of an event stream: {error}: {line[:80]!r}") from None
        return None if event is None else e.Entry(found.seq, found.at, found.suite, event), found

    return decode


class SuiteNumbers:
    """The suites of a log, numbered in the order in which they come, whatever it numbers them itself.

    A log of version 1 has no numbers: each suite lasts until the next one is entered.
    """

    def __init__(self) -> None:
        self._numbers = {0: 0}
        self._next = 1
        self._entered = False

    def numbered(self, entry: e.Entry) -> e.Entry:
        if type(entry.event) is e.SuiteEntered:
            if entry.suite == 0 and self._entered:
                self._add(0)
            self._entered = True
        number = self._numbers.get(entry.suite)
        if number is None:
            self._add(entry.suite)
            number = self._numbers[entry.suite]
        return entry if number == entry.suite else msgspec.structs.replace(entry, suite=number)

    def _add(self, suite: int) -> None:
        self._numbers[suite] = self._next
        self._next += 1


def _event(line: Line) -> e.Event | None:
    match line.type:
        case "test":
            return decoding.convert(line.extra, e.CollectionFailed)
        case "output":
            return e.OutputReceived(line.stream, line.text, line.label)
        case "attachment":
            return e.FileAttached(line.label, decoding.convert(line.extra, e.File))
        case "suite":
            extra = line.extra if isinstance(line.extra, dict) else {}
            filtered_out = decoding.convert(extra.get("filtered_out", 0), int)
            prefix = decoding.convert(extra.get("prefix", ""), str)
            foreign = decoding.convert(extra.get("foreign", {}), dict[str, Any])
            return e.SuiteStarted(line.name, line.build, line.count or 0, filtered_out, prefix, foreign)
        case "exit":
            return e.ProcessExited(line.code or 0, line.signal, line.label)
        case "final":
            return decoding.convert(line.extra, e.RunFinished)
        case "note" if line.kind in _NOTE_TYPES:
            event: e.Event = decoding.convert(line.extra, _NOTE_TYPES[line.kind])
            return event
    return None

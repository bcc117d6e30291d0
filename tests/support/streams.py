"""Event streams for tests: entries, lines of the public stream, and what reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay, Sink
from proctor.render.writer import Tone, Writer
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.wire.stream import log as jsonl
from proctor.wire.stream.reader import StreamReader
from proctor.wire.stream.rules import StreamRules, Violation
from proctor.wire.stream.writer import StrictStream
from support.pieces import pieces

STARTED = e.RunStarted(
    "20260101-000000-abcdef", "pytest", ("python", "-m", "pytest"), "/p", "/py", "2026-01-01T00:00:00Z"
)
BUILD = "2026-01-01T00:00:01+00:00"


class _Keeper:
    """A sink that keeps what it is given. Time passes without it."""

    name = "keeper"

    def tick(self, now: float, so_far: RunResult) -> None:
        pass


class Recorder(_Keeper):
    """Keeps the entries."""

    def __init__(self) -> None:
        self.entries: list[e.Entry] = []

    def handle(self, entry: e.Entry, so_far: RunResult) -> None:
        self.entries.append(entry)

    @property
    def end(self) -> e.RunFinished:
        event = self.entries[-1].event
        assert isinstance(event, e.RunFinished)
        return event


class Strict(_Keeper):
    """Keeps the lines of the public stream."""

    def __init__(self) -> None:
        self._stream = StrictStream()
        self.lines: list[bytes] = []

    def handle(self, entry: e.Entry, so_far: RunResult) -> None:
        self.lines += self._stream.lines(entry, so_far)


class Log(_Keeper):
    """Keeps the lines of the full log."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def handle(self, entry: e.Entry, so_far: RunResult) -> None:
        self.lines.append(jsonl.encode(entry, so_far))


class StringWriter:
    """Keeps all that is written as one text, without tones."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def __call__(self, text: str, tone: Tone = "", link: str = "") -> None:
        self._parts.append(text)

    def text(self) -> str:
        return "".join(self._parts)


def strict_lines(events: Sequence[e.Event], started: e.RunStarted = STARTED) -> list[bytes]:
    """What the public stream says about a run with these events, to its very end."""
    strict = Strict()
    relay = Relay(started, [strict])
    publish_suites(relay, events, 0.5)
    if not events or not isinstance(events[-1], e.RunFinished):
        relay.close(1.0)
    return strict.lines


def objects(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def violations(data: bytes) -> list[Violation]:
    rules = StreamRules()
    found = [violation for line in data.splitlines(keepends=True) for violation in rules.check(line)]
    return found + rules.close()


def read(data: bytes, size: int = 0) -> list[RunResult]:
    """The runs that the forgiving reader finds, fed in pieces of a size."""
    results: list[RunResult] = []
    replay = Replay(lambda: [], results.append)
    reader = StreamReader()
    for piece in pieces(data, size):
        replay.take(reader.feed(piece))
    replay.take(reader.close())
    replay.close()
    return results


def rendered(data: bytes, reader: Callable[[Writer], Sink]) -> str:
    """What a reader says about the runs of a stream."""
    heard = StringWriter()
    replay = Replay(lambda: [reader(heard)], lambda result: None)
    stream = StreamReader()
    replay.take([*stream.feed(data), *stream.close()])
    replay.close()
    return heard.text()


def suite(count: int, **more: Any) -> dict[str, Any]:
    return {"type": "suite", "name": "unit", "build": BUILD, "count": count, "rustc": "none", **more}


def case(label: str, status: str = "ok", **more: Any) -> dict[str, Any]:
    reason = {"reason": "it broke"} if status == "fail" else {}
    return {"type": "test", "status": status, "label": label, **reason, **more}


def final(ok: int = 0, fail: int = 0, ignore: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": "final", "results": {"ok": ok, "fail": fail, "ignore": ignore}, **more}


def written(*lines: dict[str, Any] | bytes) -> bytes:
    """Lines as bytes: objects as JSON, bytes as they are."""
    return b"".join(
        (line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode()) + b"\n"
        for line in lines
    )


TEXT = st.text(max_size=8)
NAMES = st.sampled_from(["a", "b", "a#2", "\udc80", "\\udc80", "ünï", "x\ny"]) | TEXT
SECONDS = st.floats(0, 1e6)
PLACES = st.none() | st.builds(e.Place, TEXT.filter(bool), st.integers(0, 9))
FAILURES = st.builds(e.Failure, TEXT, TEXT, PLACES, st.none() | TEXT, st.none() | TEXT)
PHASES = st.builds(
    e.Phase,
    st.sampled_from(["setup", "call", "teardown"]),
    st.sampled_from(["passed", "failed", "skipped"]),
    SECONDS,
    subtest=st.none() | TEXT,
    stdout=TEXT,
    stderr=TEXT,
)
FINISHED = st.builds(
    e.TestFinished,
    NAMES,
    st.sampled_from(list(Outcome)),
    SECONDS,
    message=st.none() | TEXT | st.just("x" * 600),
    traceback=st.none() | TEXT,
    place=PLACES,
    failure=st.none() | FAILURES,
    phases=st.lists(PHASES, max_size=3).map(tuple),
    properties=st.none() | st.dictionaries(TEXT, st.integers(-9, 9) | TEXT | SECONDS, max_size=2),
    subtype=st.sampled_from(["", "bench", "should_panic", "strange"]),
    throughput=st.none() | SECONDS,
)
EARLIER_RUNS = st.builds(e.EarlierRun, TEXT, TEXT, TEXT, st.booleans())
HISTORIES = st.builds(
    e.TestHistory,
    st.sampled_from(e.WORDS),
    st.none() | EARLIER_RUNS,
    st.integers(0, 20),
    st.integers(0, 20),
)


CHECKED_OUT = st.builds(e.CheckedOut, TEXT, TEXT, st.booleans())


def histories(names: st.SearchStrategy[str]) -> st.SearchStrategy[e.HistoryCompared]:
    """What earlier runs may say of tests with these names."""
    tests = st.dictionaries(names, HISTORIES, max_size=4)
    fixed = st.lists(names, max_size=2).map(tuple)
    return st.builds(e.HistoryCompared, tests, fixed, st.none() | EARLIER_RUNS, st.none() | CHECKED_OUT)


def baselines(names: st.SearchStrategy[str]) -> st.SearchStrategy[e.BaselineCompared]:
    tests = st.dictionaries(names, st.sampled_from(e.BASELINE_WORDS), max_size=4)
    reasons = st.dictionaries(names, TEXT, max_size=2)
    return st.builds(e.BaselineCompared, TEXT, TEXT, tests, TEXT, reasons)


EVENTS: st.SearchStrategy[Sequence[e.Event]] = st.lists(
    st.one_of(
        FINISHED,
        st.builds(e.TestStarted, NAMES, PLACES),
        st.builds(e.CollectionFailed, NAMES, FAILURES, TEXT),
        st.builds(e.TestsSelected, st.lists(NAMES, max_size=3).map(tuple)),
        st.builds(e.TestsDeselected, st.lists(NAMES, max_size=3).map(tuple)),
        st.builds(e.SuiteStarted, TEXT, st.just(BUILD) | TEXT, st.integers(0, 4), st.integers(0, 2)),
        st.builds(e.OutputReceived, st.sampled_from(["stdout", "stderr"]), TEXT),
        st.builds(e.ProcessExited, st.integers(-15, 5), st.sampled_from([None, "SIGSEGV"])),
        st.builds(e.SessionFinished, st.integers(0, 5)),
        st.builds(e.RunStopped, st.sampled_from([RunOutcome.TIMEOUT, RunOutcome.INTERRUPTED])),
        st.builds(e.SuiteMissing, TEXT, TEXT, st.booleans()),
        st.builds(e.SummaryPrinted, TEXT),
        st.builds(e.OutputQuoted, st.lists(TEXT, max_size=3).map(tuple), st.booleans()),
        st.builds(e.Noticed, TEXT),
        histories(NAMES),
        baselines(NAMES),
    ),
    max_size=12,
)


def entered(name: str, source: str = "control") -> e.SuiteEntered:
    return e.SuiteEntered(name, name, (), "/p", source=source)


def numbered(events: Iterable[e.Event]) -> Iterator[tuple[int, e.Event]]:
    """Events of suites that follow one another, each with the number of its suite."""
    number = -1
    for event in events:
        number += isinstance(event, e.SuiteEntered)
        yield max(0, number), event


def publish_suites(relay: Relay, events: Iterable[e.Event], at: float) -> None:
    for number, event in numbered(events):
        relay.publish(event, at, number)

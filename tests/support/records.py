"""Runs as documents and logs, and the way back from these."""

from __future__ import annotations

import json
from typing import Any

from proctor import events as e
from proctor.outcome import Outcome
from proctor.relay import Relay
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.wire.document import writer as document
from proctor.wire.document.run import DocumentRun
from proctor.wire.stream.reader import StreamReader
from support.streams import STARTED, Log, Strict, publish_suites

GREEN: tuple[e.Event, ...] = (
    e.SuiteDescribed("/p", {"pytest": "9"}),
    e.TestsSelected(("t.py::a", "t.py::b")),
    e.SuiteStarted("pytest", "2026-01-01T00:00:01Z", 2),
    e.TestFinished("t.py::a", Outcome.PASSED, 0.1, passed_in=(0.0, 0.1, 0.0)),
    e.TestFinished("t.py::b", Outcome.SKIPPED, 0.1, "later"),
    e.SessionFinished(0, 2),
    e.ProcessExited(0),
)


def recorded(events: tuple[e.Event, ...]) -> tuple[RunResult, list[bytes]]:
    log = Log()
    relay = Relay(STARTED, [log])
    publish_suites(relay, events, 0.5)
    return relay.close(1.0), log.lines


def document_of(events: tuple[e.Event, ...]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(b"".join(document.chunks(recorded(events)[0], lambda _: "")))
    return found


def read(data: bytes, reader: DocumentRun | StreamReader) -> tuple[RunResult, list[str]]:
    results: list[RunResult] = []
    replay = Replay(lambda: [], results.append)
    replay.take([*reader.feed(data), *reader.close()])
    replay.close()
    (result,) = results
    return result, replay.gaps


def read_document(found: dict[str, Any]) -> tuple[RunResult, list[str]]:
    return read(json.dumps(found).encode(), DocumentRun())


def stream_of(events: tuple[e.Event, ...]) -> bytes:
    strict = Strict()
    relay = Relay(STARTED, [strict])
    publish_suites(relay, events, 0.5)
    relay.close(1.0)
    return b"".join(strict.lines)

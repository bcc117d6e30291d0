"""What tests of readers and writers share: reports of real tools, and the way from bytes to a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from proctor import events as e
from proctor.errors import StreamError
from proctor.relay import Relay
from proctor.result import RunResult
from proctor.wire import formats
from proctor.wire.reports.detect import detect
from support.pieces import pieces

FOREIGN = Path(__file__).parents[1] / "data" / "foreign"
REPORTS = {
    f"{path.parent.parent.name}/{path.name}": path.read_bytes()
    for path in sorted(FOREIGN.glob("*/reports/*"))
}


def events_of(data: bytes, form: str, size: int = 0) -> list[e.Event]:
    """All events, the bytes arriving in pieces of this size."""
    reader = formats.reader(form)
    found = [event for piece in pieces(data, size) for event in reader.feed(piece)]
    return found + reader.close()


def result_of(events: Iterable[e.Event], form: str = "test") -> RunResult:
    relay = Relay(e.RunStarted("", form, (), "", "", "", source="report"), [])
    for event in events:
        relay.publish(event, 0.0)
    return relay.close(0.0)


def read(data: bytes, form: str, size: int = 0) -> RunResult:
    """The result of a report; one that is broken is incomplete for that reason."""
    events: list[e.Event] = []
    reader = formats.reader(form)
    try:
        for piece in pieces(data, size):
            events += reader.feed(piece)
        events += reader.close()
    except StreamError as error:
        events.append(e.ChannelBroken(str(error)))
    return result_of(events, form)


def report(name: str) -> RunResult:
    data = REPORTS[name]
    form = detect(data, name)
    assert form is not None, name
    return read(data, form)


def outcomes(result: RunResult) -> dict[str, str]:
    return {name: str(test.outcome) for name, test in result.tests.items()}


def tally(result: RunResult) -> dict[str, int]:
    return dict(Counter(outcomes(result).values()))

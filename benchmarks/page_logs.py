"""A log of very many tests: a real one of fewer, told several times under other names."""

from __future__ import annotations

from pathlib import Path

import msgspec

from proctor import events as e
from proctor.relay import Relay
from proctor.result import RunResult
from proctor.wire.stream import log
from proctor.wire.stream.reader import StreamReader

_STARTED = e.RunStarted("", "pytest", ("pytest",), "", "", "2026-01-01T00:00:00Z")


class _Written:
    name = "written"

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def handle(self, entry: e.Entry, so_far: RunResult) -> None:
        self._file.write(log.encode(entry, so_far))

    def tick(self, now: float, so_far: RunResult) -> None:
        pass

    def close(self) -> None:
        self._file.close()


def write_repeated(source: Path, times: int, target: Path) -> None:
    """All tests of a log, once under their names and then in folders of other names."""
    reader = StreamReader()
    entries = [*reader.feed(source.read_bytes()), *reader.close()]
    found = [(entry.at, entry.event) for entry in entries if isinstance(entry.event, e.TestFinished)]
    end = max(at for at, _ in found)
    written = _Written(target)
    relay = Relay(_STARTED, [written])
    relay.publish(e.SuiteStarted("pytest", "", len(found) * times), 0.0)
    for number in range(times):
        for at, test in found:
            name = f"part_{number}/{test.test}" if number else test.test
            relay.publish(msgspec.structs.replace(test, test=name, files=()), number * end + at)
    relay.publish(e.SessionFinished(1, len(found) * times), times * end)
    relay.publish(e.ProcessExited(1), times * end)
    relay.close(times * end)
    written.close()

"""The answer of a shard: whether it is one, and how it becomes part of the run."""

from __future__ import annotations

import base64

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import MAXFAIL
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.running import Running
from proctor.shards.file_paths import moved
from proctor.shards.joining import Joining
from proctor.shards.shard_log import unpack
from proctor.shards.task import Answer
from proctor.text import literal
from proctor.wire.reports.any_report import AnyReport


def entries_of(answer: Answer, tests: tuple[str, ...]) -> list[e.Entry]:
    """The log of the answer. Raises StreamError unless it is a whole run of these tests."""
    reader = AnyReport("the log of a shard", "events")
    entries = [*reader.feed(unpack(answer.log)), *reader.close()]
    if reader.gap or not entries or not isinstance(entries[-1].event, e.RunFinished):
        raise StreamError(f"its log is cut{f': {reader.gap}' if reader.gap else ''}")
    runs: list[RunResult] = []
    Replay(lambda: [], runs.append).take(entries)  # before anything of it is published
    planned = runs[0].planned
    if len(runs) != 1 or planned is None or planned.tests != tuple(map(literal, tests)):
        raise StreamError("its log is not that of the tests that it was given")
    return entries


class Taking:
    """Publishes the entries of a shard's run as entries of this run."""

    def __init__(self, run: Running, answer: Answer, maxfail: str = "") -> None:
        """`maxfail`: why the shard was stopped, if that was for the failures of others."""
        self._run, self._maxfail = run, maxfail
        self._output = run.shelf.output("")
        self._paths = {path: _kept(run, path, data) for path, data in answer.files.items()} | answer.kept
        self._entered: list[int] = []
        self._cut = False

    def take(self, entries: list[e.Entry], label: str, tries: int) -> None:
        shift = self._run.now() - entries[-1].at
        joining = Joining(self, label, tries, self._wanted, shift)
        replay = Replay(lambda: [joining], lambda _: None)
        replay.take(entries)
        replay.check()
        for suite in self._entered:
            self._run.leave(suite)  # nothing, if it has its end

    def enter(self, suite: e.SuiteEntered, at: float) -> int:
        del at
        self._entered.append(self._run.enter(suite))
        return self._entered[-1]

    def publish(self, event: e.Event, at: float, suite: int) -> None:
        del at
        self._run.publish(event, suite)

    def _wanted(self, entry: e.Entry) -> e.Event | None:
        event: e.Event = entry.event
        if isinstance(event, e.OutputReceived) and not event.test:
            self._output.write(event.text.encode(errors="surrogatepass"))
        if self._maxfail and isinstance(event, e.RunStopped):
            self._cut = True
            return e.SessionInterrupted(e.Failure(MAXFAIL, self._maxfail))
        if self._cut and isinstance(event, e.TestFinished | e.SuiteFinished | e.SessionInterrupted):
            return None  # tests that were running then count as never begun
        return moved(event, lambda path: self._paths.get(path, path))


def _kept(run: Running, path: str, data: str) -> str:
    """Where a file is in the directory of this run."""
    name = path.rpartition("/")[2].partition("-")[2]  # without the number that it had
    kept = run.shelf.attach(name, base64.b64decode(data))
    return kept if kept is not None else path

"""Answers of shards: which are valid, and how they, or the lack of one, become part of the run."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from proctor import events as e
from proctor.engines.shard_log import unpack
from proctor.engines.task import Answer, decode_answer
from proctor.errors import StreamError
from proctor.outcome import MAXFAIL, RunOutcome
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.running import Running
from proctor.shards.file_paths import moved
from proctor.shards.joining import Joining
from proctor.shards.plan import Shard
from proctor.text import literal
from proctor.wire.reports.any_report import AnyReport


def checked(data: dict[str, Any], attempt: str, tests: tuple[str, ...]) -> tuple[Answer, list[e.Entry]]:
    """The answer to this try at these tests, and its log, which is empty if nothing has run. Raises any
    exception if it is not valid."""
    answer = decode_answer(data)
    if answer.attempt != attempt:
        raise StreamError("it is the answer to another try")
    return answer, [] if answer.error or answer.needs_project else _entries(answer, tests)


def _entries(answer: Answer, tests: tuple[str, ...]) -> list[e.Entry]:
    """The log of the answer. Raises StreamError unless it is a whole run of these tests."""
    reader = AnyReport("the log of a shard", "events")
    entries = [*reader.feed(unpack(answer.log)), *reader.close()]
    if reader.gap or not entries or not isinstance(entries[-1].event, e.RunFinished):
        raise StreamError(f"its log is incomplete{f': {reader.gap}' if reader.gap else ''}")
    runs: list[RunResult] = []
    Replay(lambda: [], runs.append).take(entries)  # before anything of it is published
    planned = runs[0].planned
    if len(runs) != 1 or planned is None or planned.tests != tuple(map(literal, tests)):
        raise StreamError("its log is not that of the tests that it was given")
    return entries


class Publisher:
    """Publishes the entries of a shard's run as entries of this run."""

    def __init__(self, run: Running, answer: Answer, maxfail: str = "") -> None:
        """`maxfail`: why the shard was stopped, if that was for the failures of others."""
        self._run, self._maxfail = run, maxfail
        self._output = run.shelf.output("")
        self._paths = {path: _kept(run, path, data) for path, data in answer.files.items()} | answer.kept
        self._entered: list[int] = []
        self._cut = False

    def publish_run(self, entries: list[e.Entry], label: str, tries: int) -> None:
        """The end of the shard's run is now: its clock says nothing here."""
        shift = self._run.now() - entries[-1].at
        joining = Joining(self, label, tries, self._wanted, shift)
        replay = Replay(lambda: [joining], lambda _: None)
        replay.take(entries)
        replay.check()
        for suite in self._entered:
            self._run.leave(suite)  # nothing, if it has its end

    def enter(self, suite: e.SuiteEntered, at: float) -> int:
        self._entered.append(self._run.enter(suite, self._ours(at)))
        return self._entered[-1]

    def publish(self, event: e.Event, at: float, suite: int) -> None:
        self._run.publish(event, suite, self._ours(at))

    def _ours(self, at: float) -> float:
        """Within the run, whatever the log says."""
        return min(max(0.0, at), self._run.now())

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


class NotRun(msgspec.Struct, frozen=True):
    """A shard without an answer."""

    shard: Shard
    label: str  # `3/10`
    root: str
    tries: int = 1
    reason: str = ""
    maxfail: str = ""  # why it was stopped, if that was for the failures of others


def publish_not_run(run: Running, lost: NotRun) -> None:
    """Suites of tests that were not run. If the run itself was stopped, that is reason enough."""
    for runner, tests in lost.shard.by_runner():
        name = runner or run.result.run.runner
        entered = e.SuiteEntered(f"{name} {lost.label}", name, (), lost.root, tries=max(1, lost.tries))
        suite = run.enter(entered)
        run.publish(e.TestsSelected(tests), suite)
        run.publish(e.SuiteStarted(entered.name, run.result.run.started, len(tests)), suite)
        if lost.maxfail:
            run.publish(e.SessionInterrupted(e.Failure(MAXFAIL, lost.maxfail)), suite)
        elif not run.stopped:
            run.publish(e.ChannelBroken(f"shard {lost.label} did not run: {lost.reason}"), suite)
        run.leave(suite)


def publish_deselected(run: Running, runner: str, tests: tuple[str, ...], root: str) -> None:
    """A suite of tests that no shard knows of: they were left out when the tests were listed."""
    name = f"{runner} listing"
    suite = run.enter(e.SuiteEntered(name, runner, (), root))
    run.publish(e.TestsDeselected(tests), suite)
    run.publish(e.SuiteStarted(name, run.result.run.started, 0), suite)
    run.publish(e.StatusExplained(RunOutcome.PASSED, ""), suite)
    run.leave(suite)

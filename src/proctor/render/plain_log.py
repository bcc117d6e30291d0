"""The log of a run as plain lines, for people who follow it off a terminal."""

from __future__ import annotations

from proctor.durations import clock
from proctor.events import CollectionFailed, Entry, RunFinished, SuiteStarted, TestFinished, TestStarted
from proctor.launch import Voice
from proctor.outcome import RunOutcome
from proctor.render.failure_report import failure_line
from proctor.render.human import write_report
from proctor.render.line_per_test import write_test_line
from proctor.render.neutral import neutral
from proctor.render.progress import progress, session_line
from proctor.render.shown import USUAL, Shown
from proctor.render.verdict_line import counts
from proctor.render.writer import Tone, Writer
from proctor.result import RunResult, SuiteResult

HEARTBEAT = 30.0  # seconds between two lines that tell how far the run is
_RUNNING = 3  # tests named as running
_OPENING = (SuiteStarted, TestStarted, TestFinished, CollectionFailed)  # from then on a suite has tests


class PlainLog:
    """What runs, failures as they happen, the progress now and then, and the report at the end."""

    name = "human"

    def __init__(self, write: Writer, shown: Shown = USUAL) -> None:
        self._write, self._shown = write, shown
        self._beat = 0.0
        self._total = 0  # of the tests, as it was shown last
        self._introduced: set[int] = set()

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        event = entry.event
        if isinstance(event, RunFinished):
            write_report(so_far, self._write, self._shown)
        elif not self._shown.quiet:
            self._follow(entry, so_far)

    def _follow(self, entry: Entry, so_far: RunResult) -> None:
        event = entry.event
        new = self._shown.introduced and entry.suite not in self._introduced
        if new and isinstance(event, _OPENING):
            self._introduce(entry.suite, so_far.suites[entry.suite])
        if self._shown.whole and isinstance(event, TestFinished):
            write_test_line(event, self._write, so_far.suites[entry.suite])
        elif line := failure_line(event, so_far.suites[entry.suite]):
            self._write_line(str(line), "bad")
        elif begun := session_line(event):
            self._write_line(begun, "quiet")

    def tick(self, now: float, so_far: RunResult) -> None:
        due = now - self._beat >= HEARTBEAT and not self._shown.quiet
        if due and so_far.outcome is RunOutcome.RUNNING:
            self._beat = now
            self._total = progress(so_far, self._total).total
            self._write_line(f"... {sign_of_life(so_far, now, self._total)}", "quiet")

    def _introduce(self, number: int, suite: SuiteResult) -> None:
        self._introduced.add(number)
        empty = suite.count == 0 or suite.source == Voice.BUILD
        if not empty and (who := tools(suite)):
            self._write_line(f"{who}: {_number_of_tests(suite)}", "quiet")

    def _write_line(self, line: str, tone: Tone) -> None:
        self._write(f"{line}\n", tone)


def tools(suite: SuiteResult) -> str:
    """Who runs the tests, and in which version: `pytest 9.0.2, Python 3.11.7`."""
    toolchain = dict(suite.described.toolchain) if suite.described else {}
    name, runner = suite.name, suite.entered.runner
    named = _versioned(runner, toolchain.pop(runner, ""))
    others = [
        _versioned("Python" if tool == "python" else tool, version) for tool, version in toolchain.items()
    ]
    return neutral(", ".join(filter(None, ["" if name == runner else name, named, *others])))


def _versioned(tool: str, version: str) -> str:
    """Some name themselves in their version, and the day they were made: `rustc 1.95.0 (59 2026-04-14)`."""
    version = version.removeprefix(f"{tool} ").partition(" (")[0]
    return f"{tool} {version}" if version else tool


def _number_of_tests(suite: SuiteResult) -> str:
    if suite.count is None:
        return "running"  # it finds its tests on its way
    return f"{suite.count:,} {'test' if suite.count == 1 else 'tests'}"


def sign_of_life(result: RunResult, now: float, least: int = 0) -> str:
    """`1m30s: 12/40, 2 failed, 10 passed; running a (12s), b (3s)`."""
    shown = progress(result, least)
    facts = ", ".join([*filter(None, [shown.suite]), shown.text.strip(), *counts(result)])
    running = sorted(result.running.items(), key=lambda test: test[1])
    names = [f"{neutral(test)} ({clock(now - since)})" for test, since in running[:_RUNNING]]
    if len(running) > _RUNNING:
        names.append(f"{len(running) - _RUNNING} more")
    return f"{clock(now)}: {facts}; running {', '.join(names)}" if names else f"{clock(now)}: {facts}"

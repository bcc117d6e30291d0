"""The text that `cargo test` prints, byte for byte, from the stream alone.

Two things differ, because a stream lacks the data: names of benchmarks are not padded to the longest of them,
and control characters in a test's output are escaped.
"""

from __future__ import annotations

from collections import defaultdict

from proctor.events import (
    CollectionFailed,
    Entry,
    RunFinished,
    SuiteFinished,
    SuiteStarted,
    TestFinished,
)
from proctor.outcome import BAD, RunOutcome
from proctor.render.neutral import neutral, neutral_block
from proctor.render.writer import Writer
from proctor.result import RunResult, SuiteResult
from proctor.verdict import not_run_reason
from proctor.wire.reports.contents import excuse
from proctor.wire.reports.libtest import MODE
from proctor.wire.stream.objects import captured
from proctor.wire.stream.turns import Turns
from proctor.wire.stream.words import STATUS, one_line, status_of

_GOOD = (RunOutcome.PASSED, RunOutcome.NO_TESTS)


class Libtest:
    """A run is printed suite by suite."""

    name = "libtest"

    def __init__(self, write: Writer) -> None:
        self._write = write
        self._prefixes: defaultdict[int, str] = defaultdict(str)  # of the suites that are open
        self._turns: Turns[str] = Turns()

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        event, number = entry.event, entry.suite
        if isinstance(event, SuiteStarted):
            self._prefixes[number] = neutral(event.prefix)
            self._print(number, f"\nrunning {event.count} {'test' if event.count == 1 else 'tests'}\n")
        elif isinstance(event, TestFinished):
            suite = so_far.suites[number]
            self._print(number, _line(self._prefixes[number], _name(event, suite), _ending(event, suite)))
        elif isinstance(event, CollectionFailed):
            self._print(number, _line(self._prefixes[number], neutral(event.file), "FAILED"))
        elif isinstance(event, SuiteFinished):
            self._end(number, so_far.suites[number])
        elif isinstance(event, RunFinished):
            for number in sorted(self._prefixes):
                self._end(number, so_far.suites[number])
            for missing in so_far.missing:
                word = "error" if missing.required else "warning"
                self._write(f"{word}: {neutral(not_run_reason(missing))}\n")

    def tick(self, now: float, so_far: RunResult) -> None:
        pass

    def _print(self, number: int, *pieces: str, ended: bool = False) -> None:
        for piece in self._turns.take(number, pieces, ended):
            self._write(piece)

    def _end(self, number: int, suite: SuiteResult) -> None:
        prefix = self._prefixes.pop(number, "")
        pieces: list[str] = []
        if suite.count is not None or suite.outcome is not RunOutcome.PASSED:  # not of a build that succeeded
            pieces += [_line(prefix, neutral(test), "ignored, not run") for test in suite.not_run]
            pieces += [_failures(prefix, suite), _result(suite)]
        self._print(number, *pieces, ended=True)


def _line(prefix: str, name: str, ending: str) -> str:
    return f"test {name.removeprefix(prefix)} ... {ending}\n"


def _failures(prefix: str, suite: SuiteResult) -> str:
    """The output of each test that failed, then the names of all; nothing if there are none."""
    found = {error.file: {"stdout": error.traceback or error.failure.message} for error in suite.errors}
    for test in suite.tests.values():
        if test.outcome in BAD and not suite.excuses(test):
            found[test.test] = {"stdout": _stdout(test), "stderr": captured(test, "stderr")}
    if not found:
        return ""
    outputs = {neutral(name).removeprefix(prefix): streams for name, streams in found.items()}
    sections = "".join(
        f"---- {name} {stream} ----\n{neutral_block(text)}\n"
        for name, streams in outputs.items()
        for stream, text in streams.items()
        if text
    )
    names = "".join(f"    {name}\n" for name in sorted(outputs))
    return "\nfailures:\n" + (f"\n{sections}" if sections else "") + f"\nfailures:\n{names}"


def _name(test: TestFinished, suite: SuiteResult) -> str:
    mode = (test.properties or {}).get(MODE) or ("should panic" if test.subtype == "should_panic" else "")
    return neutral(test.test) + (
        f" - {neutral(str(mode))}" if mode and _status(test, suite) != "ignore" else ""
    )


def _status(test: TestFinished, suite: SuiteResult) -> str:
    return status_of(test.outcome, test.test in suite.quarantined)


def _ending(test: TestFinished, suite: SuiteResult) -> str:
    status = _status(test, suite)
    if status == "fail":
        return "FAILED"
    if why := excuse(test, suite.quarantined):
        return f"ignored, {neutral(one_line(why))}"
    if status == "ignore":
        return f"ignored, {neutral(one_line(test.message))}" if test.message else "ignored"
    return _measured(test) if test.subtype == "bench" else "ok"


def _measured(test: TestFinished) -> str:
    facts = test.properties or {}
    median, deviation = facts.get("median", test.seconds * 1e9), facts.get("deviation")
    spread = f" (+/- {deviation:,.2f})" if isinstance(deviation, float) else ""
    rate = f" = {test.throughput:.0f} MB/s" if test.throughput else ""
    return f"bench: {median:>14,.2f} ns/iter{spread}{rate}"


def _stdout(test: TestFinished) -> str:
    """The test's output, and why it failed unless that is in there: Rust prints it, others report it."""
    text, panics = captured(test, "stdout"), test.subtype == "should_panic"
    message = test.failure.message if test.failure else test.message or ""
    why = test.traceback or ("" if panics else message)
    if why and why not in text:
        text = f"{text}\n{why}" if text and not text.endswith("\n") else text + why
    return f"{text}note: {message}" if panics and message and message not in text else text


def _result(suite: SuiteResult) -> str:
    measured = sum(test.subtype == "bench" and STATUS[test.outcome] == "ok" for test in suite.tests.values())
    tally = {"ok": -measured, "fail": len(suite.errors), "ignore": len(suite.not_run)}
    for test in suite.tests.values():
        tally[_status(test, suite)] += 1
    took = f"; finished in {suite.seconds:.2f}s" if suite.seconds else ""
    word = "FAILED" if tally["fail"] or suite.outcome not in _GOOD else "ok"
    why = f"error: {suite.outcome}: {neutral(suite.reason)}\n\n" if suite.reason else ""
    return (
        f"\ntest result: {word}. {tally['ok']} passed; {tally['fail']} failed; {tally['ignore']} ignored; "
        f"{measured} measured; {suite.left_out} filtered out{took}\n\n{why}"
    )

"""The text that `cargo test` prints, byte for byte, from the stream alone.

Two things of the real one need more than a stream has: names of benchmarks are padded to the longest of them,
and control characters in a test's output reach the terminal. Here they do neither.
"""

from __future__ import annotations

from collections.abc import Iterator

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
from proctor.wire.reports.libtest import MODE
from proctor.wire.stream.objects import captured
from proctor.wire.stream.turns import Turns
from proctor.wire.stream.words import STATUS, one_line

_GOOD = (RunOutcome.PASSED, RunOutcome.NO_TESTS)


class Libtest:
    """A run is printed suite by suite."""

    name = "libtest"

    def __init__(self, say: Writer) -> None:
        self._say = say
        self._prefixes: dict[int, str] = {}
        self._open: set[int] = set()
        self._turns: Turns[str] = Turns()

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        event = entry.event
        if isinstance(event, SuiteStarted):
            self._prefixes[entry.suite] = neutral(event.prefix)
            self._print(entry.suite, f"\nrunning {event.count} {'test' if event.count == 1 else 'tests'}\n")
        elif isinstance(event, TestFinished):
            self._print(entry.suite, self._line(entry.suite, _name(event), _ending(event)))
        elif isinstance(event, CollectionFailed):
            self._print(entry.suite, self._line(entry.suite, neutral(event.file), "FAILED"))
        elif isinstance(event, SuiteFinished):
            self._end(entry.suite, so_far.suites[entry.suite])
        elif isinstance(event, RunFinished):
            for number in sorted(self._open):
                self._end(number, so_far.suites[number])

    def tick(self, now: float, so_far: RunResult) -> None:
        pass

    def _print(self, number: int, text: str) -> None:
        self._open.add(number)
        for piece in self._turns.take(number, [text]):
            self._say(piece)

    def _end(self, number: int, suite: SuiteResult) -> None:
        pieces = []
        prefix = self._prefixes.pop(number, "")
        if (
            suite.count is not None or suite.outcome is not RunOutcome.PASSED
        ):  # a build that went well is none
            pieces += [_line(prefix, neutral(test), "ignored, not run") for test in suite.not_run]
            pieces += [_failures(prefix, suite), _result(suite)]
        self._open.discard(number)
        for piece in self._turns.take(number, pieces, ended=True):
            self._say(piece)

    def _line(self, number: int, name: str, ending: str) -> str:
        return _line(self._prefixes.get(number, ""), name, ending)


def _line(prefix: str, name: str, ending: str) -> str:
    return f"test {name.removeprefix(prefix)} ... {ending}\n"


def _failures(prefix: str, suite: SuiteResult) -> str:
    said = {name.removeprefix(prefix): told for name, told in _said(suite)}
    if not said:
        return ""
    outputs = "".join(_section(name, stream, text) for name, told in said.items() for stream, text in told)
    names = "".join(f"    {name}\n" for name in sorted(said))
    return "\nfailures:\n" + (f"\n{outputs}" if outputs else "") + f"\nfailures:\n{names}"


def _name(test: TestFinished) -> str:
    mode = (test.properties or {}).get(MODE) or ("should panic" if test.subtype == "should_panic" else "")
    return neutral(test.test) + (
        f" - {neutral(str(mode))}" if mode and STATUS[test.outcome] != "ignore" else ""
    )


def _ending(test: TestFinished) -> str:
    status = STATUS[test.outcome]
    if status == "fail":
        return "FAILED"
    if status == "ignore":
        return f"ignored, {neutral(one_line(test.message))}" if test.message else "ignored"
    return _measured(test) if test.subtype == "bench" else "ok"


def _measured(test: TestFinished) -> str:
    facts = test.properties or {}
    median, deviation = facts.get("median", test.seconds * 1e9), facts.get("deviation")
    spread = f" (+/- {deviation:,.2f})" if isinstance(deviation, float) else ""
    rate = f" = {test.throughput:.0f} MB/s" if test.throughput else ""
    return f"bench: {median:>14,.2f} ns/iter{spread}{rate}"


def _said(suite: SuiteResult) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each failure's name with what is told about it, by stream; it may be nothing."""
    for error in suite.errors:
        yield neutral(error.file), [("stdout", error.traceback or error.failure.message)]
    for test in suite.tests.values():
        if test.outcome in BAD:
            told = [("stdout", _told(test, captured(test, "stdout"))), ("stderr", captured(test, "stderr"))]
            yield neutral(test.test), told


def _told(test: TestFinished, stdout: str) -> str:
    """What the test wrote, and why it failed unless that is in there: Rust prints it, others report it."""
    message, panics = (
        test.failure.message if test.failure else test.message or "",
        test.subtype == "should_panic",
    )
    told, why = stdout, test.traceback or ("" if panics else message)
    if why and why not in told:
        told = f"{told}\n{why}" if told and not told.endswith("\n") else told + why
    note = f"note: {message}" if panics and message else ""
    return told if note in told else told + note


def _section(name: str, stream: str, text: str) -> str:
    return f"---- {name} {stream} ----\n{neutral_block(text)}\n" if text else ""


def _result(suite: SuiteResult) -> str:
    measured = sum(test.subtype == "bench" and STATUS[test.outcome] == "ok" for test in suite.tests.values())
    tally = {"ok": -measured, "fail": len(suite.errors), "ignore": len(suite.not_run)}
    for test in suite.tests.values():
        tally[STATUS[test.outcome]] += 1
    took = f"; finished in {suite.seconds:.2f}s" if suite.seconds else ""
    word = "FAILED" if tally["fail"] or suite.outcome not in _GOOD else "ok"
    why = f"error: {suite.outcome}: {neutral(suite.reason)}\n\n" if suite.reason else ""
    return (
        f"\ntest result: {word}. {tally['ok']} passed; {tally['fail']} failed; {tally['ignore']} ignored; "
        f"{measured} measured; {suite.left_out} filtered out{took}\n\n{why}"
    )

"""The text that `cargo test` prints, byte for byte, from the stream alone.

Two things of the real one need more than a stream has: names of benchmarks are padded to the longest of them,
and control characters in a test's output reach the terminal. Here they do neither.
"""

from __future__ import annotations

from collections.abc import Iterator

from proctor.events import CollectionFailed, Entry, RunFinished, SuiteStarted, TestFinished
from proctor.outcome import BAD, RunOutcome
from proctor.render.neutral import neutral, neutral_block
from proctor.render.say import Say
from proctor.result import Result
from proctor.wire.stream_objects import captured
from proctor.wire.words import STATUS, one_line

_GOOD = (RunOutcome.PASSED, RunOutcome.NO_TESTS)


class Libtest:
    def __init__(self, say: Say) -> None:
        self._say = say

    def handle(self, entry: Entry, so_far: Result) -> None:
        event = entry.event
        if isinstance(event, SuiteStarted):
            self._say(f"\nrunning {event.count} {'test' if event.count == 1 else 'tests'}\n")
        elif isinstance(event, TestFinished):
            self._line(_name(event), _ending(event))
        elif isinstance(event, CollectionFailed):
            self._line(neutral(event.file), "FAILED")
        elif isinstance(event, RunFinished):
            for test in so_far.not_run:
                self._line(neutral(test), "ignored, not run")
            self._say(_failures(so_far))
            self._say(_result(so_far))

    def tick(self, now: float, so_far: Result) -> None:
        pass

    def _line(self, name: str, ending: str) -> None:
        self._say(f"test {name} ... {ending}\n")


def _name(test: TestFinished) -> str:
    panics = test.subtype == "should_panic" and STATUS[test.outcome] != "ignore"
    return neutral(test.test) + (" - should panic" if panics else "")


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


def _failures(result: Result) -> str:
    said = dict(_said(result))
    if not said:
        return ""
    outputs = "".join(said.values())
    names = "".join(f"    {name}\n" for name in sorted(said))
    return "\nfailures:\n" + (f"\n{outputs}" if outputs else "") + f"\nfailures:\n{names}"


def _said(result: Result) -> Iterator[tuple[str, str]]:
    """Each failure's name with what is told about it, which may be nothing."""
    for error in result.collection_errors:
        yield neutral(error.file), _section(error.file, "stdout", error.traceback or error.failure.message)
    for test in result.tests.values():
        if test.outcome in BAD:
            told = _section(test.test, "stdout", _told(test, captured(test, "stdout")))
            yield neutral(test.test), told + _section(test.test, "stderr", captured(test, "stderr"))


def _told(test: TestFinished, stdout: str) -> str:
    """What the test wrote, and why it failed unless that is in there: Rust prints it, others report it."""
    message = test.failure.message if test.failure else test.message or ""
    if test.subtype == "should_panic":
        return f"{stdout}note: {message}" if message and f"note: {message}" not in stdout else stdout
    why = test.traceback or message
    if not why or why in stdout:
        return stdout
    return f"{stdout}\n{why}" if stdout and not stdout.endswith("\n") else stdout + why


def _section(name: str, stream: str, text: str) -> str:
    return f"---- {neutral(name)} {stream} ----\n{neutral_block(text)}\n" if text else ""


def _result(result: Result) -> str:
    measured = sum(test.subtype == "bench" and STATUS[test.outcome] == "ok" for test in result.tests.values())
    tally = {"ok": -measured, "fail": len(result.collection_errors), "ignore": len(result.not_run)}
    for outcome, count in result.counts.items():
        tally[STATUS[outcome]] += count
    filtered_out = result.filtered_out or len(result.deselected)
    took = f"; finished in {result.seconds:.2f}s" if result.seconds else ""
    word = "FAILED" if tally["fail"] or result.outcome not in _GOOD else "ok"
    why = f"error: {result.outcome}: {neutral(result.reason)}\n\n" if result.reason else ""
    return (
        f"\ntest result: {word}. {tally['ok']} passed; {tally['fail']} failed; {tally['ignore']} ignored; "
        f"{measured} measured; {filtered_out} filtered out{took}\n\n{why}"
    )

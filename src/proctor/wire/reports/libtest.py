"""The text of `cargo test` and of Rust's libtest as events.

Tests may print between its lines, so the results are compared with the tally that ends each suite. A result
on a line with other text counts only if the tally has more tests than were read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from proctor import events as e
from proctor.outcome import Outcome
from proctor.result import Excerpt
from proctor.text import text_of, without_escapes
from proctor.wire.reports.cargo_text import CargoText
from proctor.wire.reports.report import LineReport, bounded, count_of, finished, seconds_of

SHOULD_PANIC = "should_panic"  # a subtype
#: How libtest's own message of a failure begins. It tells of a test that should have panicked, or otherwise.
UNLIKE_EXPECTED = (
    "test did not panic as expected",
    "panic did not contain expected string",
    "expected panic with string value",
)
MODE = "mode"  # a property: how far a test in documentation is taken, if it is not run

_PANICS = "should panic"
_NOTE = "note: "
_CHARACTERS = "\x1b(B"  # selects the usual ones: a part of how libtest ends a colour
_OUTCOMES = {"ok": Outcome.PASSED, "FAILED": Outcome.FAILED, "ignored": Outcome.SKIPPED}
_RUNNING = re.compile(r"running ([0-9]+) tests?")
_WORD = r"(ok|FAILED|ignored)(?:, (.*?))?(?: <([0-9.]+)s>)?"
_NAME = r"((?:(?! \.\.\. ).)+?)(?: - (should panic|compile(?: fail)?))?"
_RESULT = re.compile(rf"test {_NAME} \.\.\. {_WORD}")
_BENCH = re.compile(rf"test {_NAME} +\.\.\. bench: +([0-9,.]+) ns/iter(?: .*)?")
_UNDER_WAY = re.compile(rf"test {_NAME} \.\.\. (.*)")
_LATE = re.compile(_WORD)
_TALLY = re.compile(
    r"test result: (ok|FAILED)\. ([0-9]+) passed; ([0-9]+) failed; "
    r"([0-9]+) ignored; ([0-9]+) measured;"
    r".*?(?:finished in ([0-9.]+)s)?"
)
_HEADING = re.compile(r"---- (.+) stdout ----")
_PANIC = re.compile(r"thread '[^'\n]*'(?: \([0-9]+\))? panicked at ")
_PANIC_AT = re.compile(r"(\S[^\n]*?):([0-9]{1,9}):[0-9]+:\n")
_OLD_PANIC_AT = re.compile(r"', ([^\s'][^\n']*?):([0-9]{1,9}):[0-9]+")
_PATH = 4096  # characters, with its line
_NOT_AT = re.compile(r" at ([^\n]+?):([0-9]{1,9}):[0-9]+\Z")
_RETURNED = "Error: "
_AFTER = re.compile(r"\n(?:stack backtrace:|note: )")
_EQUAL = ("assertion `left == right` failed", "assertion failed: `(left == right)`")
_MOST = 10_000  # results behind other text that are remembered


class _Ended(msgspec.Struct, frozen=True):
    """A line with a result."""

    word: str
    reason: str = ""
    seconds: float = 0.0
    mode: str = ""  # should panic, compile, compile fail


class LibtestReader(LineReport):
    format = "libtest"

    def __init__(self) -> None:
        super().__init__()
        self._count = self._suites = self._failed_suites = 0
        self._seconds = 0.0
        self._cargo = CargoText()
        self._begin(0)
        self._open = False

    def _begin(self, promised: int) -> None:
        self._open = True
        self._promised = promised
        self._results: dict[str, _Ended] = {}
        self._reported: set[str] = set()
        self._failing = False
        self._under_way: dict[str, str] = {}  # name -> what followed it
        self._behind: list[tuple[str, str]] = []  # name, word
        self._explained: dict[str, Excerpt] = {}
        self._explained_last = ""
        self._section: Excerpt | None = None

    def _line(self, line: bytes) -> Iterable[e.Event]:
        text = text_of(line)
        plain = without_escapes(text.replace(_CHARACTERS, ""))
        running, tally = _RUNNING.fullmatch(plain), _TALLY.fullmatch(plain)
        if self._open and self._section is not None and (running or tally) and not self._agrees(tally):
            self._explanation(text, self._section)  # what a test that failed has printed
            return ()
        if running:
            return self._suite_started(bounded(running[1]))
        if not self._open:
            return self._between(plain)
        if tally:
            return self._suite_ended(tally)
        if text in ("failures:", "successes:"):
            self._section = Excerpt()
        elif self._section is not None:
            self._explanation(text, self._section)
        else:
            return self._progress(plain)
        return ()

    # While the tests run

    def _suite_started(self, count: int) -> Iterator[e.Event]:
        self._no_end()
        self._begin(count)
        self._cargo.suite_began()
        self._suites += 1
        self._count += count
        yield e.SuiteStarted("libtest", "", self._count)

    def _progress(self, text: str) -> Iterable[e.Event]:
        if result := _RESULT.fullmatch(text):
            ended = _Ended(result[3], result[4] or "", seconds_of(result[5]), result[2] or "")
            return self._result(result[1], ended)
        if bench := _BENCH.fullmatch(text):
            return self._result(bench[1], _Ended("ok", "", seconds_of(bench[3]) / 1e9))
        if self._under_way and (late := _LATE.fullmatch(text)):
            name = next(reversed(self._under_way))
            del self._under_way[name]
            return self._result(name, _Ended(late[1], late[2] or "", seconds_of(late[3])))
        if begun := _UNDER_WAY.fullmatch(text):
            self._under_way[begun[1]] = begun[3]
        elif len(self._behind) < _MOST:
            self._behind += _behind(text)
        return self._output(text)

    def _result(self, name: str, ended: _Ended) -> Iterable[e.Event]:
        """A failure is explained at the end of its suite: its event, and those after it, come then."""
        self._results[name] = ended
        self._failing = self._failing or ended.word == "FAILED"
        return () if self._failing else self._finished(name)

    def _finished(self, name: str) -> Iterator[e.Event]:
        if name in self._reported:
            return
        self._reported.add(name)
        ended, label, place = self._results[name], self._names.unique(name), documented_at(name)
        if ended.word == "FAILED":
            printed, note = _without_note(self._explanation_of(name), ended.mode)
            test = failed(label, ended.seconds, printed, ended.reason or note, place)
        else:
            test = finished(label, _OUTCOMES[ended.word], ended.seconds, message=ended.reason, place=place)
        yield _in_mode(test, ended.mode)

    def _explanation(self, text: str, section: Excerpt) -> None:
        if heading := _HEADING.fullmatch(text):
            self._explained_last = heading[1]
            self._section = self._explained.setdefault(heading[1], Excerpt())
        else:
            section.add(text + "\n")

    def _explanation_of(self, name: str) -> str:
        """What the test printed, and not the empty lines that libtest puts around it."""
        if name not in self._explained:
            return ""
        printed = self._explained[name].text().removesuffix("\n")
        return printed.removesuffix("\n") if name == self._explained_last else printed

    # At the end of a suite

    def _suite_ended(self, tally: re.Match[str]) -> Iterator[e.Event]:
        counted, bad = sum(map(bounded, tally.group(2, 3, 4, 5))), bounded(tally[3])
        self._results = self._results_of(counted)
        for name in self._results:
            yield from self._finished(name)
        read = Counter(ended.word for ended in self._results.values())
        if not self._agrees(tally):
            read_as = f"{read.total()} were read, {read['FAILED']} failed"
            self._gaps.append(f"a suite counted {counted} tests, {bad} failed; {read_as}")
        elif counted != self._promised:
            self._gaps.append(f"a suite of {self._promised} tests counted {counted}")
        elif (tally[1] == "FAILED") != bool(bad):
            self._gaps.append(f"a suite says {tally[1]} of itself, and {bad} of its tests failed")
        self._open = False
        self._failed_suites += bool(bad)
        self._seconds += seconds_of(tally[6])

    def _results_of(self, counted: int) -> dict[str, _Ended]:
        """Those that were read, and of those that are hidden as many as are missing."""
        found = dict(self._results)
        for name, word in self._hidden():
            if len(found) < counted:
                found.setdefault(name, _Ended(word))
        return found

    def _agrees(self, tally: re.Match[str] | None) -> bool:
        """Whether the tally counts the results that were read."""
        if tally is None:
            return False
        passed, bad, ignored, measured = map(bounded, tally.group(2, 3, 4, 5))
        counted, known = passed + bad + ignored + measured, len(self._results)
        if not known <= counted <= known + len(self._under_way) + len(self._behind):
            return False  # which is cheap to know
        results = self._results_of(counted)
        read = Counter(ended.word for ended in results.values())
        return [read["ok"], read["FAILED"], read["ignored"]] == [passed + measured, bad, ignored]

    def _hidden(self) -> Iterator[tuple[str, str]]:
        """Results on a line with text that a test printed."""
        under_way = self._under_way.items()
        yield from ((name, word) for name, rest in under_way for word in _OUTCOMES if rest.endswith(word))
        yield from self._behind

    def _no_end(self) -> None:
        if self._open:
            self._gaps.append(f"a suite has no end: {len(self._results)} of its tests were reported")
            self._failed_suites += 1

    # Outside of suites: the output of cargo

    def _between(self, text: str) -> Iterable[e.Event]:
        if _TALLY.fullmatch(text) or _RESULT.fullmatch(text):
            self._gaps.append(f"line {self._number}: a result outside of any suite")
        self._outside(text)
        return self._cargo.line(text) or self._output(text)

    def _last(self) -> Iterator[e.Event]:
        """A suite without an end keeps its results; the tests that it was running have begun."""
        self._no_end()
        if self._open:
            for name in self._results:
                yield from self._finished(name)
            for name in self._under_way:
                yield e.TestStarted(self._names.unique(name))
        if gap := self._cargo.gap(self._suites, self._failed_suites):
            self._gaps.append(gap)
        elif not self._suites and not self._cargo.not_built:
            self._gaps.append("there is no suite in it")
        yield self._ending(None, self._count, duration=self._seconds)


def _without_note(printed: str, mode: str) -> tuple[str, str]:
    """What the test printed, and libtest's own message behind it, if there is one."""
    at = max(printed.rfind(f"{_NOTE}{words}") for words in UNLIKE_EXPECTED) if mode == _PANICS else -1
    return (printed, "") if at < 0 else (printed[:at], printed[at + len(_NOTE) :].rstrip("\n"))


def failed(
    label: str, seconds: float, printed: str, message: str, place: e.Place | None = None
) -> e.TestFinished:
    """A failed test. The text that it printed is stdout up to the panic or the returned error, and traceback
    from there. `place` is that of a test in documentation, because its panics name a temporary file."""
    at, failure = _failure(printed, message)
    failure = replace(failure, place=place or failure.place)
    return finished(
        label,
        Outcome.FAILED,
        seconds,
        message=failure.message,
        traceback=printed[at:],
        place=place,
        failure=failure,
        stdout=printed[:at],
    )


def _failure(printed: str, message: str) -> tuple[int, e.Failure]:
    """Also the position in the output where it begins."""
    if found := _PANIC.search(printed):
        rest = printed[found.end() :]
        if at := _PANIC_AT.match(rest):
            return found.start(), _panic(message or _AFTER.split(rest[at.end() :])[0].strip(), at)
        if at := _OLD_PANIC_AT.search(rest):
            return found.start(), _panic(message or rest[1 : at.start()], at)
    if message:  # that it did not panic
        at = _NOT_AT.search(message, len(message) - _PATH)
        return len(printed), e.Failure("", message, e.Place(at[1], int(at[2])) if at else None)
    start = 0 if printed.startswith(_RETURNED) else printed.rfind(f"\n{_RETURNED}") + 1
    lines = [line for line in printed[start:].splitlines() if line.strip()]
    reason = printed[start:].strip() if printed.startswith(_RETURNED, start) else lines[-1] if lines else ""
    return start, e.Failure("", reason.removeprefix("note: "))


def _panic(message: str, at: re.Match[str]) -> e.Failure:
    """Of two values that should be equal, the right one is taken for the expected one, as most write it."""
    place = e.Place(at[1], int(at[2]))
    left, found, right = message.partition("\n  left: ")[2].partition("\n right: ")
    if not found or not message.startswith(_EQUAL):
        return e.Failure("panic", message, place)
    return e.Failure("panic", message, place, expected=right, actual=left.rstrip(","))


def _in_mode(test: e.TestFinished, mode: str) -> e.TestFinished:
    """Tests in documentation may be there to be compiled alone, or not even that."""
    if mode == _PANICS:
        return replace(test, subtype=SHOULD_PANIC)
    return replace(test, properties={MODE: mode}) if mode else test


def documented_at(name: str) -> e.Place | None:
    """`src/lib.rs - add (line 3)` is a test in documentation."""
    file, dash, rest = name.partition(" - ")
    line = rest.removesuffix(")").rpartition("(line ")[2]
    return e.Place(file, count_of(line)) if dash and rest.endswith(")") and count_of(line) else None


def _behind(text: str) -> Iterator[tuple[str, str]]:
    """A result at the end of a line that begins with something else."""
    head, dots, rest = text.rpartition(" ... ")
    word, at = _LATE.fullmatch(rest), head.rfind("test ")
    if dots and word and at > 0:
        yield head[at + 5 :].removesuffix(" - should panic"), word[1]

"""The answer for a coding agent: the verdict, then each cause once, then the tests that it broke."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice

import msgspec

from proctor.causes import Cause, Occurrence, causes, is_old, made_good
from proctor.events import Place
from proctor.outcome import FLAKY, Outcome, RunOutcome
from proctor.render.agent_lines import AgentLine, laid_out
from proctor.render.captured import notable_output
from proctor.render.failure_report import attempts_text, phase_text
from proctor.render.failure_text import FailureText, TextLimits, failure_text, place_text, way, way_text
from proctor.render.history_words import Words
from proctor.render.ids import MOST_NAMED, Known, by_file, factored, file_of, fitted, function_of
from proctor.render.masking import masked_failures
from proctor.render.neutral import neutral
from proctor.render.printed import quoted_output
from proctor.render.rerun import project_option
from proctor.render.tokens import estimate
from proctor.render.verdict_line import verdict_line
from proctor.result import RunResult
from proctor.text import first_line
from proctor.verdict import missing_reason, suite_reason

_ONE_LINE = 160  # characters of ids that still go before the message instead of after it
_OUTPUT_WIDTH = 160  # characters of a line of captured output
_LAST_LINES = 5  # of a process whose exit status nothing explains
_MOST_REASONS = 3  # of skips, of warnings
_REASON_WIDTH = 100
_CHEAPEST_ROW = 5  # tokens that a row costs at least
_MOST_MADE_GOOD = 10  # rows of flaky tests, and of those in quarantine
_MOST_WAYS = 6  # to one raise that are shown
_OLD_LINES = 2  # under a failure that is not new, where others are
_LINES_WORTH = 40  # tokens of lines: fewer are not left out, since the hint at them costs as much
_MOST_IDS = 600  # tokens for the names of tests that have no row of their own


class Hints(msgspec.Struct, frozen=True):
    """How a reader gets what a text leaves out."""

    whole: str
    test: str
    difference: str
    ids: str
    output: str
    resource: str = ""  # the address of the whole, if there is one
    quotes_as_json: bool = False  # a test, otherwise quoted for a shell

    def fill(self, hint: str, result: RunResult, tests: Iterable[str] = ()) -> str:
        """`{test}` is the test, if it is one; else a word for any of them."""
        named = list(islice(tests, 2))
        test = self._quoted(named[0]) if len(named) == 1 else "ID"
        where = "" if self.quotes_as_json else project_option(result)
        return hint.format(run=result.run.run_id + where, test=test)

    def _quoted(self, test: str) -> str:
        harmless = neutral(test)
        if not self.quotes_as_json:
            return shlex.quote(harmless)
        return json.dumps(test, ensure_ascii=harmless != test)


SHELL = Hints(
    "proctor show {run}",
    "proctor show {run} --test {test}",
    "proctor show {run} --test {test} --difference",
    "proctor show {run} --format failures",
    "proctor show {run} --output",
)


class Detail(msgspec.Struct, frozen=True):
    """How much the text shows: everything, unless a budget asks for less."""

    passing: bool = True  # reasons of skips, warnings
    output: bool = True
    calls: bool = True
    more: bool = True  # lines under the line of a failure
    width: int = 300  # characters of a message
    rows: int = 2000  # tokens for the tests of one cause; 0: all of them
    mask: bool = True  # values that look like credentials
    hints: Hints | None = SHELL  # how to get the rest; None: the run is not kept
    cut: str = ""  # what a budget took away


class _Said(msgspec.Struct, frozen=True):
    """The texts of failures of one cause: the common type and details, then a row for each."""

    kind: str
    shared: tuple[str, ...]
    rows: list[tuple[Occurrence, str, tuple[str, ...]]]


def agent_text(result: RunResult, detail: Detail = Detail()) -> str:  # noqa: B008  frozen
    result = shown(result, detail)
    return "\n".join(Composer(result, causes(result), detail).lines()) + "\n"


def shown(result: RunResult, detail: Detail) -> RunResult:
    """What a text may show of a result: with its secrets masked, while its texts are still whole."""
    return masked_failures(result) if detail.mask else result


class Composer:
    """Composes one answer and remembers whether it left something out."""

    def __init__(self, result: RunResult, found: list[Cause], detail: Detail) -> None:
        self._result, self._causes, self._detail = result, found, detail
        self._limits = TextLimits(result.run.cwd, detail.width, detail.more)
        self._left_out: dict[str, None] = {}  # tests about which there is more to know
        self._signs_explained = False
        self._differences: dict[str, None] = {}  # tests of whose difference only the first lines are shown
        self._counted: dict[str, None] = {}  # tests that are not named
        self._words = Words(result, detail.more)
        self._verdict = verdict_line(result, detail.more)

    @cached_property
    def _known(self) -> Known:
        return Known.of(self._result)

    def lines(self) -> Iterator[str]:
        yield from self._verdict_and_causes(len(self._causes))
        if self._result.flaky or self._result.excused:
            yield from self._made_good()
        if self._detail.passing and self._result.outcome is not RunOutcome.PASSED:
            yield from self._passing()
        for notice in self._result.notices:
            yield f"note: {neutral(notice)}"
        if self._detail.cut:
            yield self._cut_line()
        elif hints := self._detail.hints:
            if any(quoted_output(self._result)):
                yield f"more: {hints.fill(hints.output, self._result)}"
            for hint, tests in (
                (hints.test, self._left_out),
                (hints.difference, self._differences),
                (hints.ids, self._counted),
            ):
                if tests:
                    yield f"more: {hints.fill(hint, self._result, tests)}"
            if hints.resource and (self._left_out or self._differences or self._counted):
                yield f"whole: {hints.fill(hints.resource, self._result)}"

    def partly(self, count: int, room: int = 0) -> Iterator[str]:
        """So many causes, and the names of other failing tests: all, or what `room` tokens can hold."""
        yield from self._verdict_and_causes(count)
        tests = list(dict.fromkeys(test for cause in self._causes[count:] for test in cause.tests))
        if not room:
            yield "other failures:"
            yield from factored(tests, self._known)
        else:
            rest = f"{self._verdict}\n{self._cut_line()}\nand {len(tests)} more failing\n"
            lines, named = fitted(tests, self._known, room - estimate(rest))
            yield from lines
            yield f"and {len(tests) - named} more failing"
        yield self._cut_line()

    def _verdict_and_causes(self, count: int) -> Iterator[str]:
        yield self._verdict
        yield from self._reasons()
        old = [is_old(cause, self._result) for cause in self._causes]
        lines: list[AgentLine] = []
        for cause, short in zip(self._causes[:count], old, strict=False):
            told = self._cause(cause)
            lines += told if not short or all(old) else (self._shortened(line, cause) for line in told)
        yield from laid_out(lines)

    def _shortened(self, line: AgentLine, cause: Cause) -> AgentLine:
        """A line about a failure that is not new, where others are."""
        rest = line.more[_OLD_LINES:]
        if estimate("\n".join(rest)) < _LINES_WORTH:
            return line
        self._left_out[line.test or cause.first.test] = None
        return msgspec.structs.replace(line, more=line.more[:_OLD_LINES])

    def _cut_line(self) -> str:
        return f"{self._detail.cut}{self._whole('; all: ')}"

    def _whole(self, before: str) -> str:
        hints = self._detail.hints
        return f"{before}{hints.fill(hints.whole, self._result)}" if hints else ""

    def _reasons(self) -> Iterator[str]:
        """The reason for the verdict, unless a test shows it."""
        result = self._result
        if result.broke is not None and result.outcome is RunOutcome.INTERNAL_ERROR:
            broke = result.broke.failure
            found = failure_text(broke, self._limits)
            yield f"{place_text('', broke).removeprefix(' > ')} {found.line}".lstrip()
            yield from (f" {line}" for line in found.more)
        elif result.several:
            yield from self._suites()
        elif (reason := self._reason_of_tests) and not self._is_shown(
            reason, result.outcome, result.current_test is not None
        ):
            yield self._short(reason)
        for missing in result.missing if self._detail.more else ():  # the verdict says that it was not run
            yield self._short(f"{missing.runner}: {missing.reason}")
        if self._detail.output:
            yield from self._quoted_output()

    @property
    def _reason_of_tests(self) -> str:
        """The reason of the verdict, without the suites that could not be started."""
        reason = self._result.reason.removesuffix(missing_reason(self._result.missing))
        return reason if reason == self._result.reason else reason.removesuffix("; ")

    def _quoted_output(self) -> Iterator[str]:
        """The few last lines of a process whose exit status nothing explains."""
        for _, lines in quoted_output(self._result):
            shown = [self._limits.clean(line) for line in lines[-_LAST_LINES:]]
            yield from (f" output: {self._limits.shorten(line, _OUTPUT_WIDTH)}" for line in shown)

    def _suites(self) -> Iterator[str]:
        """Why suites have no better verdict, and the run where that is another reason."""
        reasons = []
        for suite in self._result.suites:
            if why := suite_reason(suite):
                reasons.append(f"{suite.name}: {why}")
                if not self._is_shown(why, suite.outcome, bool(suite.counts[Outcome.CRASH])):
                    yield self._short(reasons[-1])
        if (reason := self._reason_of_tests) and reason != "; ".join(reasons):
            yield self._short(reason)

    def _short(self, text: str) -> str:
        return self._limits.shorten(self._limits.clean(text).replace("\n", " "))

    def _is_shown(self, reason: str, outcome: RunOutcome, crashed: bool) -> bool:
        if outcome is RunOutcome.CRASHED and crashed:
            return True
        said = {occurrence.failure.message for cause in self._causes for occurrence in cause.occurrences}
        return reason in said or reason.partition(" at ")[0] in said

    # Causes

    def _cause(self, cause: Cause) -> Iterator[AgentLine]:
        first = cause.first
        if any(not _same_text(occurrence, first) for occurrence in cause.occurrences):
            yield from self._different_messages(cause)
            return
        text = self._failure_text(first)
        more = (*text.more, *self._output(first))
        if len(cause.occurrences) == 1:
            more += (tries,) if self._detail.more and (tries := attempts_text(first)) else ()
            mark = self._words.mark(cause.tests)
            yield self._row(first, f"{mark}{phase_text(first)} {text.line}", more)
        else:
            yield from self._same_message(cause, text.line, more)

    def _failure_text(self, occurrence: Occurrence) -> FailureText:
        found = failure_text(occurrence.failure, self._limits)
        test = occurrence.finished
        if test and any(phase.files and "difference" in phase.files for phase in test.phases):
            self._differences[occurrence.test] = None
        elif found.left_out:
            self._left_out[occurrence.test] = None
        if found.signed and not self._signs_explained:
            self._signs_explained = True
            return msgspec.structs.replace(found, line=f"{found.line[:-1]} (- right, + left):")
        return found

    def _same_message(self, cause: Cause, message: str, more: tuple[str, ...]) -> Iterator[AgentLine]:
        """The message once, then the tests; each with its place where they have different ones."""
        first, place = cause.first, cause.first.failure.place
        mark, marks = self._marks(cause)
        count, text = len(cause.occurrences), f"{mark}{phase_text(first)} {message}"
        if not cause.one_place:
            example = f" first at {neutral(str(place))}" if place and self._too_many(cause.tests) else ""
            yield AgentLine(f"x{count}{example}{text}", more=more)
            if self._too_many(cause.tests):
                yield from self._named(cause.tests, marks)
            else:
                rows = [self._row(one, marks.get(one.test, "")) for one in cause.occurrences]
                yield from self._bounded(rows, cause.tests, marks)
            return
        ids = factored(cause.tests, self._known)
        short = len(ids) == 1 and len(ids[0]) <= _ONE_LINE and not ids[0].startswith("all of ")
        if short and not marks and place and place.line and file_of(first.test) == place.file:
            yield AgentLine(f"{ids[0]} :{place.line}{text}", more=more)
            return
        ways = self._ways(cause)
        where = f" > {neutral(str(place))}" if place else ""
        if len(ways) == 1:
            where = way_text("", next(iter(ways))) or where
        yield AgentLine(f"x{count}{where}{text}", more=more)
        for way_there, tests in ways.items():
            yield from self._named(tests, marks, way_text("", way_there[:-1]) if len(ways) > 1 else "")

    def _marks(self, cause: Cause) -> tuple[str, dict[str, str]]:
        """The mark of all its tests, or those of each where they differ."""
        if mark := self._words.mark(cause.tests):
            return mark, {}
        marks = {test: self._words.mark([test]) for test in cause.tests}
        return "", marks if any(marks.values()) else {}

    def _named(
        self, tests: list[str], marks: dict[str, str], where: str = "", room: int = 0
    ) -> Iterator[AgentLine]:
        """Lines that name these tests, those of one mark together."""
        by_mark: dict[str, list[str]] = {}
        for test in tests:
            by_mark.setdefault(marks.get(test, ""), []).append(test)
        for mark, some in by_mark.items():
            shown, lines = f"{where}{mark}", self._ids(some, room)
            if shown and len(lines) == 1:
                yield AgentLine(f"{lines[0]}{shown}")
            else:
                yield from map(AgentLine, [f"x{len(some)}{shown}"] * bool(shown) + lines)

    def _ways(self, cause: Cause) -> dict[tuple[Place, ...], list[str]]:
        """The tests by their call path to the raise, or by the last caller if there are too many paths."""
        place = cause.first.failure.place
        found = {o.test: way(o.failure, file_of(o.test)) for o in cause.occurrences}
        if not self._detail.calls or place is None or any(not w or w[-1] != place for w in found.values()):
            return {(): cause.tests}
        for length in (0, 2):
            ways: dict[tuple[Place, ...], list[str]] = {}
            for test, places in found.items():
                ways.setdefault(places[-length:], []).append(test)
            if len(ways) <= _MOST_WAYS:
                return ways
        return {(): cause.tests}

    def _different_messages(self, cause: Cause) -> Iterator[AgentLine]:
        """What the failures have in common once, then each message with its tests, or each test with its."""
        first, place, count = cause.first, cause.first.failure.place, len(cause.occurrences)
        said = self._said(cause)
        by_message: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
        for occurrence, message, more in said.rows:
            key = message, more, occurrence.failure.message  # which may differ where it is cut
            by_message.setdefault(key, []).append(occurrence.test)
        mark, marks = self._marks(cause)
        function = _only_function(cause)
        if function and place and len(by_message) * 2 > count:
            yield AgentLine(
                f" :{place.line} x{count}{mark} {said.kind}".rstrip(), function, said.shared, opens=True
            )
            rows = [
                AgentLine(
                    f"{neutral(one.test[len(function) :])}{marks.get(one.test, '')} {message}", more=more
                )
                for one, message, more in said.rows
            ]
            yield from self._bounded(rows, cause.tests, marks)
            return
        where = f" > {neutral(str(place))}" if place else ""
        yield AgentLine(f"x{count}{where}{mark}{phase_text(first)} {said.kind}".rstrip(), more=said.shared)
        if len(by_message) * 2 <= len(said.rows) == count:
            for (message, more, _), tests in sorted(by_message.items(), key=lambda item: -len(item[1])):
                yield AgentLine(f"x{len(tests)} {message}", more=more)
                yield from self._named(list(dict.fromkeys(tests)), marks)
            return
        rows = [
            self._row(one, f"{marks.get(one.test, '')} {message}", more, with_place=not message)
            for one, message, more in said.rows
        ]
        yield from self._bounded(rows, [one.test for one in cause.occurrences], marks)

    def _said(self, cause: Cause) -> _Said:
        """The texts of as many failures of a cause as can be shown, without what they have in common."""
        shown = cause.occurrences[: self._detail.rows // _CHEAPEST_ROW or len(cause.occurrences)]
        texts = [self._failure_text(occurrence) for occurrence in shown]
        kind = cause.first.failure.type
        if not kind or not all(text.line.startswith(f"{kind}: ") for text in texts):
            kind = ""
        shared = texts[0].more if len({text.more for text in texts}) == 1 else ()
        messages = [text.line.removeprefix(f"{kind}: ") if kind else text.line for text in texts]
        details = [() if shared else text.more for text in texts]
        return _Said(kind, shared, list(zip(shown, messages, details, strict=True)))

    def _row(
        self, occurrence: Occurrence, text: str = "", more: tuple[str, ...] = (), with_place: bool = True
    ) -> AgentLine:
        file, place = neutral(occurrence.test), occurrence.failure.place
        if occurrence.finished is None:
            if place is not None:
                file = (
                    neutral(str(place))
                    if place.file == occurrence.test
                    else f"{file} > {neutral(str(place))}"
                )
            return AgentLine(f"{file}{text}".rstrip(), more=more)
        name = f" {neutral(occurrence.subtest)}" if occurrence.subtest else ""
        where = (
            place_text(file_of(occurrence.test), occurrence.failure, self._detail.calls) if with_place else ""
        )
        return AgentLine(f"{name}{where}{text}".rstrip(), occurrence.test, more)

    def _bounded(self, rows: list[AgentLine], tests: list[str], marks: dict[str, str]) -> Iterator[AgentLine]:
        """As many rows as one cause may have; the tests of the others are named as far as that may take."""
        spent = named = 0
        for row in rows:
            spent += estimate("".join([row.test, row.text, *row.more]))
            if self._detail.rows and (spent > self._detail.rows or named >= MOST_NAMED):
                break
            yield row
            named += 1
        others = tests[named:]
        if others:
            yield AgentLine(f"and {len(others)} more like these:")
            yield from self._named(others, marks, room=min(_MOST_IDS, self._detail.rows))

    def _too_many(self, tests: list[str]) -> bool:
        """To be named one by one; those that are in no file have only their names."""
        return bool(self._detail.rows) and len(tests) > MOST_NAMED and all(map(file_of, tests))

    def _ids(self, tests: list[str], room: int = 0) -> list[str]:
        """Lines that name these tests, or count them by file if they are many; and the way to all of them."""
        room = room or self._detail.rows
        if self._too_many(tests):
            lines, named = by_file(tests, self._known, room)
            if any(not line.startswith("all of ") for line in lines):
                self._counted.update(dict.fromkeys(tests))
        else:
            lines, named = factored(tests, self._known), len(tests)
            if room and estimate("\n".join(lines)) > room:
                lines, named = fitted(tests, self._known, room)
        left = len(tests) - named
        return [*lines, f"and {left} more{self._whole(': ')}"] if left else lines

    def _output(self, occurrence: Occurrence) -> Iterator[str]:
        test = self._result.tests.get(occurrence.test)
        if test is None or not self._detail.output or occurrence.subtest:
            return
        for kind, lines, whole in notable_output(test.phases):
            if not whole:
                self._left_out[test.test] = None
            for line in lines:
                yield f"{kind}: {self._limits.shorten(self._limits.clean(line), _OUTPUT_WIDTH)}"

    # What did not fail

    def _made_good(self) -> Iterator[str]:
        """A row for each test whose failure does not count, as far as they are few."""
        left: Counter[str] = Counter()
        shown: Counter[str] = Counter()
        for word, first in made_good(self._result):
            if shown[word] == _MOST_MADE_GOOD:
                left[word] += 1
                continue
            shown[word] += 1
            reason = "" if word == FLAKY else self._result.quarantined[first.test]
            why = f" ({self._reason(reason)})" if reason else ""
            text = failure_text(first.failure, msgspec.structs.replace(self._limits, more=False)).line
            row = self._row(first, f" {text.removesuffix(':')}")
            yield f"{word}{why}: {neutral(row.test)}{row.text}"
        yield from (f"and {count} more {word}" for word, count in left.items())

    def _passing(self) -> Iterator[str]:
        tests, warnings = self._result.tests.values(), self._result.warnings
        found = {
            outcome: [self._reason(test.message) for test in tests if test.outcome == outcome]
            for outcome in ("skipped", "xpassed")
        }
        found["warnings"] = [
            f"{w.category} {self._reason(f'{w.file}:{w.line}: {w.message}')}" for w in warnings
        ]
        for name, reasons in found.items():
            if reasons:
                yield f"{name}: {_grouped(Counter(reasons))}"

    def _reason(self, text: str | None) -> str:
        return self._limits.shorten(first_line(self._limits.clean(text or "")) or "no reason", _REASON_WIDTH)


def _only_function(cause: Cause) -> str:
    """The function whose parameters the tests of a cause are, if it failed in its own code."""
    first, place = cause.first, cause.first.failure.place
    functions = {function_of(test) for test in cause.tests}
    own = place is not None and place.file == file_of(first.test) and not phase_text(first)
    return functions.pop() if own and len(functions) == 1 and first.test.endswith("]") else ""


def _same_text(one: Occurrence, other: Occurrence) -> bool:
    a, b = one.failure, other.failure
    return (a.message, a.difference, a.causes) == (b.message, b.difference, b.causes)


def _grouped(counted: Counter[str]) -> str:
    shown = [f"{text} x{n}" if n > 1 else text for text, n in counted.most_common(_MOST_REASONS)]
    more = len(counted) - len(shown)
    return "; ".join([*shown, *([f"{more} more"] if more else [])])

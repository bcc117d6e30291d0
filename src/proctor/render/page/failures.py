"""The failures of a run as values for the page: one for each cause, with all that is known about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from markupsafe import Markup

from proctor.causes import Cause
from proctor.render.failure_block import Block, blocks
from proctor.render.failure_report import attempts_text, brief, label, phase_text, word
from proctor.render.history_words import Words
from proctor.render.page.around import Around
from proctor.render.page.evidence import Attached, Evidence, Written
from proctor.render.page.markup import HtmlWriter
from proctor.render.page.strip import Strip, strip
from proctor.render.rerun import LAST_FAILED
from proctor.result import RunResult

_OPEN = 3  # failures that are unfolded
_WHOLE = 100  # causes with all details; more have a line each
_LINES = 1_000  # of these
_TESTS = 200  # of one cause that are named
_STRIPS = 10  # tests whose earlier results are shown


class One(msgspec.Struct):
    """A test of a cause."""

    test: str
    label: str
    about: str = ""  # its own place and message, where they differ from those of the first
    history: str = ""


class FailureView(msgspec.Struct, kw_only=True):
    number: int
    word: str
    title: str
    more: int = 0  # tests that failed in the same way
    phase: str = ""
    place: str = ""
    brief: str = ""
    history: str = ""
    open: bool = False
    reason: Markup = Markup()
    tests: list[One] = []
    unnamed: int = 0  # tests beyond those
    written: Written = msgspec.field(default_factory=Written)
    files: list[Attached] = []
    files_left: int = 0
    attempts: str = ""
    strips: list[tuple[str, Strip]] = []
    rerun: str = ""
    rerun_all: bool = False  # it does not name the tests of this cause, and runs those of others, too
    debug: list[str] = []


class Failures(msgspec.Struct):
    whole: list[FailureView] = []
    lines: list[FailureView] = []  # without details
    left_out: int = 0

    @property
    def count(self) -> int:
        return len(self.whole) + len(self.lines) + self.left_out


def failures(result: RunResult, around: Around) -> tuple[Failures, dict[str, int]]:
    """What went wrong, worst first; and the number of the failure that tells of a test, by its id."""
    found, numbers = Failures(), dict[str, int]()
    make = _Views(result, around)
    for number, block in enumerate(blocks(result), 1):
        if number > _WHOLE + _LINES:
            found.left_out += 1
            continue
        if block.cause is not None:
            for test in block.cause.tests:
                numbers.setdefault(test, number)
        whole = number <= _WHOLE
        (found.whole if whole else found.lines).append(make.view(block, number, whole))
    make.add_strips(found.whole)
    return found, numbers


class _Views:
    def __init__(self, result: RunResult, around: Around) -> None:
        self._result, self._around, self._words = result, around, Words(result)
        self._evidence = Evidence(around)
        self._heads: dict[int, str] = {}  # the first test of each cause, by its number

    def view(self, block: Block, number: int, whole: bool) -> FailureView:
        cause = block.cause
        if cause is None:
            view = FailureView(number=number, word="ERROR", title=block.head, open=number <= _OPEN)
        else:
            self._heads[number] = cause.first.test
            view = self._line(cause, number)
        if whole:
            self._tell(view, block)
        return view

    def _line(self, cause: Cause, number: int) -> FailureView:
        first = cause.first
        place = first.failure.place if cause.one_place else None
        return FailureView(
            number=number,
            word=word(first),
            title=("cannot collect " * (first.finished is None)) + label(first),
            more=len(cause.tests) - 1,
            phase=phase_text(first).strip(),
            place=str(place) if place else "",
            brief=brief(first),
            history=self._words.all(cause.tests),
            open=number <= _OPEN,
        )

    def _tell(self, view: FailureView, block: Block) -> None:
        writer = HtmlWriter()
        block.write_reason(writer)
        if writer.text.strip() != view.brief.strip():  # which stands above it
            view.reason = writer.markup
        view.rerun, view.debug = block.rerun, block.debug
        view.rerun_all = LAST_FAILED in view.rerun.partition(" -- ")[0].split(" ")
        cause = block.cause
        if cause is None:
            return
        if len(cause.occurrences) > 1:
            view.tests = list(self._tests(cause))
            view.unnamed = len(cause.occurrences) - len(view.tests)
        view.attempts = attempts_text(cause.first) if len(cause.tests) == 1 else ""
        view.written = self._evidence.written(cause)
        view.files, view.files_left = self._evidence.files(cause)

    def _tests(self, cause: Cause) -> Iterator[One]:
        for one in cause.occurrences[:_TESTS]:
            place = "" if cause.one_place or not one.failure.place else f"at {one.failure.place}"
            why = "" if cause.one_message else brief(one)
            yield One(
                one.test, label(one), ": ".join(filter(None, (place, why))), self._words.column([one.test])
            )

    def add_strips(self, views: Sequence[FailureView]) -> None:
        tests = [self._heads[view.number] for view in views if view.number in self._heads][:_STRIPS]
        known = self._around.strips(tests) if tests else {}
        for view in views:
            test = self._heads.get(view.number, "")
            results = known.get(test, ())
            if len(results) > 1:
                view.strips = [(test, strip(results))]

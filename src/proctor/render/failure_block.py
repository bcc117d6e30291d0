"""A failure for people: where values differ, source, calls, captured output, the command to run it again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from proctor.events import Failure, Phase, Place
from proctor.outcome import RunOutcome
from proctor.render.assertion_text import where_line
from proctor.render.captured import captured_text
from proctor.render.difference_text import write_difference
from proctor.render.failure_report import attempts_text, cause_headline, causes_of, message_of, rows
from proctor.render.links import place_url
from proctor.render.neutral import neutral, neutral_block
from proctor.render.printed import quoted_output
from proctor.render.pytest_trace import Frame, Raise, parse, with_margin, without_advice
from proctor.render.rerun import rerun
from proctor.render.writer import Tone, Writer, plain_writer
from proctor.result import RunResult
from proctor.wire.reports.contents import log_line

if TYPE_CHECKING:  # loaded only if something failed
    from proctor.causes import Cause

_OUTPUT_LINES = 30  # of a failed test's captured output; the rest is in the run's directory
_TRACE_HEAD, _TRACE_TAIL = 12, 36  # lines of a trace
_FRAMES_HEAD, _FRAMES_TAIL = 6, 10  # calls on the way
_LIBRARY_RUN = 3  # calls inside of libraries, one after the other, that are shown
_LIBRARY_PATH = 3  # parts of the path of a library's file

# Frames of pytest and the interpreter's start in the text of faulthandler.
_HARNESS = re.compile(
    r"(?:^  File \"(?:\S*/(?:_pytest|pluggy|pytest)/|<frozen runpy>).*\n?){3,}", re.MULTILINE
)
_LIBRARY_LINE = re.compile(r".*(?:/site-packages/|/lib/python\d|<frozen |node_modules/|\bnode:internal)")
_DIFFERENCE = re.compile(r"E\s+([-+?])(?: |$)")
_SIGNS: dict[str, Tone] = {"-": "removed", "+": "added", "?": "quiet"}
_DEBUG = "debug: "  # begins the note of a test that stopped at a breakpoint
_HOLLOW = re.compile(r"self = <[\w.]+ object at 0x[0-9a-f]+>")  # says nothing
_LOUD = ("crash", "timeout", "collect")


class Block(msgspec.Struct, frozen=True):
    """A headline in its tone, and what stands below it."""

    head: str
    tone: Tone
    result: RunResult
    cause: Cause | None = None  # of a failure of tests
    text: str = ""  # of any other
    with_output: bool = True  # what its first test printed is shown here
    whole: bool = False

    @property
    def link(self) -> str:
        """The place that the headline names, for a terminal."""
        first = self.cause.first if self.cause else None
        return place_url(first.failure.place, self.result, first.test) if first else ""

    @property
    def body(self) -> str:
        """Without colours."""
        parts: list[str] = []
        self.write_body(plain_writer(parts.append))
        return "".join(parts).rstrip("\n")

    def write_body(self, write: Writer) -> None:
        if self.cause is None:
            _write_text(self.text, write)
        else:
            _Body(self.cause, self.result, write, self.whole).write(self.with_output)

    def write_reason(self, write: Writer) -> None:
        """Why it failed: the difference, the source, the calls, what was raised and from what."""
        if self.cause is None:
            _write_text(self.text, write)
        else:
            _Body(self.cause, self.result, write, self.whole).write_reason()

    @property
    def rerun(self) -> str:
        """The command that runs its tests again; empty where there is none."""
        return _rerun(self.cause, self.result) if self.cause else ""

    @property
    def debug(self) -> list[str]:
        """Commands that open a debugger in the test, where it stopped at a breakpoint."""
        return _debug(self.cause) if self.cause else []


def blocks(result: RunResult, whole: bool = False) -> Iterator[Block]:
    """What went wrong, worst first. The output of a test stands in the first block that the test begins."""
    if result.broke is not None and result.outcome is not RunOutcome.USAGE_ERROR:
        trace = _cut(result.broke.traceback or result.broke.failure.message)
        yield Block("INTERNAL ERROR", "loud", result, text=trace)
    if result.outcome is RunOutcome.USAGE_ERROR and result.stderr.text().strip():
        yield Block("USAGE ERROR", "loud", result, text=neutral_block(result.stderr.text()).strip())
    for title, lines in quoted_output(result):
        yield Block(title, "loud", result, text="\n".join(lines))
    shown: set[str] = set()
    for cause in causes_of(result):
        test = cause.first.finished
        with_output = test is not None and test.test not in shown
        if test is not None:
            shown.add(test.test)
        tone: Tone = "loud" if cause.first.when in _LOUD else "bad"
        yield Block(cause_headline(cause), tone, result, cause, with_output=with_output, whole=whole)


class _Body:
    def __init__(self, cause: Cause, result: RunResult, write: Writer, whole: bool) -> None:
        self._cause, self._result, self._write, self._whole = cause, result, write, whole
        self._first, self._failure = cause.first, cause.first.failure

    def write_reason(self) -> None:
        self._write_trace()
        self._write_details()

    def write(self, with_output: bool) -> None:
        self._write_tests()
        self.write_reason()
        if with_output and self._first.finished is not None:
            whose = " (of the first)" if len(self._cause.occurrences) > 1 else ""
            for phase in self._first.finished.phases:
                _write_captured(phase, whose, self._write)
        if len(self._cause.tests) == 1 and (tries := attempts_text(self._first)):
            self._write(f"  {tries}\n", "quiet")
        if command := _rerun(self._cause, self._result):
            self._write("  rerun: ", "quiet")
            self._write(f"{command}\n", "command")
        for command in _debug(self._cause):
            self._write(f"  {_DEBUG}", "quiet")
            self._write(f"{command}\n", "command")

    def _write_tests(self) -> None:
        if len(self._cause.occurrences) == 1:
            return
        for row in rows(self._cause, self._result):
            self._write(f"  {row}\n")
        if not (self._cause.one_place and self._cause.one_message):
            self._write("the first of them:\n", "quiet")

    def _write_trace(self) -> None:
        """The difference first: it is what a reader looks for."""
        text = neutral_block(self._first.traceback)
        if root := self._result.run.cwd.rstrip("/"):
            text = text.replace(f"file://{root}/", "").replace(f"{root}/", "")
        found = [] if self._whole else parse(text)
        message, compared = message_of(self._first), self._is_compared(text)
        if compared and not (found or self._whole):
            text = _without_comparison(text, message)
        if not all(line.strip() in text for line in message.splitlines()):  # each stands behind a mark there
            self._write(f"{_without_values(message, self._failure)}\n", "bad")
        if compared:
            write_difference(self._failure, self._write)
        if found:
            if compared:
                self._write("\n")
            for part in found:
                self._write_raise(part)
        elif text.strip() or self._failure.source:
            self._write_source("\n" * compared)
            _write_text(with_margin(text) if self._whole else _cut(text), self._write, message)

    def _write_source(self, before: str) -> None:
        """Lines around the place, which only reporters of JavaScript send."""
        lines = "\n".join(map(neutral, self._failure.source)).rstrip()
        if lines:
            self._write(before)
            self._write(f"{lines}\n", "javascript")

    def _is_compared(self, trace: str) -> bool:
        """Two values differ, and the trace does not say it in the same words."""
        failure = self._failure
        left, differs, right = "".join(failure.difference).partition(" != ")
        if differs and f"assert {left} == {right}" in trace:
            return False
        return bool(failure.difference) or failure.expected is not None or failure.actual is not None

    def _write_raise(self, part: Raise) -> None:
        frames = part.frames
        at = max((n for n, frame in enumerate(frames) if self._is_user(frame)), default=len(frames) - 1)
        if at and frames[0].is_whole:
            self._write_frame(frames[0])
            self._write("\n")
        self._write_frame(frames[at])
        for line in without_advice(self._raised(part)):
            self._write(f"{line}\n", _tone_of_raised(line))
        place = Place(frames[0].file, frames[0].line)
        if len(frames) > 1:
            self._write("\n")
            self._write_way(frames)
        elif place != self._failure.place or not self._cause.one_place:  # the headline has it
            self._write("\n  ")
            self._write_place(place)
            self._write("\n")
        if part.link:
            self._write(f"\n{part.link}\n\n", "quiet")

    def _write_frame(self, frame: Frame) -> None:
        values = [value for value in frame.values if not _HOLLOW.fullmatch(value)]
        for value in values:
            self._write(f"{value}\n", "quiet")
        if values:
            self._write("\n")
        if frame.source:
            self._write("\n".join(frame.source) + "\n", "source")

    def _raised(self, part: Raise) -> tuple[str, ...]:
        """pytest's own comparison goes where ours is: the first lines and the values of names stay."""
        lines = part.raised
        if not self._failure.difference or part.link:
            return lines
        end = next((at for at, line in enumerate(lines) if at and not line[1:].strip()), len(lines))
        return (*lines[:end], *(line for line in lines[end:] if where_line(line[1:])))

    def _is_user(self, frame: Frame) -> bool:
        """A frame of the project: on the way that the failure has, or else by its path."""
        place = Place(frame.file, frame.line)
        known = {step for part in self._failure.calls for step in part.places}
        if place == self._failure.place or place in known:
            return True
        return (
            not known and not frame.file.startswith(("/", "<frozen ")) and "site-packages" not in frame.file
        )

    def _write_way(self, frames: Sequence[Frame]) -> None:
        left = len(frames) - _FRAMES_HEAD - _FRAMES_TAIL
        if left > 1:
            self._write_steps(frames[:_FRAMES_HEAD])
            self._write(f"    … {left} calls …\n", "quiet")
            frames = frames[-_FRAMES_TAIL:]
        self._write_steps(frames)

    def _write_steps(self, frames: Sequence[Frame]) -> None:
        at = 0
        while at < len(frames):
            length = 0
            while at + length < len(frames) and not self._is_user(frames[at + length]):
                length += 1
            if length > _LIBRARY_RUN:
                self._write(f"    … {length - 1} calls in libraries …\n", "quiet")
                at += length - 1
            self._write_step(frames[at])
            at += 1

    def _write_step(self, frame: Frame) -> None:
        function = f" in {frame.title}" if frame.title else ""
        if self._is_user(frame):
            self._write("  ")
            self._write_place(Place(frame.file, frame.line))
            self._write(f"{function}: {frame.statement}\n")
        else:
            file = "/".join(frame.file.split("/")[-_LIBRARY_PATH:])
            self._write(f"  {file}:{frame.line}{function}: {frame.statement}\n", "quiet")

    def _write_place(self, place: Place) -> None:
        self._write(neutral(str(place)), "place", place_url(place, self._result, self._first.test))

    def _write_details(self) -> None:
        """What the trace does not say: notes, local variables, causes of a trace without a chain."""
        trace = self._first.traceback
        for note in self._failure.notes:
            shown = neutral_block(note).strip("\n")
            if not shown.startswith(_DEBUG) and not all(line.strip() in trace for line in shown.split("\n")):
                self._write("".join(f"  {line}\n" for line in shown.split("\n")))
        for variable in self._failure.locals:
            self._write(f"  {neutral(variable)}\n", "quiet")
        for cause in self._failure.causes:
            if neutral_block(cause.message).strip().split("\n")[0] not in trace:
                where = f" at {neutral(str(cause.place))}" if cause.place else ""
                self._write(f"  caused by{where}: {neutral_block(cause.message).strip()}\n")


def _without_values(message: str, failure: Failure) -> str:
    """The message without the two values that stand below it."""
    values = [value.strip() for value in (failure.expected, failure.actual) if value and value.strip()]
    if len(values) < 2 or not all(value in message for value in values):
        return message
    return message[: min(map(message.index, values))].rstrip(": \n'\"`") or message


def _without_comparison(trace: str, message: str) -> str:
    """Without the difference as the tool shows it: below the message, or above a JavaScript stack."""
    lines = trace.split("\n")
    stack = next((at for at, line in enumerate(lines) if re.match(r"\s+at ", line)), None)
    if stack is not None:
        return "\n".join(lines[stack:])
    first = message.split("\n", 1)[0].strip()
    end = next((at for at, line in enumerate(lines) if first and line.strip() == first), len(lines) - 1)
    return "\n".join(lines[: end + 1])


def _tone_of_raised(line: str) -> Tone:
    """pytest's own differences have colours, too."""
    found = None if where_line(line[1:]) else _DIFFERENCE.match(line)
    return _SIGNS[found[1]] if found else "bad"


def _write_text(text: str, write: Writer, message: str = "") -> None:
    """A text that is not taken apart: what was raised in red, frames of libraries dimmed."""
    raised = set(message.split("\n")) - {""}
    for line in text.split("\n"):
        tone: Tone = "bad" if line in raised else "quiet" if _LIBRARY_LINE.match(line) else ""
        if line.startswith("E  "):
            tone = _tone_of_raised(line)
        write(f"{line}\n", tone)


def _rerun(cause: Cause, result: RunResult) -> str:
    return rerun(result, (o.finished.part_of or o.test for o in cause.occurrences if o.finished))


def _debug(cause: Cause) -> list[str]:
    notes = cause.first.failure.notes
    return [neutral(note.removeprefix(_DEBUG)) for note in notes if note.startswith(_DEBUG)]


def _cut(text: str) -> str:
    """A long one keeps its beginning and its end, which say who called and what broke."""
    folded = _HARNESS.sub(
        lambda frames: f"  ... {len(frames[0].splitlines())} frames of pytest ...\n", neutral_block(text)
    )
    lines = folded.rstrip().split("\n")
    cut = len(lines) - _TRACE_HEAD - _TRACE_TAIL
    if cut > 1:
        lines[_TRACE_HEAD:-_TRACE_TAIL] = [f"... {cut} lines left out ..."]
    return "\n".join(lines)


def captured_texts(phase: Phase) -> Iterator[tuple[str, str]]:
    """(stdout, stderr or log; the text as it came) of each kind of output that a phase has."""
    texts = [(name, captured_text(phase, name)) for name in ("stdout", "stderr")]
    texts.append(("log", "\n".join(map(log_line, phase.log))))
    yield from ((name, text) for name, text in texts if text.strip())


def _write_captured(phase: Phase, whose: str, write: Writer) -> None:
    for name, text in captured_texts(phase):
        shown = neutral_block(text).rstrip().splitlines()
        cut = f" (last {_OUTPUT_LINES} of {len(shown)} lines)" if len(shown) > _OUTPUT_LINES else ""
        write(f"  {name} of {phase.when}{whose}:{cut}\n", "quiet")
        for line in shown[-_OUTPUT_LINES:]:
            write(f"    {line}\n")

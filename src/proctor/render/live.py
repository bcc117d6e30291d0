"""The terminal while a run is in progress: a bar, the counts, what is running. Imports rich: load it late."""

from __future__ import annotations

import msgspec
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.control import Control
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import ControlType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from proctor.durations import clock
from proctor.events import Entry, RunFinished, RunStopped, TestFinished
from proctor.outcome import INTERRUPTING, RunOutcome
from proctor.render.failure_report import FailureLine, failure_line
from proctor.render.human import write_report
from proctor.render.line_per_test import write_test_line
from proctor.render.links import base_directory, file_url
from proctor.render.neutral import neutral
from proctor.render.progress import Progress, progress, session_line
from proctor.render.shown import USUAL, Shown
from proctor.render.terminal_writer import STYLES, TerminalWriter
from proctor.render.verdict_line import counts
from proctor.result import RunResult

_REDRAW = 0.1  # seconds between two pictures
_RUNNING = 4  # tests shown as running
_LONG = 1.0  # seconds after which a test is shown as running
_BAR = (8, 30)  # columns of the bar, at least and at most
_SPARE = 2  # columns at the end of a line, where the terminal itself writes ^C
_NARROW = 10  # columns of a terminal that has none to spare
_LABEL = (14, 24)  # columns of the name of a suite: at most this on a narrow terminal, and on a wide one
_PARAMETERS = 10  # columns that are enough to tell parameters apart
_BETWEEN = "  "  # two facts
_INDENT = "    "  # before the second line of a failure
_TROUBLE = ("failed", "error", "errors", "crashed", "timed out")
_ENDING = {
    RunOutcome.INTERRUPTED: INTERRUPTING,
    RunOutcome.TIMEOUT: "time limit reached, stopping…",
    RunOutcome.CANCELLED: "cancelling…",
}


class LiveTerminal:
    """A sink. Redraws when it is ticked, so it has no thread and no clock of its own."""

    name = "the terminal"

    def __init__(self, console: Console, shown: Shown = USUAL, links: bool = False) -> None:
        self._console, self._shown, self._links = console, shown, links
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._drawn = -1.0
        self._total = 0  # of the tests, as it was shown last
        self._widths: list[int] = []  # of the lines of the picture
        self._write = TerminalWriter(console, self._mend, links)

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        if entry.seq == 0:
            self._live.start()
        elif self._shown.whole and isinstance(entry.event, TestFinished):
            self._drawn = -1.0  # the picture is not true any more
            write_test_line(entry.event, self._write, so_far.suites[entry.suite])
        elif not self._shown.quiet and (line := failure_line(entry.event, so_far.suites[entry.suite])):
            self._drawn = -1.0  # the picture is not true any more
            self._mend()
            base = base_directory(so_far.suites[entry.suite]) if self._links else ""
            self._print(failure_text(line, self._console.width, base))
        elif not self._shown.quiet and (begun := session_line(entry.event)):
            self._drawn = -1.0
            self._mend()
            self._print(Text(begun, STYLES["quiet"]))
        elif isinstance(entry.event, RunStopped):
            self._draw(entry.at, so_far)
        elif isinstance(entry.event, RunFinished):
            self._mend()
            self._live.stop()
            write_report(so_far, self._write, self._shown)

    def tick(self, now: float, so_far: RunResult) -> None:
        if so_far.outcome is RunOutcome.RUNNING and now - self._drawn >= _REDRAW:
            self._draw(now, so_far)

    def close(self) -> None:
        """Give the cursor back, whatever happened."""
        self._live.stop()

    def _draw(self, now: float, so_far: RunResult) -> None:
        self._drawn = now
        self._mend()
        at = progress(so_far, self._total)
        self._total = at.total
        shown = picture(so_far, at, now, self._console.width)
        lines = self._console.render_lines(shown, pad=False)
        self._widths = [cell_len("".join(part.text for part in line)) for line in lines]
        self._live.update(shown, refresh=True)

    def _mend(self) -> None:
        """A terminal that has become narrower has broken the picture's lines, and rich does not know it."""
        width = max(1, self._console.width)
        broken = sum((size - 1) // width for size in self._widths if size)
        self._widths = []
        if broken:
            step = [(ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1)]
            self._console.control(Control(*step * broken))

    def _print(self, text: Text) -> None:
        self._console.print(text, soft_wrap=True)


def failure_text(line: FailureLine, width: int, cwd: str = "") -> Text:
    """A failure on one line, or on two if it needs them; with links to its place if `cwd` is given.

    A name that is too long is shortened: the report has all of it.
    """
    place = neutral(str(line.place)) if line.place else ""
    where = f" at {place}" if place else ""
    head = _columns(f"{line.word} {line.what}")
    one_line = head + _columns(f"{where}: {line.message}") <= width
    beside = head + _columns(where) <= width  # the place is on the first line
    link = Style(link=file_url(line.place.file, cwd)) if line.place and cwd else Style()
    text = Text.assemble(
        (line.word, "bold red"),
        " ",
        (_shortened(line.what, max(1, width - _columns(line.word) - 1)), Style(bold=True) + link),
    )
    second = Text() if one_line else Text(_INDENT)
    if place:
        (text if beside else second).append_text(
            Text.assemble(" at " if beside else "at ", (place, Style.parse(STYLES["place"]) + link))
        )
    if one_line or not beside:
        second.append(": ")
    second.append(line.message)
    if one_line:
        return text.append_text(second)
    return text.append("\n").append_text(_cut(second, width))


def picture(result: RunResult, at: Progress, now: float, width: int) -> RenderableType:
    """What the terminal shows at this moment, none of its lines wider than the terminal."""
    room = width - _SPARE if width > _NARROW else width
    running = sorted(result.running.items(), key=lambda test: test[1])
    long = [(test, now - since) for test, since in running if now - since >= _LONG]
    lines = [_head(result, at, now, room)]
    if result.stopped is not None:
        lines.append(_line(_ENDING.get(result.stopped, "stopping…"), room, "bold yellow"))
    elif result.waiting:
        lines.append(_line(neutral(result.waiting), room, "bold yellow"))
    lines += [_running(test, seconds, room) for test, seconds in long[:_RUNNING]]
    if len(long) > _RUNNING:
        lines.append(_line(f"  and {len(long) - _RUNNING} more", room))
    return Group(*lines)


class _Fact(msgspec.Struct, frozen=True):
    """Something that the first line says. The higher the rank, the sooner it gives way."""

    text: str
    style: str
    rank: int


def _head(result: RunResult, at: Progress, now: float, width: int) -> RenderableType:
    """The bar and as many facts as there is room for. How many failed is worth more than the bar."""
    facts = _facts(result, at, now, min(_LABEL[1], max(_LABEL[0], width // 5)))
    vital = [fact for fact in facts if not fact.rank]
    beside_bar = width - _BAR[0] - 1
    room = beside_bar if _size(vital) <= beside_bar else width
    while len(facts) > len(vital) and _size(facts) > room:
        facts.remove(max(facts, key=lambda fact: fact.rank))
    text = Text(_BETWEEN).join(Text(fact.text, fact.style, no_wrap=True) for fact in facts)
    bar = min(_BAR[1], max(_BAR[0], width // 4), width - _size(facts) - 1)
    if bar < _BAR[0]:
        return _cut(text, width)
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_row(_bar(result, at, now, bar), text)
    return row


def _bar(result: RunResult, at: Progress, now: float, width: int) -> ProgressBar:
    """It moves to and fro while nobody knows how many tests there are."""
    style = "red" if any(count.endswith(_TROUBLE) for count in counts(result)) else "green"
    return ProgressBar(
        total=max(1, at.total) if at.complete else None,
        completed=at.done,
        width=width,
        animation_time=now,
        complete_style=style,
        finished_style=style,
        pulse_style=style,
    )


def _facts(result: RunResult, at: Progress, now: float, label: int) -> list[_Fact]:
    """In the order in which they are shown."""
    facts = [_Fact(at.text, "dim" if at.doing else "bold", 0)]
    for count in counts(result):
        if count.endswith(_TROUBLE):
            facts.append(_Fact(count, "bold red", 0))
        elif count.endswith(" passed"):
            facts.append(_Fact(count, "green", 1))
        else:
            facts.append(_Fact(count, "yellow", 5))
    if at.suite:
        facts.append(_Fact(_ending(at.suite, label), "cyan", 3))
    facts.append(_Fact(clock(now), "dim", 2))
    if (left := _seconds_left(result, at, now)) >= 1:
        facts.append(_Fact(f"~{clock(left)} left", "dim", 4))
    return facts


def _seconds_left(result: RunResult, at: Progress, now: float) -> float:
    """As long for each test as the tests before it took; nothing where that cannot be told."""
    known = at.complete and at.done and result.stopped is None
    return now / at.done * at.left if known else 0.0


def _size(facts: list[_Fact]) -> int:
    return _columns(_BETWEEN.join(fact.text for fact in facts))


def _running(test: str, seconds: float, width: int) -> Text:
    before = f"  {clock(seconds)} "
    return _line(before + _shortened(neutral(test), max(1, width - _columns(before))), width)


def _columns(text: str) -> int:
    """Columns that the text may take. Terminals disagree on characters that are joined: the most counts."""
    return max(cell_len(text), sum(map(cell_len, text)))


def _shortened(name: str, width: int) -> str:
    """A long name keeps its end, which identifies the test; parameters give way first."""
    test, bracket, parameters = name.partition("[")
    if bracket and _columns(test) + _PARAMETERS <= width:
        return f"{test}[{_ending(parameters, width - _columns(test) - 1)}"
    return _ending(name, width)


def _ending(text: str, width: int) -> str:
    if _columns(text) <= width:
        return text
    text = text[-width:]
    while text and _columns(text) > width - 1:
        text = text[1:]
    return f"…{text}"


def _line(text: str, width: int, style: str = "dim") -> Text:
    return _cut(Text(text, style=style), width)


def _cut(text: Text, width: int) -> Text:
    """On one line of so many columns."""
    text.no_wrap, text.overflow = True, "ellipsis"
    kept = len(text.plain)
    while _columns(text.plain[:kept]) > width:
        kept -= 1
    if kept < len(text.plain):
        while kept and _columns(text.plain[:kept]) > width - 1:
            kept -= 1
        text = text[:kept].append("…")
    text.no_wrap = True
    return text

"""The terminal while a run is under way: a bar, the counts, what is running. Imports rich: load it late."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.control import Control
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import ControlType
from rich.table import Table
from rich.text import Text

from proctor.durations import clock
from proctor.events import Entry, RunFinished
from proctor.outcome import RunOutcome
from proctor.render.failure_report import headline
from proctor.render.human import write_report
from proctor.render.neutral import neutral
from proctor.render.shown import USUAL, Shown
from proctor.render.terminal_writer import TerminalWriter
from proctor.render.verdict_line import counts
from proctor.result import RunResult

_REDRAW = 0.1  # seconds between two pictures
_RUNNING = 4  # tests shown as running
_BAR = (8, 30)  # columns of the bar, at least and at most
_TROUBLE = ("failed", "error", "errors", "crashed", "timed out")


class LiveTerminal:
    """A sink. Redraws when it is ticked, so it has no thread and no clock of its own."""

    name = "the terminal"

    def __init__(self, console: Console, shown: Shown = USUAL) -> None:
        self._console, self._shown = console, shown
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._drawn = -1.0
        self._widths: list[int] = []  # of the lines of the picture
        self._write = TerminalWriter(console, self._mend)

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        if entry.seq == 0:
            self._live.start()
        elif line := headline(entry.event):
            self._write(f"{line}\n", "bad")
        elif isinstance(entry.event, RunFinished):
            self._mend()
            self._live.stop()
            write_report(so_far, self._write, self._shown)

    def tick(self, now: float, so_far: RunResult) -> None:
        if so_far.outcome is RunOutcome.RUNNING and now - self._drawn >= _REDRAW:
            self._drawn = now
            self._mend()
            shown = picture(so_far, now, self._console.width)
            lines = self._console.render_lines(shown, pad=False)
            self._widths = [cell_len("".join(part.text for part in line)) for line in lines]
            self._live.update(shown, refresh=True)

    def close(self) -> None:
        """Give the cursor back, whatever happened."""
        self._live.stop()

    def _mend(self) -> None:
        """A terminal that has become narrower has broken the picture's lines, and rich does not know it."""
        width = max(1, self._console.width)
        broken = sum((size - 1) // width for size in self._widths if size)
        self._widths = []
        if broken:
            step = [(ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1)]
            self._console.control(Control(*step * broken))


def picture(result: RunResult, now: float, width: int) -> RenderableType:
    """What the terminal shows at this moment, none of its lines wider than the terminal."""
    running = sorted(result.running.items(), key=lambda test: test[1])
    long = [(test, now - since) for test, since in running if now - since >= 1]
    lines = [_running(test, seconds, width) for test, seconds in long[:_RUNNING]]
    if len(long) > _RUNNING:
        lines.append(_line(f"  and {len(long) - _RUNNING} more", width))
    return Group(_head(result, now, width), *lines)


def _head(result: RunResult, now: float, width: int) -> RenderableType:
    """The bar and as many facts as there is room for. How many failed is worth more than the bar."""
    vital, others = _facts(result, now)
    beside_bar = width - _BAR[0] - 1
    room = beside_bar if cell_len(" ".join(vital)) <= beside_bar else width
    while others and cell_len(" ".join([*vital, *others])) > room:
        others.pop()
    text = " ".join([*vital, *others])
    bar = min(_BAR[1], width - cell_len(text) - 1)
    if bar < _BAR[0]:
        return _line(text, width)
    total = None if result.expected is None else max(1, result.expected)
    shown = ProgressBar(total=total, completed=result.done, width=bar, animation_time=now)
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_row(shown, Text(text, no_wrap=True))
    return row


def _facts(result: RunResult, now: float) -> tuple[list[str], list[str]]:
    """The facts that are always shown, and those that are shown if there is room, most important first."""
    total, done = result.expected, result.done
    if total is None:
        return [result.collecting], [clock(now)]
    left = (now / done) * (total - done) if done else 0.0
    times = [clock(now), f"~{clock(left)} left"] if left >= 1 else [clock(now)]
    bad = [count for count in counts(result) if count.endswith(_TROUBLE)]
    return [f"{done}/{total}", *bad], [*times, *(count for count in counts(result) if count not in bad)]


def _running(test: str, seconds: float, width: int) -> Text:
    """A long name keeps its end, which identifies the test."""
    name, before = neutral(test), f"  {clock(seconds)} "
    room = max(1, width - cell_len(before))
    if cell_len(name) > room:
        name = name[-room:]
        while name and cell_len(name) > room - 1:
            name = name[1:]
        name = f"…{name}"
    return _line(before + name, width)


def _line(text: str, width: int) -> Text:
    line = Text(text, style="dim", no_wrap=True, overflow="ellipsis")
    line.truncate(width)
    return line

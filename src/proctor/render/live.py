"""The terminal while a run is under way: a bar, the counts, what is running. Imports rich: load it late."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from proctor.events import CollectionFailed, Entry, RunFinished, TestFinished
from proctor.outcome import BAD, RunOutcome
from proctor.render.human import headline, report
from proctor.render.neutral import neutral
from proctor.render.verdict_line import counts
from proctor.result import Result

_REDRAW = 0.1  # seconds between two pictures
_RUNNING = 4  # tests shown as running


class LiveTerminal:
    """A sink. Redraws when it is ticked, so it has no thread and no clock of its own."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._drawn = -1.0

    def handle(self, entry: Entry, so_far: Result) -> None:
        event = entry.event
        if entry.seq == 0:
            self._live.start()
        elif isinstance(event, TestFinished) and event.outcome in BAD:
            self._print(headline(event), "red")
        elif isinstance(event, CollectionFailed):
            self._print(f"ERROR {event.file}", "red")
        elif isinstance(event, RunFinished):
            self._live.stop()
            style = "green" if so_far.outcome is RunOutcome.PASSED else "bold red"
            *body, verdict = report(so_far).rstrip("\n").split("\n")
            for line in body:
                self._print(line, "red" if line.startswith(("--- ", "E  ")) else "")
            self._print(verdict, style)

    def tick(self, now: float, so_far: Result) -> None:
        if so_far.outcome is RunOutcome.RUNNING and now - self._drawn >= _REDRAW:
            self._drawn = now
            self._live.update(picture(so_far, now), refresh=True)

    def close(self) -> None:
        """Give the cursor back, whatever happened."""
        self._live.stop()

    def _print(self, line: str, style: str) -> None:
        self._console.print(Text(line, style=style), soft_wrap=True)


def picture(result: Result, now: float) -> RenderableType:
    """What the terminal shows at this moment."""
    done, total = len(result.tests), result.count
    line = Table.grid(padding=(0, 1))
    if total is None:
        line.add_row(ProgressBar(total=None, width=20, animation_time=now), Text("collecting"))
    else:
        bar = ProgressBar(total=max(1, total), completed=done, width=20)
        left = (now / done) * (total - done) if done else 0.0
        eta = f"~{left:.0f}s left" if done and left >= 1 else ""
        line.add_row(bar, Text(f"{done}/{total}"), Text(" ".join(counts(result))), Text(f"{now:.0f}s {eta}"))
    running = [
        Text(f"  {now - since:.0f}s {neutral(test)}", style="dim", no_wrap=True, overflow="ellipsis")
        for test, since in list(result.running.items())[:_RUNNING]
        if now - since >= 1
    ]
    return Group(line, *running)

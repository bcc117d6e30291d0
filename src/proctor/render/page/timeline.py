"""When each process and worker was busy: collected from the events of a run, drawn as SVG.

However many tests there are, a lane is a few paths: what lies closer together than a pixel is drawn as one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from markupsafe import Markup

from proctor.durations import brief
from proctor.events import Entry, Event, SessionStarted, TestFinished
from proctor.outcome import BAD
from proctor.render.page.markup import html
from proctor.result import RunResult

UNITS = 1000  # in the width of the drawing
_LANES = 48
_NAMED = 100  # failures of a lane that say which test they are; others are only drawn
_HEIGHT = 40  # of a lane, with its name above it
_TICKS = 5


class Lane(msgspec.Struct):
    """One process, or one worker of it, whose tests ran one after the other."""

    ends: array[float]
    seconds: array[float]
    bad: list[tuple[int, str]] = []  # which of them failed
    restarts: list[float] = []


class Timeline:
    """A sink: it keeps two numbers for each test."""

    name = "the timeline"

    def __init__(self) -> None:
        self.lanes: dict[tuple[int, str], Lane] = {}

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        self._take(entry.event, entry.at, entry.suite)

    def handle_all(self, first: Entry, events: Sequence[Event], so_far: RunResult) -> None:
        for event in events:
            self._take(event, first.at, first.suite)

    def tick(self, now: float, so_far: RunResult) -> None:
        pass

    def _take(self, event: Event, at: float, suite: int) -> None:
        if isinstance(event, TestFinished):
            if not event.part_of:
                lane = self._lane(suite, event.worker)
                if event.outcome in BAD:
                    lane.bad.append((len(lane.ends), event.test))
                lane.ends.append(at)
                lane.seconds.append(max(0.0, event.seconds))
        elif isinstance(event, SessionStarted):
            self._lane(suite, "").restarts.append(at)

    def _lane(self, suite: int, worker: str) -> Lane:
        key = suite, worker
        if key not in self.lanes:
            self.lanes[key] = Lane(array("d"), array("d"))
        return self.lanes[key]


class _Drawn(msgspec.Struct):
    """A lane in seconds since the start of the run."""

    name: str
    tests: int
    begin: float
    end: float
    busy: list[tuple[float, float]]
    bad: list[tuple[float, float, str]]
    restarts: list[float]

    @property
    def share(self) -> float:
        whole = self.end - self.begin
        return min(1.0, sum(end - start for start, end in self.busy) / whole) if whole > 0 else 1.0

    @property
    def label(self) -> str:
        tests = f"{self.tests} test{'s' * (self.tests != 1)}"
        restarts = f", {len(self.restarts)} more session{'s' * (len(self.restarts) != 1)}"
        failed = f", {len(self.bad)} failed" if self.bad else ""
        return f"{self.name}: {tests}{failed}, busy {self.share:.0%}{restarts if self.restarts else ''}"


def draw(timeline: Timeline, result: RunResult) -> Markup:
    """The drawing; empty where the record does not say when tests ran."""
    if result.run.retold or not timeline.lanes:
        return Markup()
    whole = max(result.seconds, *(end for lane in timeline.lanes.values() for end in lane.ends[-1:]), 0.0)
    lanes = [lane for lane in _lanes(timeline, result, whole) if lane.tests]
    if not lanes or whole <= 0 or any(lane.busy and lane.busy[0][0] < -whole / 10 for lane in lanes):
        return Markup()
    left_out = len(lanes) - _LANES
    return Markup("".join(_svg(lanes[:_LANES], whole, left_out)))


def _lanes(timeline: Timeline, result: RunResult, whole: float) -> Iterator[_Drawn]:
    for (number, worker), lane in timeline.lanes.items():
        if number >= len(result.suites):
            continue
        suite = result.suites[number]
        spans = list(_spans(lane))
        bad = [(*spans[at], test) for at, test in lane.bad]
        own = timeline.lanes.get((number, ""))
        restarts = lane.restarts or (own.restarts if own else [])
        begin = min([suite.started, *(start for start, _ in spans)])
        end = max([suite.started + suite.seconds, *lane.ends[-1:]])
        name = f"{suite.name} {worker}" if worker else suite.name
        joined = list(_joined(sorted(spans), whole / UNITS))
        yield _Drawn(name, len(spans), begin, min(end, whole), joined, bad, restarts)


def _spans(lane: Lane) -> Iterator[tuple[float, float]]:
    """When each test ran. Tests whose ends arrived together ran one before the other."""
    found: list[tuple[float, float]] = []
    at, before = -1.0, 0.0
    for end, seconds in zip(reversed(lane.ends), reversed(lane.seconds), strict=True):
        last = before if end == at else end
        at, before = end, last - seconds
        found.append((before, last))
    return reversed(found)


def _joined(spans: Iterable[tuple[float, float]], least: float) -> Iterator[tuple[float, float]]:
    """The same time in few pieces: gaps of less than `least` are closed."""
    start, end = 0.0, None
    for first, last in spans:
        if end is None:
            start, end = first, last
        elif first - end < least:
            end = max(end, last)
        else:
            yield start, end
            start, end = first, last
    if end is not None:
        yield start, end


def _svg(lanes: Sequence[_Drawn], whole: float, left_out: int) -> Iterator[str]:
    height = len(lanes) * _HEIGHT + 20
    yield f'<svg id="timeline" width="100%" height="{height}" role="img" aria-labelledby="timeline-title">'
    yield f'<title id="timeline-title">{html(_described(lanes, left_out))}</title>'
    for number, lane in enumerate(lanes):
        top = number * _HEIGHT
        yield f'<text x="0" y="{top + 13}">{html(lane.label)}</text>'
        yield f'<svg x="0" y="{top + 18}" width="100%" height="16" viewBox="0 0 {UNITS} 16"'
        yield ' preserveAspectRatio="none">'
        yield from _drawn(lane, UNITS / whole)
        yield "</svg>"
    for tick in range(_TICKS):
        share = tick / (_TICKS - 1)
        anchor = "start" if not tick else "end" if tick == _TICKS - 1 else "middle"
        yield f'<text class="tick" x="{share:.0%}" y="{height - 4}" text-anchor="{anchor}">'
        yield f"{brief(whole * share) if tick else '0s'}</text>"
    yield "</svg>"


def _described(lanes: Sequence[_Drawn], left_out: int) -> str:
    more = f"; {left_out} more are not drawn" if left_out > 0 else ""
    return "When each process or worker was busy. " + "; ".join(lane.label for lane in lanes[:8]) + more


def _drawn(lane: _Drawn, scale: float) -> Iterator[str]:
    start, width = _box(lane.begin, lane.end, scale)
    yield f'<rect class="idle" x="{start}" y="6" width="{width}" height="4"/>'
    yield f'<path class="busy" d="{_path(lane.busy, scale, 3, 10)}"/>'
    if rest := lane.bad[_NAMED:]:
        pieces = _joined(sorted((start, end) for start, end, _ in rest), 1 / scale)
        yield f'<path class="bad" d="{_path(pieces, scale, 0, 16)}"/>'
    for begin, end, test in lane.bad[:_NAMED]:
        drawn_from = min(begin, end - 3 / scale)  # not beyond its end, where another session can begin
        start, width = _box(drawn_from, end, scale, 3)
        yield f'<rect class="bad" x="{start}" y="0" width="{width}" height="16">'
        yield f"<title>{html(test)}: failed after {brief(end - begin)}</title></rect>"
    for at in lane.restarts[:_NAMED]:
        start, _ = _box(at, at, scale)
        yield f'<rect class="restart" x="{start}" y="0" width="2" height="16">'
        yield f"<title>another session begins at {brief(at)}</title></rect>"


def _box(begin: float, end: float, scale: float, least: float = 1) -> tuple[float, float]:
    width = max(least, (end - begin) * scale)
    start = min(max(0.0, begin * scale), UNITS - least)
    return round(start, 1), round(min(width, UNITS - start), 1)


def _path(spans: Iterable[tuple[float, float]], scale: float, top: int, height: int) -> str:
    boxes = (_box(begin, end, scale) for begin, end in spans)
    return "".join(f"M{x:g} {top}h{width:g}v{height}h-{width:g}z" for x, width in boxes)

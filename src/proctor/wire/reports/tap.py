"""TAP 12 to 14 as events. A test is a point of the outermost level, and its subtests are its parts: one that
failed fails the test, even if its point is ok. A point that node marks as a suite is no test; its parts are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

import msgspec

from proctor import events as e
from proctor.outcome import BAD, Outcome
from proctor.result import Excerpt
from proctor.text import text_of
from proctor.wire.reports import diagnostics, node
from proctor.wire.reports import perl_comments as test_more
from proctor.wire.reports.report import COLLECTION_ERROR, LineReport, finished, refined, scope, seconds_of

MAX_DEPTH = 50

_POINT = re.compile(r"(not )?ok(?=[ \t#]|$)[ \t]*([0-9]{1,9}(?=[ \t#]|$))?[ \t]*(?:-(?=[ \t]|$)[ \t]*)?(.*)")
_PLAN = re.compile(r"1\.\.([0-9]{1,9})[ \t]*(?:#[ \t]*(.*))?")
_BAIL = re.compile(r"Bail out![ \t]*(.*)")
_OTHER = re.compile(r"TAP version [0-9]+|pragma [+-].*|#.*")
_DIRECTIVE = re.compile(r"\\.|#[ \t]*(skip|todo)(?![a-z0-9])[ \t:]*", re.I)  # or something escaped
_TIME = re.compile(r"(?<!\\)# ?time=([0-9.]{1,20})(ms|s)?")
_AT = re.compile(r"(.+?):([0-9]+)(?::[0-9]+)?")
_SUBTEST = "# Subtest: "


class Point(msgspec.Struct):
    ok: bool
    name: str
    directive: str = ""
    reason: str = ""
    seconds: float = 0.0
    depth: int = 0
    opened: bool = False  # a brace ends its line
    yaml: Excerpt = msgspec.field(default_factory=Excerpt)
    comments: Excerpt = msgspec.field(default_factory=Excerpt)
    parts: Level | None = None

    def values(self) -> dict[str, str]:
        return diagnostics.read(self.yaml.text())

    def outcome(self) -> Outcome:
        if self.directive == "skip":
            return Outcome.SKIPPED
        if self.directive == "todo":
            return Outcome.XPASSED if self.ok else Outcome.XFAILED
        return Outcome.PASSED if self.ok else Outcome.FAILED


class Level(msgspec.Struct):
    """The points of one indentation, and what they add up to."""

    points: list[Point] = []
    count: int = 0  # of all points, also of those that are no longer held
    highest: int = 0
    plan: int | None = None
    plans: int = 0

    def gap(self, nested: bool = True) -> str:
        """What does not add up. Subtests need no plan: their point ends them."""
        if self.plan is None:
            return "" if nested else "there is no plan"
        if self.plans > 1:
            return f"there are {self.plans} plans"
        if self.count != self.plan:
            return f"{self.count} of {self.plan} planned tests were reported"
        return f"test {self.highest} is not in the plan" if self.highest > self.plan else ""


class TapReader(LineReport):
    format = "tap"

    def __init__(self) -> None:
        super().__init__()
        self._levels = [Level()]
        self._point: Point | None = None  # the newest: its diagnostics may follow
        self._block: str | None = None  # the indentation of the YAML that is being read
        self._open: list[Point] = []  # whose subtests follow in braces
        self._headed = 0  # how deep a heading lets subtests be; without one, one deeper than anything yet
        self._bailed = False
        self._planned = 0
        self._announced: int | None = None

    def _line(self, line: bytes) -> Iterable[e.Event]:
        text = text_of(line)
        if self._block is not None and self._point is not None:
            return self._diagnostic(text, self._block, self._point)
        body = text.lstrip(" ")
        indent = len(text) - len(body)
        body = body.rstrip()
        if self._point is not None and body == "---" and indent > 4 * self._point.depth:
            self._block = " " * indent
            return ()
        if body == "}" and self._open and indent == 4 * self._open[-1].depth:
            point, self._point = self._open.pop(), None
            point.parts = self._taken(point.depth)
            return ()
        depth, odd = divmod(indent, 4)
        known = not odd and any(kind.fullmatch(body) for kind in (_POINT, _PLAN, _BAIL, _OTHER))
        if known and depth <= min(MAX_DEPTH, max(len(self._levels), self._headed)):
            return self._tap_line(body, depth)
        return self._output(text)

    def _diagnostic(self, text: str, indent: str, point: Point) -> Iterable[e.Event]:
        if text.rstrip() == indent + "...":
            self._block = None
        else:
            point.yaml.add(text.removeprefix(indent) + "\n")
        return ()

    def _tap_line(self, body: str, depth: int) -> Iterator[e.Event]:
        if body.startswith("#"):
            self._comment(body, depth)
            return
        if bail := _BAIL.fullmatch(body):
            self._bailed = True
            yield e.SessionInterrupted(e.Failure("Bail out!", bail[1] or "Bail out!"))
            return
        if body.startswith("TAP version") and depth == 0 and self._levels[0].plan is not None:
            yield from self._stream_ended()  # another one follows
        while len(self._levels) <= depth:
            self._levels.append(Level())
        level = self._levels[depth]
        if plan := _PLAN.fullmatch(body):
            level.plan, level.plans = int(plan[1]), level.plans + 1
            if depth == 0:
                yield from self._plan(level, plan[2] or "")
        elif found := _POINT.fullmatch(body):
            yield from self._new_point(found, depth, level)

    def _plan(self, level: Level, reason: str) -> Iterator[e.Event]:
        if level.plan == 0 and reason:
            yield e.Noticed(f"tap: all tests were skipped: {reason}")
        elif level.plan and level.count == 0 and self._announced is None:
            self._announced = level.plan
            yield e.SuiteStarted("tap", "", level.plan)

    def _comment(self, body: str, depth: int) -> None:
        """A comment after a failure explains it, unless it is the heading of a subtest."""
        if body.startswith(_SUBTEST):
            self._point, self._headed = None, depth + 1
        elif self._point is not None and not self._point.ok and self._point.depth == depth:
            self._point.comments.add(body.removeprefix("#").removeprefix(" ") + "\n")

    # Points

    def _new_point(self, found: re.Match[str], depth: int, level: Level) -> Iterator[e.Event]:
        point = _point(not found[1], found[3], depth, level.count + 1)
        self._never_closed(depth)
        point.parts = self._taken(depth)
        if depth == 0:
            yield from self._flushed()
        level.count += 1
        level.highest = max(level.highest, int(found[2] or 0))
        level.points.append(point)
        self._point = point
        if point.opened:
            self._open.append(point)

    def _never_closed(self, depth: int) -> None:
        """An open brace without a closing one: points that followed it are its subtests; if there are none,
        it is part of the name."""
        while self._open and self._open[-1].depth >= depth:
            point = self._open.pop()
            point.parts = point.parts or self._taken(point.depth)
            if point.parts is None:
                point.name += " {"

    def _taken(self, depth: int) -> Level | None:
        """The subtests below this depth; deeper ones without a point become a failed part of these."""
        below = self._levels[depth + 1 :]
        del self._levels[depth + 1 :]
        for upper, lower in pairwise(below):
            upper.points.append(_lost(lower))
        return below[0] if below else None

    def _flushed(self) -> Iterator[e.Event]:
        points, self._levels[0].points = self._levels[0].points, []
        self._point = None
        for point in points:
            yield from self._ended(point, ())

    def _ended(self, point: Point, path: tuple[str, ...]) -> Iterator[e.Event]:
        values, name = point.values(), " > ".join([*scope(path, " > "), point.name])
        if point.parts is not None and values.get("type") == "suite":
            if gap := point.parts.gap():
                self._gaps.append(f"{name}: {gap}")
            for part in point.parts.points:
                yield from self._ended(part, (*path, point.name))
            return
        if values.get("outcome") == COLLECTION_ERROR:
            self._names.unique(name)
            failure = e.Failure(values.get("type", ""), values.get("message", ""))
            yield e.CollectionFailed(name, failure, values.get("traceback", ""))
        else:
            yield _finished(point, values, self._names.unique(name))

    # The end

    def _last(self) -> Iterator[e.Event]:
        yield from self._stream_ended()
        if self._bailed:
            self._gaps = []  # `Bail out!` explains them
        count = max(self._planned, len(self._names))
        if count != self._announced:
            yield e.SuiteStarted("tap", "", count)
        yield self._ending(None, len(self._names))

    def _stream_ended(self) -> Iterator[e.Event]:
        self._never_closed(0)
        level, lost = self._levels[0], self._taken(0)
        yield from self._flushed()
        if lost is not None:
            yield from self._ended(_lost(lost), ())
        if gap := level.gap(nested=False):
            self._gaps.append(gap)
        self._planned += level.plan or 0
        self._levels = [Level()]


def _lost(parts: Level) -> Point:
    """Stands for the point that should have followed its subtests."""
    point = Point(False, "(subtests)", parts=parts)
    point.comments.add("its subtests have no result")
    return point


def _point(ok: bool, text: str, depth: int, number: int) -> Point:
    seconds = 0.0
    opened = text.endswith(" {")
    text = text.removesuffix(" {")
    if time := _TIME.search(text):
        seconds = seconds_of(time[1]) / (1 if time[2] == "s" else 1000)
        text = text[: time.start()] + text[time.end() :]
    directive, reason = "", ""
    if found := next((found for found in _DIRECTIVE.finditer(text) if found[1]), None):
        text, directive, reason = text[: found.start()], found[1].lower(), text[found.end() :].strip()
    name = re.sub(r"\\([\\#])", r"\1", text.strip()) or f"test {number}"
    return Point(ok, name, directive, reason, seconds, depth, opened)


def _finished(point: Point, values: dict[str, str], name: str) -> e.TestFinished:
    outcome = refined(point.outcome(), values.get("outcome"))
    explained = test_more.read(point.comments.text()) if not values else None
    message = point.reason or (explained.message if explained else _message(point, values))
    phases = tuple(_phases(point.parts)) if point.parts is not None else ()
    faults = [_fault(phase) for phase in phases if phase.outcome == "failed"]
    if point.parts is not None and (gap := point.parts.gap()):
        faults.append(gap)
    if outcome in (Outcome.PASSED, Outcome.FAILED) and faults:
        outcome, message = Outcome.FAILED, "\n".join(faults)
    elif outcome is Outcome.FAILED and values.get("failureType") == node.TIMEOUT:
        outcome = Outcome.TIMEOUT
    elif outcome is Outcome.PASSED and not phases and "duration_ms" in values and node.is_file(name):
        outcome, message = Outcome.ERROR, node.SILENT
    traceback = values.get("traceback", "") or (point.yaml.text() or point.comments.text()).rstrip()
    kind = values.get("name", "") or values.get("type", "")
    failure = explained or e.Failure(kind, message, _at(values.get("at")))
    event = finished(
        name,
        outcome,
        _seconds(point, values),
        message="" if outcome is Outcome.PASSED else message,
        traceback=traceback if outcome in BAD or outcome is Outcome.XFAILED else "",
        place=_place(values.get("location")),
        failure=failure if outcome in BAD else None,
        stdout=values.get("stdout", "") or (message if outcome is Outcome.PASSED else ""),
        stderr=values.get("stderr", ""),
    )
    return msgspec.structs.replace(event, phases=event.phases + phases)


def _fault(part: e.Phase) -> str:
    return f"{part.subtest}: {part.longrepr}" if part.longrepr else f"{part.subtest} failed"


def _seconds(point: Point, values: dict[str, str]) -> float:
    return round(seconds_of(values.get("duration_ms")) / 1000, 9) or point.seconds


def _message(point: Point, values: dict[str, str]) -> str:
    return (values.get("message") or values.get("error") or point.comments.text()).strip()


def _phases(level: Level, path: tuple[str, ...] = (), excused: bool = False) -> Iterator[e.Phase]:
    """The parts of a test, and their parts. What is below a TODO or a SKIP may fail."""
    for point in level.points:
        inner, values = (*path, point.name), point.values()
        may_fail = excused or bool(point.directive)
        gap = point.parts.gap() if point.parts is not None else ""
        if point.directive == "skip" or (may_fail and not point.ok):
            word = "skipped"
        else:
            word = "passed" if point.ok and (may_fail or not gap) else "failed"
        yield e.Phase(
            "call",
            word,
            _seconds(point, values),
            subtest=" > ".join(inner),
            longrepr=gap or _message(point, values),
            reason=point.reason,
        )
        if point.parts is not None:
            yield from _phases(point.parts, inner, may_fail)


def _place(text: str | None) -> e.Place | None:
    found = _AT.fullmatch(text or "")
    return e.Place(found[1], int(found[2])) if found and len(found[2]) < 10 else None


def _at(text: str | None) -> e.Place | None:
    """node-tap's place of a failure, a mapping of its own."""
    inner = diagnostics.read(text or "")
    return _place(f"{inner['file']}:{inner['line']}") if "file" in inner and "line" in inner else None

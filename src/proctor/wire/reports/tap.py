"""TAP 12 to 14 as events. A test is a point of the outermost level, and its subtests are its parts: one that
failed fails the test, even if its point is ok. A point that node marks as a suite is no test; its parts are.

What counts as a line of TAP, and what makes a report wrong, is as in perl's `prove`; where that differs, the
reference says so.
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
from proctor.wire.reports.report import (
    COLLECTION_ERROR,
    LineReport,
    bounded,
    finished,
    refined,
    scope,
    seconds_of,
)

MAX_DEPTH = 50
_NEWEST = 14  # version of TAP

_POINT = re.compile(r"(not )?ok(?![A-Za-z0-9_])[ \t]*([0-9]+)?[ \t]*(-(?=[ \t]|$)[ \t]*)?(.*)")
_SUBTEST_POINT = re.compile(r"(?:not )?ok(?:[ \t#].*)?")  # tests print indented lines that begin with ok, too
_PLAN = re.compile(r"1\.\.([0-9]+)[ \t]*(.*)")
_PLAN_ENDS = {  # by the version of TAP
    12: re.compile(r"|todo((?:[ \t]+[0-9]+)+).*"),
    13: re.compile(r"|#[ \t]*(?i:skip)(?![A-Za-z0-9_]).*"),
    14: re.compile(r"|#.*"),
}
_PLAN_REASON = re.compile(r"#[ \t]*(.+)")
_BAIL = re.compile(r"Bail out!\s*(.*)")
_VERSION = re.compile(r"TAP\s+version\s+([0-9]+)", re.I)
_PRAGMA = re.compile(r"pragma\s+([-+]\w+\s*(?:,\s*[-+]\w+\s*)*)")
_STRICT = re.compile(r"([-+])strict\b")
_MARK = re.compile(r"\\.|#")  # or something escaped
_DIRECTIVE = re.compile(r"[ \t]*(skip|todo)(?![a-z0-9_])[ \t:]*", re.I)
_TIME = re.compile(r"(?<!\\)# ?time=([0-9.]{1,20})(ms|s)?")
_AT = re.compile(r"(.+?):([0-9]+)(?::[0-9]+)?")
_CALLED_AT = re.compile(r"(?:^|\()([^()\s]+:[0-9]+:[0-9]+)\)?\Z")
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

    @property
    def excused(self) -> bool:
        """What is below it may fail."""
        return bool(self.directive)

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
    plan_late: bool = False  # it came after the first point
    plan_inside: bool = False  # and before the last
    sequence: str = ""  # which number is wrong

    def gap(self, nested: bool = True) -> str:
        """What does not add up. Subtests need no plan: their point ends them."""
        if self.plan is None:
            return "" if nested else "there is no plan"
        if self.plans > 1:
            return f"there are {self.plans} plans"
        if self.count != self.plan:
            return f"{self.count} of {self.plan} planned tests were reported"
        if self.highest > self.plan:
            return f"test {self.highest} is not in the plan"
        return "the plan is neither before the tests nor after them" if self.plan_inside else self.sequence

    def add_plan(self, number: int) -> None:
        self.plan, self.plans, self.plan_late = number, self.plans + 1, self.count > 0

    def add(self, point: Point, number: int | None) -> None:
        self.count += 1
        self.points.append(point)
        self.plan_inside = self.plan_inside or self.plan_late
        if number is not None:
            self.highest = max(self.highest, number)
            if number != self.count and not self.sequence:
                self.sequence = f"test {self.count} has the number {number}"


class TapReader(LineReport):
    format = "tap"

    def __init__(self) -> None:
        super().__init__()
        self._levels = [Level()]
        self._point: Point | None = None  # the newest: its diagnostics may follow
        self._block: str | None = None  # the indentation of the YAML that is being read
        self._yaml: diagnostics.Check | None = None
        self._version: int | None = None
        self._strict = False  # a line that is not TAP is an error
        self._todo: frozenset[int] = frozenset()  # tests that may fail, by an old form of the plan
        self._open: list[Point] = []  # whose subtests follow in braces
        self._headed = 0  # how deep a heading lets subtests be; without one, one deeper than anything yet
        self._bailed = False
        self._planned = 0
        self._announced: int | None = None

    def _line(self, line: bytes) -> Iterable[e.Event]:
        text = text_of(line)
        if self._block is not None:
            if self._diagnostic(text, self._block):
                return ()
            self._block_broken()
        body = text.lstrip(" ")
        indent = len(text) - len(body)
        body = body.rstrip()
        if self._begins_block(body, indent):
            self._block, self._yaml = " " * indent, diagnostics.Check(body) if self._version else None
            return ()
        if body == "}" and self._open and indent == 4 * self._open[-1].depth:
            point, self._point = self._open.pop(), None
            point.parts = self._taken(point.depth)
            return ()
        if bail := _BAIL.fullmatch(body.lstrip()):
            self._bailed = True
            return [e.SessionInterrupted(e.Failure("Bail out!", bail[1] or "Bail out!"))]
        depth, odd = divmod(indent, 4)
        deepest = min(MAX_DEPTH, max(len(self._levels), self._headed))
        if self._strict and depth and self._version != _NEWEST:
            depth = deepest + 1  # subtests came with version 14
        if not odd and depth <= deepest and self._is_tap(body, depth):
            return self._tap_line(body, depth)
        return self._other_line(text)

    # Diagnostics

    def _begins_block(self, body: str, indent: int) -> bool:
        if self._version is not None and indent and body.startswith("---"):
            return True  # as for prove, wherever it stands
        return self._point is not None and body == "---" and indent > 4 * self._point.depth

    def _diagnostic(self, text: str, indent: str) -> bool:
        """Whether the line belongs to the block that is being read."""
        if text.rstrip() == indent + "...":
            if self._yaml and (fault := self._yaml.close()):
                self._gaps.append(f"line {self._number}: {fault}")
            self._block = None
            return True
        if text.strip() and not text.startswith(indent):
            return False
        row = text.removeprefix(indent)
        if self._yaml and (fault := self._yaml.line(row)):
            self._gaps.append(f"line {self._number}: {fault}")
        if self._point is not None:
            self._point.yaml.add(row + "\n")
        return True

    def _block_broken(self) -> None:
        self._block = None
        name = f" of {self._point.name}" if self._point else ""
        self._gaps.append(f"the diagnostics{name} have no end")

    # Lines

    def _is_tap(self, body: str, depth: int) -> bool:
        if body.startswith("#") or _VERSION.fullmatch(body):
            return True
        if depth:
            plan = _PLAN.fullmatch(body)
            return bool(_SUBTEST_POINT.fullmatch(body) or (plan and _PLAN_ENDS[14].fullmatch(plan[2])))
        return bool(
            _POINT.fullmatch(body) or self._plan_of(body) or (self._version and _PRAGMA.fullmatch(body))
        )

    def _plan_of(self, body: str) -> re.Match[str] | None:
        plan = _PLAN.fullmatch(body)
        if plan is None or (self._version is None and bounded(plan[1]) == 0):
            return plan
        return plan if _PLAN_ENDS[self._version or 12].fullmatch(plan[2]) else None

    def _other_line(self, text: str) -> Iterable[e.Event]:
        """A line that is not TAP: what tests print, or what follows the report."""
        if self._strict and (text.strip() or self._version != _NEWEST):
            self._strict = False  # one is enough
            self._gaps.append(f"line {self._number} is not TAP, which `pragma +strict` forbids")
        level = self._levels[0]
        if level.plan == level.count:
            self._outside(text)
        return self._output(text)

    def _tap_line(self, body: str, depth: int) -> Iterator[e.Event]:
        if body.startswith("#"):
            self._comment(body, depth)
            return
        if version := _VERSION.fullmatch(body):
            if depth == 0:
                yield from self._stream_begins(bounded(version[1]))
            return
        if pragma := _PRAGMA.fullmatch(body):
            for sign in _STRICT.findall(pragma[1]):
                self._strict = sign == "+"
            return
        while len(self._levels) <= depth:
            self._levels.append(Level())
        level = self._levels[depth]
        if plan := _PLAN.fullmatch(body):
            level.add_plan(bounded(plan[1]))
            if depth == 0:
                yield from self._plan(level, plan[2])
        elif found := _POINT.fullmatch(body):
            yield from self._new_point(found, depth, level)

    def _stream_begins(self, version: int) -> Iterator[e.Event]:
        """Streams may follow each other; each begins with its version and has its own plan."""
        if self._levels[0].plan is not None:
            yield from self._stream_ended()
        elif self._version is not None or self._levels[0].count:
            self._gaps.append(f"line {self._number}: the version of TAP is not at the beginning")
        if version not in (13, _NEWEST):
            self._gaps.append(f"TAP version {version} is not known: expected 13 or {_NEWEST}")
        self._version = _NEWEST if version >= _NEWEST else 13

    def _plan(self, level: Level, end: str) -> Iterator[e.Event]:
        listed = _PLAN_ENDS[12].fullmatch(end)
        self._todo = frozenset(map(bounded, (listed[1] or "").split() if listed else ()))
        reason = _PLAN_REASON.fullmatch(end)
        if level.plan == 0 and reason:
            yield e.Noticed(f"tap: all tests were skipped: {reason[1]}")
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
        point = _point(not found[1], found[4], depth, level.count + 1)
        if point.directive == "skip" and not (point.ok or self._by_bats(found)):
            point.directive = ""  # for prove it failed, and what failed was not skipped
        self._never_closed(depth)
        point.parts = self._taken(depth)
        if depth == 0:
            yield from self._flushed()
        number = bounded(found[2]) if found[2] else None
        if depth == 0 and number in self._todo:
            point.directive = "todo"
        level.add(point, number)
        self._point = point
        if point.opened:
            self._open.append(point)

    def _by_bats(self, found: re.Match[str]) -> bool:
        """The TAP 13 of bats: no dash before the name, and `not ok` for tests that were skipped."""
        return self._version is not None and not found[3] and not found[4].startswith("#")

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
            found = [event for part in point.parts.points for event in self._ended(part, (*path, point.name))]
            yield from found
            if not point.ok and not point.excused and not any(map(_is_bad, found)):  # a hook of it, perhaps
                own = msgspec.structs.replace(point, parts=None)
                yield _finished(own, values, self._names.unique(name))
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
        if self._block is not None:
            self._block_broken()
        self._never_closed(0)
        level, lost = self._levels[0], self._taken(0)
        yield from self._flushed()
        if lost is not None:
            yield from self._ended(_lost(lost), ())
        if gap := level.gap(nested=False):
            self._gaps.append(gap)
        self._planned += level.plan or 0
        self._levels, self._version, self._strict, self._todo = [Level()], None, False, frozenset()


def _is_bad(event: e.Event) -> bool:
    return isinstance(event, e.CollectionFailed) or (
        isinstance(event, e.TestFinished) and event.outcome in BAD
    )


def _lost(parts: Level) -> Point:
    """Stands for the point that should have followed its subtests."""
    point = Point(False, "(subtests)", parts=parts)
    point.comments.add("its subtests have no result")
    return point


def _point(ok: bool, text: str, depth: int, number: int) -> Point:
    seconds = 0.0
    opened = text.endswith(" {")
    text = text.removesuffix(" {")
    time = _TIME.search(text)
    if time and (ok or not _DIRECTIVE.match(text[time.end() :].lstrip().removeprefix("#"))):
        seconds = seconds_of(time[1]) / (1 if time[2] == "s" else 1000)
        text = text[: time.start()] + text[time.end() :]
    directive, reason = "", ""
    mark = next((found for found in _MARK.finditer(text) if found[0] == "#"), None)
    if mark and (found := _DIRECTIVE.match(text, mark.end())):  # only the first can be that of a directive
        text, directive, reason = text[: mark.start()], found[1].lower(), text[found.end() :].strip()
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
    kind = values.get("name", "") or _error(values).get("name", "") or values.get("type", "")
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
    for value in (values.get("message", ""), values.get("error", "")):
        if said := diagnostics.mapping(value).get("message") or value:
            return said.strip()
    wanted, got = values.get("expected", values.get("wanted")), values.get("actual", values.get("found"))
    compared = "" if wanted is None or got is None else f"expected {wanted}, got {got}"
    return point.comments.text().strip() or compared


def _error(values: dict[str, str]) -> dict[str, str]:
    """The exception, where it is a mapping of its own."""
    return diagnostics.mapping(values.get("error", "")) or diagnostics.mapping(values.get("message", ""))


def _phases(level: Level, path: tuple[str, ...] = (), excused: bool = False) -> Iterator[e.Phase]:
    """The parts of a test, and their parts. What is below a TODO or a SKIP may fail."""
    for point in level.points:
        inner, values = (*path, point.name), point.values()
        may_fail = excused or point.excused
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
    """The place of a failure: a mapping of its own (node-tap), or text (vitest, tape)."""
    inner = diagnostics.mapping(text or "")
    if "file" in inner and "line" in inner:
        return _place(f"{inner['file']}:{inner['line']}")
    found = _CALLED_AT.search(text or "")
    return _place(found[1]) if found else None

"""The output of bats while it runs (`--formatter cat --timing`): TAP, and a line when a test begins. A test
without an end when the next one begins, or when bats is done, has died."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from proctor import events as e
from proctor.outcome import BAD, Outcome
from proctor.text import first_line, text_of
from proctor.wire.reports.report import finished
from proctor.wire.reports.tap import Level, Point, TapReader

_BEGIN = re.compile(rb"begin [0-9]{1,9} (.*)")
_SUITE = re.compile(rb"suite /.*")
_DONE = "# bats warning: Executed "  # fewer than planned: bats itself has ended
_TIMED = re.compile(r"(.*) in ([0-9]{1,9})ms")
_WHERE = re.compile(r"in test file (.+), line ([0-9]{1,9})\)")
_SYNTAX = re.compile(r"(.+?): line ([0-9]{1,9}): (.+)")
_COMPARED = re.compile(r"(expected|actual) *: (.*)")  # bats-assert
_GATHERING = "bats-gather-tests"
_DIED = "the process of the test ended during the test"


class BatsReader(TapReader):
    format = "bats"

    def __init__(self) -> None:
        super().__init__()
        self._begun: str | None = None
        self._label: str | None = None  # of the point that is being explained
        self._done = False

    def _line(self, line: bytes) -> Iterable[e.Event]:
        if _SUITE.fullmatch(line):
            return ()
        if begin := _BEGIN.fullmatch(line):
            return self._test_begins(text_of(begin[1]))
        return super()._line(line)

    def _comment(self, body: str, depth: int) -> None:
        if body.startswith(_DONE):
            self._done = True
        else:
            super()._comment(body, depth)

    def _test_begins(self, name: str) -> Iterator[e.Event]:
        yield from self._flushed()
        yield from self._test_died()
        self._begun = self._names.unique(name)
        yield e.TestStarted(self._begun)

    def _test_died(self) -> Iterator[e.Event]:
        if self._begun is not None:
            self._levels[0].count += 1
            yield finished(self._begun, Outcome.CRASH, message=_DIED)
            self._begun = None

    def _new_point(self, found: re.Match[str], depth: int, level: Level) -> Iterator[e.Event]:
        yield from super()._new_point(found, depth, level)
        if depth == 0:
            self._label, self._begun = self._begun, None

    def _ended(self, point: Point, path: tuple[str, ...]) -> Iterator[e.Event]:
        timed = _TIMED.fullmatch(point.name)
        name, seconds = (timed[1], int(timed[2]) / 1000) if timed else (point.name, 0.0)
        label, self._label = self._label or self._names.unique(name), None
        if name == _GATHERING:
            yield _not_gathered(point.comments.text())
        else:
            yield _finished(label, point, seconds)

    def _last(self) -> Iterator[e.Event]:
        yield from self._flushed()
        if self._done:
            yield from self._test_died()
        yield from super()._last()


def _finished(label: str, point: Point, seconds: float) -> e.TestFinished:
    outcome = point.outcome()
    if outcome not in BAD:
        return finished(label, outcome, seconds, message=point.reason)
    text = point.comments.text()
    where = list(_WHERE.finditer(text))
    rest = (text[where[-1].end() :] if where else text).strip("\n").splitlines()
    message = rest.pop(0).strip() if rest else ""
    compared = {found[1]: found[2] for line in rest if (found := _COMPARED.fullmatch(line))}
    place = e.Place(where[-1][1], int(where[-1][2])) if where else None
    failure = e.Failure("", message, place, compared.get("expected"), compared.get("actual"))
    output = "".join(f"{line}\n" for line in rest)
    return finished(
        label, outcome, seconds, message=message, traceback=text.rstrip(), failure=failure, stdout=output
    )


def _not_gathered(text: str) -> e.CollectionFailed:
    """A file whose tests could not be listed."""
    file, failure = _GATHERING, e.Failure("", first_line(text))
    if found := next((found for line in text.splitlines() if (found := _SYNTAX.fullmatch(line))), None):
        file, failure = found[1], e.Failure("", found[3], e.Place(found[1], int(found[2])))
    return e.CollectionFailed(file, failure, text.rstrip())

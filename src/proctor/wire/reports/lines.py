"""Reads the stdout of a process that reports its tests, or what it builds, while it runs. The end of the
report is compared with the end of the process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from msgspec.structs import replace

from proctor import events as e
from proctor.errors import StreamError
from proctor.launch import Artifact, Lines
from proctor.outcome import Outcome
from proctor.result import Excerpt, SuiteResult
from proctor.wire.formats import reader
from proctor.wire.relabel import relabelled

_COMPLAINED = 1 << 16  # characters beside the report that may explain why there are no tests
# As perl, shells and compilers write it.
_PLACE = re.compile(r"(?<![^\s:])([^\s:]+)(?![^\s:])(?:: line | line |:)([0-9]{1,9})\b")


class LineReader:
    """Bytes in, events out, under the names by which the tests can be run again."""

    def __init__(self, name: str, cwd: str, lines: Lines) -> None:
        """`name` is the suite's, `cwd` the directory of its process."""
        self._name, self._lines = name, lines
        self._reader = reader(lines.reader)
        self._known = {test.name: test for test in lines.known}
        self._places = {test.name: e.Place(test.file, test.line) for test in lines.known if test.file}
        self._root = lines.root or cwd
        self._base = lines.base.removesuffix("/")
        self._announced = False
        self._printed = Excerpt(_COMPLAINED)
        self._begun: set[str] = set()  # tests
        self._listed = False  # the report itself lists its tests
        self._reported = False  # any test, or an error that keeps tests from running
        self._broken = False
        self.stopped = False  # we ended the process: what it lost is no fault of its own

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        return tuple(getattr(self._reader, "artifacts", ()))

    def feed(self, data: bytes) -> list[e.Event]:
        if self._broken:
            return []
        opening = self._opening()
        try:
            return opening + self._named(self._reader.feed(data))
        except StreamError as error:
            self._broken = True
            return [*opening, e.ChannelBroken(str(error))]

    def hear(self, stderr: str) -> None:
        self._printed.add(stderr)

    def close(self, exit_status: int | None, so_far: SuiteResult) -> list[e.Event]:
        """The process has ended. `so_far` holds the events from before."""
        if self._broken:
            return []
        opening = self._opening()
        try:
            closing = self._named(self._reader.close())
        except StreamError as error:
            closing = [e.ChannelBroken(str(error))]
        found = [*opening, *self._missing(exit_status), *closing]
        gap = next((event for event in found if isinstance(event, e.ChannelBroken)), None)
        if gap is None:
            return found
        rest = [event for event in found if event is not gap]
        running = {*so_far.running, *(event.test for event in rest if isinstance(event, e.TestStarted))}
        running -= {event.test for event in rest if isinstance(event, e.TestFinished)}
        if running or exit_status is None or exit_status < 0:
            return rest  # a report that ends in the middle: the end of the process explains it
        if exit_status and not self._reported:
            counted = [] if self._lines.listed else [self._suite(1)]
            return [*rest, *counted, self._complaint(gap.reason)]
        status = f"; the process exited with {exit_status}" if exit_status else ""
        return [*rest, e.ChannelBroken(f"{gap.reason}{status}")]

    def _complaint(self, gap: str) -> e.CollectionFailed:
        """The failure of a process that failed before its first test, from what it printed."""
        output = self._printed.text().strip()
        lines = [line for line in output.splitlines() if line.strip()]
        reason = next((line for line in lines if _PLACE.search(line)), lines[-1] if lines else gap)
        at = _PLACE.search(reason)
        message = lines[0] if reason.lstrip().startswith("-->") else reason  # an arrow has only the place
        failure = e.Failure("", message.strip(), e.Place(at[1], int(at[2])) if at else None)
        return e.CollectionFailed(self._name, self._inside(failure), output)

    def _opening(self) -> list[e.Event]:
        """The events of what is known of the suite before its process reports anything."""
        found: list[e.Event] = []
        if self._lines.toolchain and not self._announced:
            found.append(e.SuiteDescribed(self._root, self._lines.toolchain))
        if self._lines.listed and not self._announced:
            found += [*self._selected(len(self._known)), self._suite(len(self._known))]
        self._announced = True
        return found

    def _suite(self, count: int) -> e.SuiteStarted:
        return e.SuiteStarted(self._name, self._lines.build, count, prefix=self._lines.prefix)

    def _named(self, events: Iterable[e.Event]) -> list[e.Event]:
        found: list[e.Event] = []
        for event in _joined(events):
            if self.stopped and _is_loss(event):
                continue
            if isinstance(event, e.SuiteStarted):
                if self._lines.listed:
                    continue
                found += self._selected(event.count)
                event = self._suite(event.count)
            elif self._lines.prefix:
                event = relabelled(event, lambda name: self._lines.prefix + name)
            found.append(self._placed(event))
        return found

    def _placed(self, event: e.Event) -> e.Event:
        match event:
            case e.TestStarted() | e.TestFinished():
                self._reported = True
                self._begun.add(event.test)
                if event.place is None and self._places:
                    event = replace(event, place=self._place(event.test))
                if isinstance(event, e.TestFinished):
                    return self._finished(event)
            case e.TestsSelected():
                self._listed = True
                places = {test: place for test in event.tests if (place := self._place(test))}
                return replace(event, places=places | event.places)
            case e.CollectionFailed():
                self._reported = True
                file = event.file.removeprefix(f"{self._root}/")  # or a name that is no file
                return replace(event, file=file, failure=self._inside(event.failure))
            case e.WarningRecorded():
                return replace(event, file=self._relative(event.file))
            case e.OutputReceived():
                self._printed.add(event.text)
        return event

    def _place(self, test: str) -> e.Place | None:
        """The test's own place, or that of the test that it is a part of."""
        outer = test
        while outer not in self._places and "/" in outer:
            outer = outer.rpartition("/")[0]
        return self._places.get(outer)

    def _missing(self, exit_status: int | None) -> list[e.Event]:
        """Known tests that never ran because their process died."""
        if self._lines.listed:
            return []  # they were selected at the start
        cut_short = tuple(getattr(self._reader, "cut_short", ()))
        if self.stopped or exit_status is None or exit_status < 0:
            cut_short = ("",)
        names = [name for name in self._places if cut_short and name.startswith(cut_short)]
        missing = {name: self._places[name] for name in names if name not in self._begun}
        return [e.TestsSelected(tuple(missing), places=missing)] if missing else []

    def _finished(self, event: e.TestFinished) -> e.TestFinished:
        known = self._known.get(event.test)
        if known is not None and known.subtype and not event.subtype:
            event = replace(event, subtype=known.subtype)
        if event.failure is None:
            return event
        phases = tuple(
            replace(phase, failure=self._inside(phase.failure)) if phase.failure else phase
            for phase in event.phases
        )
        failure = self._inside(event.failure)
        if event.outcome is Outcome.CRASH and failure.place is None:
            failure = replace(failure, place=event.place)
        return replace(event, failure=failure, phases=phases)

    def _inside(self, failure: e.Failure) -> e.Failure:
        at = failure.place
        return failure if at is None else replace(failure, place=e.Place(self._relative(at.file), at.line))

    def _relative(self, file: str) -> str:
        """Relative to the project, if it is inside."""
        whole = f"{self._base}/{file}" if self._base and file and not file.startswith("/") else file
        return whole.removeprefix(f"{self._root}/")

    def _selected(self, count: int) -> list[e.Event]:
        """The tests that were known before the start, if as many run."""
        names = () if self._listed else tuple(self._known)
        sure = self._begun <= {*names} and all(name.startswith(self._lines.prefix) for name in names)
        return [e.TestsSelected(names, places=self._places)] if sure and 0 < len(names) == count else []


def _joined(events: Iterable[e.Event]) -> Iterator[e.Event]:
    """Joins lines of output that follow each other, because there may be very many."""
    for is_output, group in groupby(events, lambda event: isinstance(event, e.OutputReceived)):
        if is_output:
            texts = [event.text for event in group if isinstance(event, e.OutputReceived)]
            yield e.OutputReceived("stdout", "".join(texts))
        else:
            yield from group


def _is_loss(event: e.Event) -> bool:
    crashed = isinstance(event, e.TestFinished) and event.outcome is Outcome.CRASH
    return crashed or isinstance(event, e.CollectionFailed)

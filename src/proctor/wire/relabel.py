"""The names of tests in events, changed: a prefix that makes them names which can be run, a number where an
earlier suite of the run has the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from proctor import events as e


class SuiteLabels:
    """Each test of a run has a name of its own: what another suite has used becomes `x#2`."""

    def __init__(self, first: Iterable[str]) -> None:
        """`first` are the names that the first suite has used already."""
        self._own: dict[int, dict[str, str]] = {0: {name: name for name in first}}
        self._used = set(self._own[0])

    def relabelled(self, event: e.Event, suite: int) -> e.Event:
        own = self._own.setdefault(suite, {})
        return relabelled(event, lambda name: self._label(name, own))

    def _label(self, name: str, own: dict[str, str]) -> str:
        found = own.get(name)
        if found is None:
            found, number = name, 1
            while found in self._used:
                number += 1
                found = f"{name}#{number}"
            self._used.add(found)
            own[name] = found
        return found


def relabelled(event: e.Event, label: Callable[[str], str]) -> e.Event:
    """The event with its tests under other names."""
    match event:
        case e.TestFinished():
            part_of = label(event.part_of) if event.part_of else ""
            return replace(event, test=label(event.test), part_of=part_of)
        case e.TestStarted() | e.ResultAmended() | e.FileAttached():
            return replace(event, test=label(event.test))
        case e.OutputReceived() | e.ProcessExited() | e.WarningRecorded() if event.test:
            return replace(event, test=label(event.test))
        case e.TestsSelected():
            markers = {label(test): marks for test, marks in event.markers.items()}
            places = {label(test): place for test, place in event.places.items()}
            return e.TestsSelected(tuple(map(label, event.tests)), markers, places)
        case e.TestsDeselected():
            return e.TestsDeselected(tuple(map(label, event.tests)))
        case _:
            return event

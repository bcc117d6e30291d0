"""Renames tests in events: with a prefix, or with a number where another suite has a test of that name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from proctor import events as e
from proctor.unique_names import UniqueNames


class SuiteLabels:
    """Makes names unique in a run: one that another suite has used becomes `x#2`."""

    def __init__(self, first: Iterable[str]) -> None:
        """`first` are the names that the first suite has used already."""
        self._names = UniqueNames()
        self._own = {0: {name: self._names.unique(name) for name in dict.fromkeys(first)}}

    def relabelled(self, event: e.Event, suite: int) -> e.Event:
        own = self._own.setdefault(suite, {})
        return relabelled(event, lambda name: self._label(name, own))

    def given(self, suite: int) -> Mapping[str, str]:
        """The names that tests of a suite have got, by their own names."""
        return self._own.get(suite, {})

    def original(self, label: str, suite: int) -> str:
        """The name that the suite itself has for a test."""
        return next((name for name, given in self._own.get(suite, {}).items() if given == label), label)

    def _label(self, name: str, own: dict[str, str]) -> str:
        if name not in own:
            own[name] = self._names.unique(name)
        return own[name]


def relabelled(event: e.Event, label: Callable[[str], str]) -> e.Event:
    """The event with its tests under other names."""
    match event:
        case e.TestFinished():
            return _finished(event, label)
        case e.TestStarted() | e.ResultAmended() | e.FileAttached() | e.TestOverdue():
            name = label(event.test)
            return event if name == event.test else replace(event, test=name)
        case e.AttemptFailed():
            return e.AttemptFailed(_finished(event.result, label))
        case e.TestsQuarantined():
            return e.TestsQuarantined({label(test): why for test, why in event.tests.items()})
        case e.OutputReceived() | e.ProcessExited() | e.WarningRecorded() if event.test:
            return replace(event, test=label(event.test))
        case e.TestsSelected():
            markers = {label(test): marks for test, marks in event.markers.items()}
            places = {label(test): place for test, place in event.places.items()}
            groups = {label(test): group for test, group in event.groups.items()}
            return e.TestsSelected(tuple(map(label, event.tests)), markers, places, groups)
        case e.TestsDeselected():
            return e.TestsDeselected(tuple(map(label, event.tests)))
        case e.SuiteFinished() if event.not_run:
            return replace(event, not_run=tuple(map(label, event.not_run)))
        case _:
            return event


def _finished(event: e.TestFinished, label: Callable[[str], str]) -> e.TestFinished:
    part_of, name = label(event.part_of) if event.part_of else "", label(event.test)
    same = name == event.test and part_of == event.part_of
    return event if same else replace(event, test=name, part_of=part_of)

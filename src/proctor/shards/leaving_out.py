"""Takes tests that count in another run out of the events of a run."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from proctor import events as e


class Unwanted(msgspec.Struct, frozen=True):
    """What is taken out of a suite."""

    tests: Collection[str] = ()
    errors: Collection[str] = ()  # files that could not be collected
    count: int = 0  # how many fewer tests the suite then has


def without(event: e.Event, unwanted: Unwanted) -> e.Event | None:
    """The event without them; None: nothing is left of it."""
    tests = unwanted.tests
    match event:
        case e.TestFinished():
            return None if _is_of(event, tests) else event
        case e.AttemptFailed():
            return None if _is_of(event.result, tests) else event
        case e.TestStarted() | e.ResultAmended() | e.FileAttached() | e.TestOverdue():
            return None if event.test in tests else event
        case e.OutputReceived() | e.ProcessExited() | e.WarningRecorded():
            return None if event.test in tests else event
        case e.CollectionFailed():
            return None if event.file in unwanted.errors else event
        case e.TestsQuarantined():
            return e.TestsQuarantined({test: why for test, why in event.tests.items() if test not in tests})
        case e.TestsSelected():
            markers = {test: marks for test, marks in event.markers.items() if test not in tests}
            places = {test: place for test, place in event.places.items() if test not in tests}
            return e.TestsSelected(_others(event.tests, tests), markers, places)
        case e.SuiteStarted():
            return replace(event, count=max(0, event.count - unwanted.count))
        case e.SuiteFinished():
            return replace(event, not_run=_others(event.not_run, tests))
        case _:
            return event


def _is_of(event: e.TestFinished, tests: Collection[str]) -> bool:
    return event.test in tests or event.part_of in tests


def _others(names: tuple[str, ...], tests: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in tests)

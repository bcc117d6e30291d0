"""Which tests are to begin first, by what earlier runs say, and how sessions and programs get to know it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from proctor.launch import Launch, Session, asking
from proctor.runners.plan import Suite

_FILE = "order.json"


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tests by what runs them in the project: ids, files and names of programs."""

    failed: tuple[str, ...] = ()  # when they last ran, and are to run first
    seconds: dict[str, float] = {}  # that they took: where several run at a time, the longest begin first
    usual: float = 0.0  # seconds of tests that are not among these

    def __bool__(self) -> bool:
        return bool(self.failed or self.seconds)

    def of_programs(self, launches: Iterable[Launch]) -> list[Launch]:
        """In the order in which they are to start."""
        failed = {part for test in self.failed for part in _up(test)}  # a program fails with its parts
        return sorted(
            launches,
            key=lambda launch: (launch.name not in failed, -self.seconds.get(launch.name, self.usual)),
        )


def _up(test: str) -> Iterable[str]:
    while test:
        yield test
        test = test.rpartition("/")[0]


def told(
    suites: tuple[Suite, ...], order: Order, keep: Callable[[str, bytes], str | None]
) -> tuple[Suite, ...]:
    """The suites, whose sessions find the order in a file. `keep` returns the path of a new file; None if it
    cannot be written: then they run as ever."""
    if not order or not any(_is_told(suite) for suite in suites):
        return suites
    path = keep(_FILE, msgspec.json.encode(order))
    if path is None:
        return suites
    return tuple(_with(suite, path) if _is_told(suite) else suite for suite in suites)


def _is_told(suite: Suite) -> bool:
    return any(_heeds(launch) for launch in suite.launches)


def _heeds(launch: Launch) -> bool:
    return isinstance(launch.speech, Session) and launch.speech.continues


def _with(suite: Suite, path: str) -> Suite:
    return msgspec.structs.replace(suite, launches=tuple(_asked(launch, path) for launch in suite.launches))


def _asked(launch: Launch, path: str) -> Launch:
    if launch.instead is not None:
        launch = msgspec.structs.replace(launch, instead=_asked(launch.instead, path))
    return asking(launch, {"order": path}) if _heeds(launch) else launch

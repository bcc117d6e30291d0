"""Which tests are to begin first, by what earlier runs say, and how sessions get to know what is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from proctor.launch import Launch, Session, asking
from proctor.runners.plan import Suite


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
    suites: tuple[Suite, ...], word: str, value: object, keep: Callable[[str, bytes], str | None]
) -> tuple[Suite, ...] | None:
    """The suites, whose sessions find the value in a file: an order, or which tests are to run.

    `keep` returns the path of a new file; None if it cannot be written.
    """
    if not any(_heeds(launch) for suite in suites for launch in suite.launches):
        return suites
    path = keep(f"{word}.json", msgspec.json.encode(value))
    if path is None:
        return None
    return tuple(
        msgspec.structs.replace(suite, launches=tuple(_asked(one, word, path) for one in suite.launches))
        for suite in suites
    )


def _heeds(launch: Launch) -> bool:
    return isinstance(launch.speech, Session) and launch.speech.continues


def _asked(launch: Launch, word: str, path: str) -> Launch:
    if launch.instead is not None:
        launch = msgspec.structs.replace(launch, instead=_asked(launch.instead, word, path))
    return asking(launch, {word: path}) if _heeds(launch) else launch

"""Decides what `proctor watch` runs next: everything, each time."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from proctor.result import RunResult
from proctor.spec import Selection


class Round(msgspec.Struct, frozen=True):
    """A run of some of the tests, or of all."""

    name: str  # for people
    selection: Selection | None  # None: what the command line asked for


class Rounds:
    def __init__(self, selection: Selection, affected: Callable[[frozenset[str]], tuple[str, ...]]) -> None:
        self._selection, self._affected = selection, affected
        self._failed: tuple[str, ...] = ()

    def begin(self) -> Round:
        return Round("all tests", None)

    def changed(self, paths: frozenset[str]) -> Round:
        del paths
        return Round("all tests", None)

    def asked(self, key: str, pattern: str = "") -> Round | None:
        if key == "pattern":
            return Round(f"tests matching {pattern!r}", Selection(self._selection.targets, pattern))
        if key == "failed":
            return Round("failed tests", Selection(self._failed)) if self._failed else None
        return Round("all tests", None)

    def ended(self, round: Round, result: RunResult) -> Round | None:
        self._failed = tuple(name for name, test in result.tests.items() if test.outcome == "failed")
        return None

    def not_run(self, round: Round, result: RunResult) -> str:
        return "no other tests were run" if round.selection else ""

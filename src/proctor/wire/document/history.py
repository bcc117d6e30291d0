"""What earlier runs and another commit say of a run, as documents and reports have it, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from proctor import decoding
from proctor import events as e
from proctor.result import RunResult
from proctor.wire.document.schema import Baseline, History, KnownRun

_Facts = TypeVar("_Facts", "_OfTest", "_OfRun")


class Words:
    """Of a run that is over: what is said of each test that ended badly, beside its result."""

    def __init__(self, result: RunResult) -> None:
        self._history = result.history.tests if result.history is not None else {}
        self._baseline = result.baseline or e.BaselineCompared("")

    def __bool__(self) -> bool:
        """False of nearly every run that passes."""
        return bool(self._history or self._baseline.tests)

    def of(self, name: str) -> dict[str, Any]:
        """The fields `history`, `baseline` and `baseline_reason` of a test, or of a file that could not be
        collected; each only where there is something to say."""
        found: dict[str, Any] = {}
        if name in self._history:
            found["history"] = history(self._history[name])
        if name in self._baseline.tests:
            found["baseline"] = self._baseline.tests[name]
            if reason := self._baseline.reasons.get(name, ""):
                found["baseline_reason"] = reason
        return found


def history(told: e.TestHistory) -> History:
    found = History(told.word, known_run(told.since))
    if told.word == e.FLAKY_TEST:
        found.failed, found.results = told.failed, told.results
    return found


def known_run(run: e.EarlierRun | None) -> KnownRun | None:
    return None if run is None else KnownRun(run.run_id, run.commit, run.started, run.dirty or UNSET)


def of_run(result: RunResult) -> dict[str, Any]:
    """The fields of the run itself: nothing, where it was not compared with anything."""
    found: dict[str, Any] = {}
    if result.history is not None:
        found["fixed"] = result.history.fixed
        found["compared_with"] = known_run(result.history.compared_with)
        if result.history.checkout is not None:
            found["checkout"] = result.history.checkout
    if (other := result.baseline) is not None:
        found["baseline"] = Baseline(other.ref, other.commit, other.reason)
    return found


class _OfTest(msgspec.Struct):
    """What `Words.of` gives."""

    history: History | None = None
    baseline: str = ""
    baseline_reason: str = ""


class _OfRun(msgspec.Struct):
    """What `of_run` gives."""

    fixed: tuple[str, ...] | None = None
    compared_with: KnownRun | None = None
    checkout: e.CheckedOut | None = None
    baseline: Baseline | None = None


class Heard:
    """Collects what a document or a report says of its tests."""

    def __init__(self) -> None:
        self._history: dict[str, e.TestHistory] = {}
        self._baseline: dict[str, str] = {}
        self._reasons: dict[str, str] = {}

    def add(self, name: str, told: History | None, baseline: str = "", reason: str = "") -> None:
        if told is not None:
            failed, results = (told.failed, told.results) if told.word == e.FLAKY_TEST else (0, 0)
            self._history[name] = e.TestHistory(told.word, _earlier(told.since), failed or 0, results or 0)
        if baseline:
            self._baseline[name] = baseline
            if reason:
                self._reasons[name] = reason

    def take(self, name: str, facts: dict[str, Any]) -> None:
        """The fields that `Words.of` gives, as a report has them; all are ignored if one has a wrong type."""
        found = _convert(facts, _OfTest)
        self.add(name, found.history, found.baseline, found.baseline_reason)

    def events_of(self, facts: dict[str, Any]) -> Iterator[e.Event]:
        """Likewise with the fields that `of_run` gives."""
        found = _convert(facts, _OfRun)
        return self.events(found.fixed, found.compared_with, found.baseline, found.checkout)

    def events(
        self,
        fixed: Sequence[str] | None,
        compared_with: KnownRun | None,
        baseline: Baseline | None,
        checkout: e.CheckedOut | None,
    ) -> Iterator[e.Event]:
        """`fixed`: None where the run was not compared with earlier ones."""
        if fixed is not None or compared_with is not None or checkout is not None or self._history:
            yield e.HistoryCompared(self._history, tuple(fixed or ()), _earlier(compared_with), checkout)
        if baseline is not None or self._baseline:
            told = baseline or Baseline()
            yield e.BaselineCompared(told.ref, told.commit, self._baseline, told.reason, self._reasons)


def _convert(facts: dict[str, Any], kind: type[_Facts]) -> _Facts:
    try:
        return decoding.convert(facts, kind)
    except msgspec.ValidationError:
        return kind()


def _earlier(run: KnownRun | None) -> e.EarlierRun | None:
    return None if run is None else e.EarlierRun(run.run_id, run.commit, run.started, run.dirty is True)

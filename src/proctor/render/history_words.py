"""What earlier runs, and another commit, say of the failures of a run, in few words. Pure.

The verdict says what holds for all failures; rows have words only where these differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from proctor.events import (
    ABSENT,
    CANNOT_TELL,
    FAILS,
    FLAKY_TEST,
    NEW,
    PASSES,
    STILL,
    UNKNOWN,
    BaselineCompared,
    TestHistory,
)
from proctor.render.neutral import neutral
from proctor.result import RunResult
from proctor.text import first_line

COMMIT = 7  # characters of one
_REF = 40
_REASON = 100
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

#: How one test ends on the baseline, how several do, and how a row says it.
_ON_BASELINE = {
    FAILS: ("fails on {} too", "all fail on {} too", "fails on baseline too"),
    PASSES: ("passes on {}", "all pass on {}", "passes on baseline"),
    ABSENT: ("absent on {}", "all absent on {}", "absent on baseline"),
}


class _Run(Protocol):
    """A run, of an event or of a document."""

    @property
    def run_id(self) -> str: ...
    @property
    def commit(self) -> str: ...
    @property
    def started(self) -> str: ...
    @property
    def dirty(self) -> object: ...


class _Told(Protocol):
    """What earlier runs say of a test, likewise."""

    @property
    def word(self) -> str: ...
    @property
    def since(self) -> _Run | None: ...
    @property
    def failed(self) -> object: ...
    @property
    def results(self) -> object: ...


class _Said(msgspec.Struct, frozen=True):
    """What one source says of the failures."""

    words: Mapping[str, str] = {}  # of each test
    kinds: Mapping[str, str] = {}  # the same without the evidence
    alike: bool = True  # the notes say it of all tests
    notes: tuple[str, ...] = ()

    @property
    def told(self) -> bool:
        """The notes have the evidence, too."""
        return self.alike and len(set(self.words.values())) == 1

    def of(self, tests: Sequence[str], short: bool = False) -> str:
        """The word of these tests, or how many of them have which: `2 new, 1 still`."""
        words = {(self.kinds if short else self.words).get(test, "") for test in tests}
        if len(words) == 1:
            return words.pop()
        counted = Counter(filter(None, (self.kinds.get(test, "") for test in tests)))
        return ", ".join(f"{count} {word}" for word, count in counted.items())


class Words:
    """The words for the failures of one run; with the reasons of what cannot be told, or without."""

    def __init__(self, result: RunResult, reasons: bool = True) -> None:
        known = (result.history is not None and result.history.tests) or result.baseline is not None
        failing = result.failing if known else []
        self._history = _by_history(result, failing) if failing else _Said()
        baseline = result.baseline if failing else None
        if baseline is not None and not reasons:
            baseline = msgspec.structs.replace(baseline, reason="", reasons={})
        self._baseline = _by_baseline(baseline, failing) if baseline is not None else _Said()

    @property
    def notes(self) -> list[str]:
        """What the verdict says: `all new`, `fails on main@2dba883 too`."""
        return [*self._history.notes, *self._baseline.notes]

    def all(self, tests: Sequence[str]) -> str:
        """All that is known of these tests."""
        return _joined(self._history.of(tests), self._baseline.of(tests))

    def column(self, tests: Sequence[str]) -> str:
        """The same for a narrow column: the verdict has the evidence, or the baseline decides."""
        baseline = "" if self._baseline.alike else self._baseline.of(tests, short=True)
        return _joined(self._history.of(tests, short=self._history.told or bool(baseline)), baseline)

    def mark(self, tests: Sequence[str]) -> str:
        """` [new]` behind a row of tests that have one word, if the verdict does not say it; or nothing."""
        marks = {self._mark(test) for test in tests}
        return marks.pop() if len(marks) == 1 else ""

    def _mark(self, test: str) -> str:
        said = _joined(*(one.words.get(test, "") for one in (self._history, self._baseline) if not one.alike))
        return f" [{said}]" if said else ""


def _joined(*words: str) -> str:
    return ", ".join(filter(None, words))


def verdict_notes(result: RunResult, reasons: bool = True) -> list[str]:
    """What the verdict says of history: of the failures, and how many tests are fixed."""
    if result.history is None and result.baseline is None:
        return []
    fixed = len(result.history.fixed) if result.history is not None else 0
    return [*Words(result, reasons).notes, *([f"{fixed} fixed"] if fixed else [])]


def _by_history(result: RunResult, failing: Sequence[str]) -> _Said:
    known = {test: found for test in failing if (found := result.earlier(test))}
    words = {test: history_word(found) for test, found in known.items()}
    kinds = {test: found.word for test, found in known.items()}
    if len(known) == len(failing) and len(set(kinds.values())) == 1:
        return _Said(words, kinds, True, (_for_all(list(known.values())),))
    new = sum(kind == NEW for kind in kinds.values())
    return _Said(words, kinds, False, (f"{new} new",) if new else ())


def history_word(found: _Told | None) -> str:
    """`new`, `still since 2dba883`, `flaky: 3 of 20`; nothing where nothing is known."""
    if found is None or found.word == UNKNOWN:
        return ""
    if found.word == STILL:
        return f"still since {_when(found.since)}" if found.since else "still"
    return f"flaky: {_evidence(found)}" if found.word == FLAKY_TEST and found.results else neutral(found.word)


def _for_all(known: Sequence[TestHistory]) -> str:
    """What holds for all failures, which have one word."""
    several, word = "all " * (len(known) > 1), known[0].word
    if word == STILL:
        times = {_when(found.since) if found.since else "" for found in known}
        since = times.pop() if len(times) == 1 else ""
        return f"{several or 'still '}failing since {since}" if since else f"{several}still failing"
    if word == FLAKY_TEST and all(found.results for found in known):
        rarest = min(known, key=lambda found: found.failed / found.results)
        same = len({(found.failed, found.results) for found in known}) == 1
        return f"{several}flaky: {'' if same else 'at least '}{_evidence(rarest)}"
    return f"{several}{neutral(word)}"


def _evidence(found: _Told) -> str:
    return f"{found.failed} of {found.results}"


def _when(run: _Run) -> str:
    """The commit, and whether there were changes that no commit has; without git, the day."""
    if run.commit:
        return neutral(run.commit[:COMMIT]) + "-dirty" * bool(run.dirty)
    _, _, rest = run.started[:10].partition("-")
    month, _, day = rest.partition("-")
    if not (month.isdecimal() and day.isdecimal() and 1 <= int(month) <= len(_MONTHS)):
        return neutral(run.run_id)
    return f"{int(day)} {_MONTHS[int(month) - 1]}"


def _by_baseline(found: BaselineCompared, failing: Sequence[str]) -> _Said:
    kinds = {test: found.tests.get(test, CANNOT_TELL) for test in failing}
    words = {test: baseline_word(kind, _reason(found, test)) for test, kind in kinds.items()}
    short = {test: baseline_word(kind, "") for test, kind in kinds.items()}
    where, different = baseline_name(found), set(kinds.values())
    if len(different) > 1:
        return _Said(words, short, False, (f"baseline {where}",))
    kind = different.pop()
    if kind in _ON_BASELINE:
        one, several, _ = _ON_BASELINE[kind]
        return _Said(words, short, True, ((several if len(failing) > 1 else one).format(where),))
    reasons = {_reason(found, test) for test in failing}
    alike = len(reasons) == 1
    why = ": ".join(filter(None, ("cannot tell", *(reasons if alike else ()))))
    return _Said(words, short, alike, (f"baseline {where}: {why}",))


def _reason(found: BaselineCompared, test: str) -> str:
    return neutral(first_line(found.reasons.get(test) or found.reason, _REASON))


def baseline_word(kind: str, reason: str) -> str:
    """`passes on baseline`."""
    if kind in _ON_BASELINE:
        return _ON_BASELINE[kind][2]
    return f"baseline: cannot tell: {reason}" if reason else "baseline: cannot tell"


def baseline_name(found: BaselineCompared) -> str:
    """`main@2dba883`, or the commit alone where that was asked for."""
    ref, commit = neutral(first_line(found.ref, _REF)), neutral(found.commit[:COMMIT])
    if ref and commit and not found.commit.startswith(found.ref):
        return f"{ref}@{commit}"
    return commit or ref

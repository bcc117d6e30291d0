"""What earlier runs, and another commit, say of the tests of several runs, as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from proctor import events as e
from proctor.wire.reports.report import moment


class Told(msgspec.Struct, frozen=True):
    """What was said with one run."""

    history: e.HistoryCompared | None
    baseline: e.BaselineCompared | None
    name: Callable[[str], str]  # of a test, as the merged run calls it; empty: it has no such test


def compared(runs: Sequence[Told]) -> Iterator[e.Event]:
    histories = [(told.history, told.name) for told in runs if told.history is not None]
    if histories:
        yield _history(histories)
    baselines = [(told.baseline, told.name) for told in runs if told.baseline is not None]
    if baselines:
        yield _baseline(baselines)


def _history(runs: Sequence[tuple[e.HistoryCompared, Callable[[str], str]]]) -> e.HistoryCompared:
    tests = {name(test): words for told, name in runs for test, words in told.tests.items()}
    fixed = dict.fromkeys(name(test) for told, name in runs for test in told.fixed)
    known = [told.compared_with for told, _ in runs if told.compared_with is not None]
    newest = max(known, key=lambda run: moment(run.started), default=None)
    tests.pop("", None)
    fixed.pop("", None)
    return e.HistoryCompared(tests, tuple(fixed), newest)


def _baseline(runs: Sequence[tuple[e.BaselineCompared, Callable[[str], str]]]) -> e.BaselineCompared:
    tests = {name(test): word for told, name in runs for test, word in told.tests.items()}
    reasons = {name(test): why for told, name in runs for test, why in told.reasons.items()}
    tests.pop("", None)
    reasons.pop("", None)
    facts = [told for told, _ in runs]
    return e.BaselineCompared(
        _all(told.ref for told in facts),
        _all(told.commit for told in facts),
        tests,
        _all(told.reason for told in facts),
        reasons,
    )


def _all(texts: Iterable[str]) -> str:
    """Mostly they are one."""
    return "; ".join(dict.fromkeys(filter(None, texts)))

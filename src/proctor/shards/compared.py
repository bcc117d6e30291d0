"""Joins what the history and a baseline say of several runs into one event each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from proctor import events as e
from proctor.wire.reports.report import moment


class Compared(msgspec.Struct, frozen=True):
    """What one run was compared with."""

    history: e.HistoryCompared | None
    baseline: e.BaselineCompared | None
    name: Callable[[str], str]  # the id of a test in the merged run; empty: it does not count there


def joined(runs: Sequence[Compared]) -> Iterator[e.Event]:
    histories = [(run.history, run.name) for run in runs if run.history is not None]
    if histories:
        yield _history(histories)
    baselines = [(run.baseline, run.name) for run in runs if run.baseline is not None]
    if baselines:
        yield _baseline(baselines)


def _history(runs: Sequence[tuple[e.HistoryCompared, Callable[[str], str]]]) -> e.HistoryCompared:
    tests = {name(test): words for fact, name in runs for test, words in fact.tests.items()}
    fixed = dict.fromkeys(name(test) for fact, name in runs for test in fact.fixed)
    known = [fact.compared_with for fact, _ in runs if fact.compared_with is not None]
    newest = max(known, key=lambda run: moment(run.started), default=None)
    checkouts = {fact.checkout for fact, _ in runs}
    tests.pop("", None)
    fixed.pop("", None)
    return e.HistoryCompared(tests, tuple(fixed), newest, checkouts.pop() if len(checkouts) == 1 else None)


def _baseline(runs: Sequence[tuple[e.BaselineCompared, Callable[[str], str]]]) -> e.BaselineCompared:
    tests = {name(test): word for fact, name in runs for test, word in fact.tests.items()}
    reasons = {name(test): why for fact, name in runs for test, why in fact.reasons.items()}
    tests.pop("", None)
    reasons.pop("", None)
    facts = [fact for fact, _ in runs]
    return e.BaselineCompared(
        _each_once(fact.ref for fact in facts),
        _each_once(fact.commit for fact in facts),
        tests,
        _each_once(fact.reason for fact in facts),
        reasons,
    )


def _each_once(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))

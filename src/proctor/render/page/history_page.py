"""The page of a history: how the runs of a project went, and which tests are flaky, slow or got slower."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import msgspec

from proctor.durations import brief, clock
from proctor.outcome import RunOutcome
from proctor.remembered import FlakyTest, RememberedRun, SlowTest
from proctor.render.closing import SLOW
from proctor.render.history_words import COMMIT
from proctor.render.page.chart import Bar, chart
from proctor.render.page.facts import Row, moment
from proctor.render.page.template import page

TESTS = 10  # of each list
RUNS = 200


class Trends(msgspec.Struct):
    """What the history says; each list is in the order in which it is shown."""

    project: str
    runs: Sequence[RememberedRun] = ()  # the newest first
    flaky: Sequence[FlakyTest] = ()
    slowest: Sequence[tuple[str, float]] = ()  # tests with the seconds of their last pass
    slower: Sequence[SlowTest] = ()


def history_page(trends: Trends) -> Iterator[bytes]:
    """In pieces."""
    runs = trends.runs
    passed = sum(run.outcome == RunOutcome.PASSED for run in runs)
    headline = f"{passed} of {len(runs)} runs passed" if runs else "No runs yet"
    last = runs[0].outcome.replace("_", " ") if runs else ""
    told = f"{headline}; the last one: {last}" if runs else headline
    longest = max((run.duration for run in runs), default=0.0)
    values = {
        "title": f"{headline} · {trends.project}",
        "tone": _tone(runs[0]) if runs else "odd",
        "project": trends.project or "History",
        "headline": headline,
        "last": f"The last run: {last}, {moment(runs[0].started)}" if runs else "",
        "outcomes": chart("outcomes", f"Outcomes by run. {told}", [_outcome(run) for run in runs[::-1]]),
        "durations": chart(
            "durations",
            f"Duration by run; the longest took {_took(longest)}",
            [_time(run) for run in runs[::-1]],
        ),
        "most": max((run.tests for run in runs), default=0),
        "longest": _took(longest),
        "lists": [(name, rows) for name, rows in _lists(trends) if rows],
        "runs": [_row(run) for run in runs],
    }
    return page("history.html", values)


def _tone(run: RememberedRun) -> str:
    return "good" if run.outcome == RunOutcome.PASSED else "bad"


def _outcome(run: RememberedRun) -> Bar:
    others = max(0, run.tests - run.passed - run.failed)
    parts = ((run.failed, "bad"), (run.passed, "busy"), (others, "idle"))
    return Bar(f"{_named(run)}: {_told(run)}", parts, foot=_tone(run) == "bad")


def _time(run: RememberedRun) -> Bar:
    return Bar(f"{_named(run)}: {_took(run.duration)}", ((run.duration, "busy" if run.whole else "idle"),))


def _named(run: RememberedRun) -> str:
    where = " ".join(filter(None, (run.branch, run.commit[:COMMIT])))
    return ", ".join(filter(None, (moment(run.started), where)))


def _told(run: RememberedRun) -> str:
    others = run.tests - run.passed - run.failed
    counts = ((run.failed, "failed"), (run.passed, "passed"), (others, "other"))
    found = ", ".join(f"{count} {word}" for count, word in counts if count > 0)
    said = run.outcome in (RunOutcome.PASSED, RunOutcome.FAILED) and getattr(run, run.outcome)
    return found if said else f"{run.outcome.replace('_', ' ')}, {found or 'no tests'}"


def _took(seconds: float) -> str:
    return brief(seconds) if seconds < 60 else clock(seconds)


def _lists(trends: Trends) -> Iterator[tuple[str, list[Row]]]:
    yield "Flakiest", [_flaky(one) for one in trends.flaky[:TESTS]]
    slowest = [(test, took) for test, took in trends.slowest[:TESTS] if took >= SLOW]
    most = slowest[0][1] if slowest else 0.0
    yield "Slowest", [Row(test, brief(took), share=100 * took / (most or 1.0)) for test, took in slowest]
    yield "Got slower", [_slower(one) for one in trends.slower[:TESTS]]


def _flaky(one: FlakyTest) -> Row:
    share = 100 * one.failed / (one.results or 1)
    return Row(one.node_id, f"failed {one.failed} of {one.results}", share=share)


def _slower(one: SlowTest) -> Row:
    took = f"{brief(one.before)} to {brief(one.after)}"
    return Row(one.node_id, took, share=100 * one.before / (one.after or 1))


def _row(run: RememberedRun) -> dict[str, str]:
    asked = "everything" if run.whole else shlex.join(run.asked) or "a part"
    return {
        "id": run.run_id,
        "tone": _tone(run),
        "told": _told(run),
        "where": _named(run) + (" with changes" if run.dirty else ""),
        "took": _took(run.duration),
        "asked": "imported" if run.imported else asked,
    }

"""What the top and the end of a page say of a run: verdict, counts, where it ran, suites, notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from posixpath import basename
from typing import Any

import msgspec
from markupsafe import Markup

from proctor.durations import brief, clock
from proctor.events import ABSENT, FAILS, PASSES, BaselineCompared
from proctor.outcome import FLAKY, QUARANTINED, QUIET, Outcome, RunOutcome
from proctor.render import verdict_line
from proctor.render.closing import SLOW, skip_reasons, slowest, warning_lines
from proctor.render.history_words import COMMIT, baseline_name
from proctor.render.page.markup import html
from proctor.render.verdict_line import counts, own_notes, verdict_word
from proctor.result import RunResult, SuiteResult
from proctor.verdict import not_run_reason
from proctor.wire.reports.contents import suites

_SLOWEST = 10
_LISTED = 500  # rows of a list
_TONES = {
    "failed": "bad",
    "error": "bad",
    "errors": "bad",
    "crashed": "bad",
    "out": "bad",
    "passed": "good",
    "info": "good",
    "skipped": "calm",
    "deselected": "calm",
}


class Count(msgspec.Struct):
    number: str
    word: str
    tone: str


class Row(msgspec.Struct):
    """Of a list: what, how often or how long, and why."""

    name: str
    value: str = ""
    about: str = ""
    share: float = 0.0  # of the largest, in percent


def tone(outcome: RunOutcome) -> str:
    """Of a run, or of one of its suites."""
    if outcome in QUIET:
        return "good" if outcome is RunOutcome.PASSED else "odd"
    return "odd" if outcome is RunOutcome.RUNNING else "bad"


def counted(result: RunResult) -> list[Count]:
    """Every count of the verdict that is not zero."""
    found = []
    for text in counts(result, every=True):
        number, _, word = text.partition(" ")
        found.append(Count(number, word, _TONES.get(word.split()[-1], "odd")))
    return found


def headline(result: RunResult) -> str:
    """`412 passed`, `2 failed`, `Crashed`: the largest text of the page."""
    word = verdict_word(result)
    if word:
        return word.capitalize()
    found = counted(result)
    return (
        f"{found[0].number} {found[0].word}" if found else str(result.outcome).replace("_", " ").capitalize()
    )


def beside(result: RunResult) -> list[Count]:
    """The counts that the headline does not have."""
    found = counted(result)
    return found if verdict_word(result) else found[1:]


def said(result: RunResult) -> list[str]:
    """What the verdict says beside the counts; what earlier runs say has a place of its own."""
    return [*own_notes(result), *([result.reason] if result.reason else [])]


def where(result: RunResult) -> Iterator[tuple[str, str]]:
    """Where the run took place, when, and how long it took."""
    run = result.run
    project = run.invocation.project if run.invocation and run.invocation.project else run.cwd
    if project:
        yield "project", basename(project.rstrip("/")) or project
    if checkout := _checkout(result):
        yield "commit", checkout
    versions = {f"{name} {v}" for suite in result.suites for name, v in _toolchain(suite).items()}
    if versions:
        yield "with", ", ".join(sorted(versions)[:6])
    if run.host:
        yield "machine", run.host
    if run.started:
        yield "when", moment(run.started)
    if result.seconds or not run.retold:  # many reports of other tools do not say it
        yield "took", brief(result.seconds) if result.seconds < 60 else clock(result.seconds)


def _checkout(result: RunResult) -> str:
    here = result.history.checkout if result.history is not None else None
    if here is None:
        return ""
    changed = " with changes" if here.dirty else ""
    commit = f"{here.commit[:COMMIT]}{changed}" if here.commit else ""
    return " ".join(filter(None, (here.branch, commit)))


def _toolchain(suite: SuiteResult) -> dict[str, str]:
    return suite.described.toolchain if suite.described else {}


def moment(started: str) -> str:
    """`18 November 2026, 12:00:00 UTC`."""
    try:
        return datetime.fromisoformat(started).strftime("%-d %B %Y, %H:%M:%S %Z").strip()
    except ValueError:
        return started


def bar(result: RunResult) -> Markup:
    """The counts as one thin bar; what is rare stays visible."""
    tests = [one for one in counted(result) if one.word != "deselected"]
    total = sum(int(one.number) for one in tests)
    if not total:
        return Markup()
    widths = [max(0.8, 100 * int(one.number) / total) for one in tests]
    scale, x = 100 / sum(widths), 0.0
    told = ", ".join(f"{one.number} {one.word}" for one in tests)
    parts = [f'<svg class="bar" width="100%" height="8" role="img"><title>{html(told)}</title>']
    for one, width in zip(tests, widths, strict=True):
        parts.append(
            f'<rect class="{one.tone}" x="{x:.2f}%" width="{width * scale:.2f}%" height="8">'
            f"<title>{html(f'{one.number} {one.word}')}</title></rect>"
        )
        x += width * scale
    return Markup("".join([*parts, "</svg>"]))


def compared(result: RunResult) -> dict[str, Any]:
    """Against which run, and what is new, still failing, flaky or fixed since."""
    history = result.history
    found: dict[str, Any] = {"with": "", "words": [], "fixed": [], "baseline": ""}
    if history is not None:
        earlier = history.compared_with
        if earlier is not None:
            commit = f", commit {earlier.commit[:COMMIT]}" if earlier.commit else ""
            found["with"] = f"run {earlier.run_id}{commit}"
        tally: dict[str, int] = {}
        for test in result.failing:
            if told := result.earlier(test):
                tally[told.word] = tally.get(told.word, 0) + 1
        found["words"] = [f"{count} {_WORDS.get(word, word)}" for word, count in tally.items()]
        if history.fixed:
            found["words"].append(f"{len(history.fixed)} fixed")
        found["fixed"] = list(history.fixed[:_LISTED])
    if result.baseline is not None:
        found["baseline"] = _on_baseline(result.baseline, result.failing)
    return found


_WORDS = {"still": "still failing"}
_THERE = {FAILS: "failed there too", PASSES: "passed there", ABSENT: "did not exist there"}


def _on_baseline(baseline: BaselineCompared, failing: Iterable[str]) -> str:
    """`Baseline main@2dba883: 2 failed there too, 1 passed there`."""
    tally = Counter(_THERE.get(baseline.tests.get(test, ""), "cannot be told") for test in failing)
    told = [f"{count} {word}" for word, count in tally.most_common()] or ["no failure to compare"]
    why = f" ({baseline.reason})" if baseline.reason else ""
    return f"Baseline {baseline_name(baseline)}: {', '.join(told)}{why}"


class SuiteView(msgspec.Struct, kw_only=True):
    name: str
    outcome: str
    tone: str
    told: str = ""  # its counts
    seconds: str = ""
    about: str = ""  # why it ended as it did
    command: str = ""
    interpreter: str = ""
    versions: str = ""


def suite_rows(result: RunResult) -> list[SuiteView]:
    absent = (
        SuiteView(name=one.runner, outcome="not run", tone="odd", about=not_run_reason(one))
        for one in result.missing
    )
    return [*map(_suite, suites(result)), *absent]


def _suite(suite: SuiteResult) -> SuiteView:
    tally = [(str(word), count) for word, count in suite.counts.items()]
    tally += [(FLAKY, suite.flaky), (QUARANTINED, suite.excused)]
    told = [verdict_line.counted(count, word) for word, count in tally if count]
    files = len(suite.errors)
    told += [f"{files} file{'s' * (files > 1)} not collected"] if files else []
    told += [f"{len(suite.not_run)} not run"] if suite.not_run else []
    told += [f"{suite.restarts} more session{'s' * (suite.restarts > 1)}"] if suite.restarts else []
    return SuiteView(
        name=suite.name,
        outcome=str(suite.outcome).replace("_", " "),
        tone=tone(suite.outcome),
        told=", ".join(told),
        seconds=brief(suite.seconds),
        about=suite.reason,
        command=" ".join(suite.entered.command),
        interpreter=suite.entered.interpreter,
        versions=", ".join(f"{name} {version}" for name, version in _toolchain(suite).items()),
    )


def slow_rows(result: RunResult) -> list[Row]:
    found = slowest(result, _SLOWEST, SLOW)
    most = found[0].seconds if found else 1.0
    return [Row(test.test, brief(test.seconds), share=100 * test.seconds / most) for test in found]


def made_good_rows(result: RunResult) -> Iterator[tuple[str, list[Row]]]:
    """Tests that failed and do not count: flaky ones, those in quarantine."""
    if not result.flaky and not result.excused:
        return
    from proctor.causes import made_good
    from proctor.render.failure_report import brief as why

    rows: dict[str, list[Row]] = {}
    for word, first in made_good(result):
        reason = result.quarantined.get(first.test, "") if word == QUARANTINED else ""
        rows.setdefault(word, []).append(Row(first.test, reason, why(first)))
    yield from ((word, found[:_LISTED]) for word, found in rows.items())


def other_rows(result: RunResult) -> Iterator[tuple[str, list[Row]]]:
    """Lists for the end of the page: why tests were skipped, warnings, tests that passed unexpectedly."""
    skipped = [Row(reason, f"{count}x") for reason, count in skip_reasons(result).most_common(_LISTED)]
    if skipped:
        yield "skipped", skipped
    odd = [
        Row(test.test, about=test.message or "")
        for test in result.tests.values()
        if test.outcome is Outcome.XPASSED
    ]
    if odd:
        yield "passed, though expected to fail", odd[:_LISTED]
    if result.warnings:
        yield "warnings", [Row(told) for told in warning_lines(result)][:_LISTED]
    if result.not_run:
        yield "not run", [Row(test) for test in result.not_run[:_LISTED]]


def settings(result: RunResult) -> Iterator[tuple[str, str]]:
    """How the run was asked for."""
    run = result.run
    if run.run_id:
        yield "run", run.run_id
    if run.run_id or not run.retold:  # nobody knows what another tool was asked for
        yield "asked for", " ".join(run.asked) if run.asked else "everything" if run.everything else "a part"
    if run.invocation is not None and run.invocation.options:
        yield "options", " ".join(run.invocation.options)
    if run.invocation is not None and run.invocation.arguments:
        yield "arguments", " ".join(run.invocation.arguments)
    if run.retries:
        yield "retries", str(run.retries)
    if run.interpreter:
        yield "interpreter", run.interpreter
    if run.cwd:
        yield "directory", run.cwd

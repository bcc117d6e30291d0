"""Reads a result document as the entries of its run, and checks that it agrees with itself.

Its outcome is not checked here: `replay` compares that with the facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeAlias

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import BAD, FLAKY, QUARANTINED, Outcome, RunOutcome
from proctor.unique_names import without_number
from proctor.verdict import missing_reason
from proctor.wire.document.history import Heard
from proctor.wire.document.schema import CollectionError, Document, Suite, Test, read
from proctor.wire.reports.report import MAX_DOCUMENT
from proctor.wire.stream.words import KIND, MOST_SESSIONS

#: The tests and the collection errors of one suite.
_Share: TypeAlias = tuple[list[Test], list[CollectionError]]
#: Fields that a test of the document has in common with `TestFinished`, without the outcome.
_SHARED = [name for name in Test.__struct_fields__ if name in e.TestFinished.__struct_fields__[2:]]
_SHARED.remove("attempts")  # without the last one, which is the test itself
#: Outcomes in `json_report`, and those that are better.
_WORSE = {"skipped": frozenset({Outcome.PASSED})}
_WORSE |= dict.fromkeys(("failed", "error"), frozenset({Outcome.PASSED, Outcome.SKIPPED}))
_SHOWN = 5  # disagreements that are named


class DocumentRun:
    """It is one JSON value: there are no entries before its end."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._gaps: list[str] = []

    def feed(self, data: bytes) -> list[e.Entry]:
        self._pieces.append(data)
        self._size += len(data)
        if self._size > MAX_DOCUMENT:
            raise StreamError(f"a result document of more than {MAX_DOCUMENT} bytes is not read")
        return []

    def close(self) -> list[e.Entry]:
        found = read(b"".join(self._pieces))
        try:
            self._gaps = list(disagreements(found))
            events = list(_events(found, self.gap))
        except ValueError as error:  # an outcome that this version does not know
            raise StreamError(f"not a result document: {error}") from None
        return [e.Entry(seq, 0.0, suite, event) for seq, (suite, event) in enumerate(events)]

    @property
    def gap(self) -> str:
        """Where the document contradicts itself."""
        return "; ".join(self._gaps[:_SHOWN])


def _events(found: Document, gap: str) -> Iterator[tuple[int, e.Event]]:
    """Each with the number of its suite."""
    run = (found.run_id, found.runner, found.command, "", found.interpreter, found.started)
    yield (
        0,
        e.RunStarted(
            *run,
            source=found.source,
            collect_only=found.collect_only,
            retold=True,
            invocation=found.invocation,
        ),
    )
    if found.plan is not None:
        yield 0, found.plan
    suites = found.suites or [_only_suite(found)]
    shares: dict[str, _Share] = {suite.name: ([], []) for suite in suites}
    rest = shares[suites[-1].name]  # what names no suite that is known belongs to the last
    for test in found.tests:
        shares.get(test.suite, rest)[0].append(test)
    for error in found.collection_errors:
        shares.get(error.suite, rest)[1].append(error)
    outputs = found.outputs()
    for number, suite in enumerate(suites):
        share = shares.pop(suite.name, ([], []))
        yield from ((number, event) for event in _of_suite(found, suite, share, outputs, gap))
    last = len(suites) - 1
    for warning in found.warnings:
        recorded = e.WarningRecorded(warning.category, warning.message, warning.file, warning.line)
        yield from [(last, recorded)] * min(warning.count, 1000)
    if found.text_output:
        yield last, e.OutputReceived("stdout", found.text_output)
    for missing in found.missing:
        yield last, missing
    for notice in found.notices:
        yield last, e.Noticed(notice)
    yield from ((last, event) for event in compared(found))
    duration = found.summary.get("duration", 0.0)
    yield last, e.RunFinished(RunOutcome(found.outcome), duration, found.not_run, found.reason)


def compared(found: Document) -> Iterator[e.Event]:
    """What the document has of earlier runs and of another commit."""
    heard = Heard()
    for test in found.tests:
        if test.history is not None or test.baseline:
            heard.add(test.node_id, test.history, test.baseline, test.baseline_reason)
    for error in found.collection_errors:
        heard.add(error.file, error.history, error.baseline, error.baseline_reason)
    return heard.events(found.fixed, found.compared_with, found.baseline, found.checkout)


def _only_suite(found: Document) -> Suite:
    """A document of one suite has the suite's fields at the top."""
    shared = {name: getattr(found, name) for name in Suite.__struct_fields__ if hasattr(found, name)}
    shared["outcome"], shared["reason"] = _own_end(found)
    return Suite(name=found.runner, duration=found.summary.get("duration", 0.0), **shared)


def _own_end(found: Document) -> tuple[str, str]:
    """How the only suite ended, also where the run is incomplete for want of others."""
    others = missing_reason(found.missing)
    if not others or found.outcome != RunOutcome.INCOMPLETE or not found.reason.endswith(others):
        return found.outcome, found.reason
    if own := found.reason.removesuffix(others).removesuffix("; "):
        return found.outcome, own
    if found.collection_errors:
        return RunOutcome.COLLECTION_ERROR, ""
    if any(test.outcome in BAD and not test.quarantined for test in found.tests):
        return RunOutcome.FAILED, ""
    return (RunOutcome.PASSED if found.tests or found.collect_only else RunOutcome.NO_TESTS), ""


def _of_suite(
    found: Document, suite: Suite, share: _Share, outputs: dict[str, tuple[str, str]], gap: str
) -> Iterator[e.Event]:
    tests, errors = share
    own = tuple(test.node_id for test in tests if not test.part_of)
    entered = suite.name, suite.runner, suite.command, suite.root, suite.interpreter, suite.source
    yield e.SuiteEntered(*entered, shard_of=suite.shard_of, tries=suite.tries)
    if suite.toolchain:
        yield e.SuiteDescribed(suite.root, suite.toolchain)
    yield e.TestsSelected((*own, *suite.not_run))
    count = len(own) + len(suite.not_run) + len(errors)
    build = found.started if suite.build is None else suite.build
    title = suite.name if suite.title is None else suite.title
    yield e.SuiteStarted(title, build, count, foreign=suite.foreign)
    for error in errors:
        failure = error.failure or e.Failure("", error.message)
        yield e.CollectionFailed(error.file, failure, error.traceback, error.foreign)
    if quarantined := {test.node_id: test.quarantine_reason for test in tests if test.quarantined}:
        yield e.TestsQuarantined(quarantined)
    yield from _later_sessions(suite, tests)
    for test in tests:
        outcome, shared = Outcome(test.outcome), {name: getattr(test, name) for name in _SHARED}
        if test.node_id in outputs:
            shared["phases"] = (_printed(outcome, test.duration, *outputs[test.node_id]),)
        yield e.TestFinished(test.node_id, outcome, test.duration, attempts=tuple(_earlier(test)), **shared)
    if suite.printed:
        yield e.SummaryPrinted(suite.printed)
    if suite.quoted is not None:
        yield suite.quoted
    if suite.exit_code is not None or suite.signal is not None:
        yield e.ProcessExited(suite.exit_code or 0, suite.signal)
    if gap:
        yield e.ChannelBroken(gap)
    ended = RunOutcome(suite.outcome), suite.duration, suite.not_run, suite.reason, suite.foreign_end
    yield e.SuiteFinished(*ended)


def _later_sessions(suite: Suite, tests: list[Test]) -> Iterator[e.Event]:
    """A document does not say which of them followed a death: the first one stands for all."""
    if suite.restarts <= 0:
        return
    counts = Counter(test.session for test in tests)
    for number in range(2, min(suite.restarts, MOST_SESSIONS) + 2):
        yield e.SessionStarted(number, suite.restarted and number == 2, counts[number])


def _earlier(test: Test) -> Iterator[e.Attempt]:
    for one in test.attempts[:-1]:
        yield e.Attempt(Outcome(one.outcome), one.duration, one.message, one.failure)


def _printed(outcome: Outcome, seconds: float, stdout: str, stderr: str) -> e.Phase:
    """All that a test wrote, as if its call had."""
    kind, status = str(KIND[outcome]), str(outcome)
    return e.Phase("call", kind, seconds, status=status, stdout=stdout, stderr=stderr)


def disagreements(found: Document) -> Iterator[str]:
    """Where the document contradicts itself."""
    words = Counter(map(counted, found.tests))
    for word in words.keys() - {FLAKY, QUARANTINED}:
        Outcome(word)  # or it is none that this version knows
    yield from _of_counts("its summary", found.summary, _summary(found, words))
    names = Counter(test.node_id for test in found.tests)
    yield from (f"{name} is listed {count} times" for name, count in names.items() if count > 1)
    yield from (f"{name} is among the tests and not run" for name in found.not_run if name in names)
    if found.current_test is not None and not (words[Outcome.CRASH] or words[Outcome.TIMEOUT]):
        yield f"its current test is {found.current_test}, and no test crashed or timed out"
    yield from _of_attempts(found)
    yield from _of_sessions(found)
    yield from _of_suites(found)
    yield from _of_report(found)


def counted(test: Test) -> str:
    """As what a test counts: its outcome, unless that is not all there is to it."""
    if not test.attempts and not test.quarantined:  # nearly all
        return test.outcome
    if test.quarantined and test.outcome in BAD:
        return QUARANTINED
    return FLAKY if _is_flaky(test) else test.outcome


def _is_flaky(test: Test) -> bool:
    return test.outcome == Outcome.PASSED and any(one.outcome in BAD for one in test.attempts[:-1])


def _of_attempts(found: Document) -> Iterator[str]:
    for test in [test for test in found.tests if test.attempts or test.flaky]:
        if test.attempts and test.attempts[-1].outcome != test.outcome:
            yield f"{test.node_id} is {test.outcome}, and its last attempt is {test.attempts[-1].outcome}"
        if test.flaky != _is_flaky(test):
            yield f"{test.node_id} is {'' if test.flaky else 'not '}flaky, and its attempts say otherwise"


def _of_sessions(found: Document) -> Iterator[str]:
    suites: list[Document | Suite] = [found, *found.suites]
    for suite in suites:
        if not 0 <= suite.restarts < MOST_SESSIONS:
            yield f"it says {suite.restarts} restarts"
    restarts = {suite.name: suite.restarts for suite in found.suites}
    if restarts and sum(restarts.values()) != found.restarts:
        yield f"it says {found.restarts} restarts, and its suites say {sum(restarts.values())}"
    for test in [test for test in found.tests if test.session != 1]:
        last = restarts.get(test.suite, found.restarts) + 1
        if not 1 <= test.session <= last:
            yield f"{test.node_id} is of session {test.session}, and there are {last}"


def _summary(found: Document, tally: Counter[str]) -> dict[str, int]:
    errors = tally[Outcome.ERROR] + tally[Outcome.CRASH] + tally[Outcome.TIMEOUT]
    words = (Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED, Outcome.XFAILED, Outcome.XPASSED)
    shown = (*words, FLAKY, QUARANTINED, Outcome.INFO, Outcome.WARN)
    counts = {str(word): tally[word] for word in shown}
    counts["errors"] = errors + len(found.collection_errors)
    return counts | {"total": len(found.tests), "not_run": len(found.not_run)}


def _of_counts(where: str, stated: dict[str, Any], counted: dict[str, int]) -> Iterator[str]:
    for name, count in counted.items():
        if stated.get(name, count) != count:
            yield f"{where} says {stated[name]} {name}, and there are {count}"


def _of_suites(found: Document) -> Iterator[str]:
    """Each thing belongs to a suite, and the run ended like one of them."""
    if not found.suites:
        return
    names = Counter(suite.name for suite in found.suites)
    yield from (f"{count} suites are named {name!r}" for name, count in names.items() if count > 1)
    owners = [(test.node_id, test.suite) for test in found.tests]
    owners += [(error.file, error.suite) for error in found.collection_errors]
    for name, suite_name in owners:
        if suite_name not in names:
            yield f"{name} is of the suite {suite_name!r}, which is not there"
    counts: dict[str, Counter[str]] = {suite.name: Counter() for suite in found.suites}
    for test in found.tests:
        counts.get(test.suite, Counter())[counted(test)] += 1
    for suite in found.suites:
        if suite.counts is not None:
            own = counts[suite.name]
            known = {word: own[word] for word in {*own, *suite.counts}}
            yield from _of_counts(f"suite {suite.name!r}", dict.fromkeys(known, 0) | suite.counts, known)
    planned = Counter({*found.plan.tests, *found.plan.more} if found.plan is not None else ())
    not_run = Counter(test for suite in found.suites for test in suite.not_run)
    if not_run - Counter(found.not_run) or Counter(found.not_run) - not_run - planned:
        yield "the tests that were not run are others at the top than in the suites"
    codes = [suite.exit_code for suite in found.suites if suite.exit_code is not None]
    if found.exit_code not in ({next((code for code in codes if code), 0)} if codes else {None}):
        yield f"its exit code is {found.exit_code}, and those of the suites are {codes}"
    if found.signal is not None and found.signal not in {suite.signal for suite in found.suites}:
        yield f"its signal is {found.signal}, and no suite has that"


def _of_report(found: Document) -> Iterator[str]:
    """`json_report` has the same tests, but for parts of tests and modules that were skipped as a whole."""
    reported = found.reported()
    if reported is None:
        return
    own = {test.node_id: Outcome(test.outcome) for test in found.tests if not test.part_of}
    there = {test.nodeid for test in reported}
    whole = {name for name in own.keys() - there if own[name] is Outcome.SKIPPED}
    if whole:
        known = found.skipped_whole()
        whole = {name for name in whole if without_number(name) in known}
    if odd := sorted((own.keys() ^ there) - whole):
        yield f"{odd[0]} is in only one of tests and json_report"
    for test in reported:
        outcome = own.get(test.nodeid, Outcome.FAILED)
        better = _WORSE.get(test.outcome, frozenset())
        if outcome not in BAD and KIND[outcome] in better:
            yield f"{test.nodeid} is {outcome} in tests, and {test.outcome} in json_report"
    report = found.report
    failed = sum(test.outcome in ("failed", "error") for test in reported)
    stated = report.summary.get("failed", 0) + report.summary.get("error", 0)
    if report.summary and stated != failed:
        yield f"the summary of json_report says {stated} failed, and there are {failed}"

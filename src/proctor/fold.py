"""What a run means. The one place where facts become outcomes, a test's and the run's.

Pure: the same entries give the same result, live or replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from proctor import events as e
from proctor.launch import Voice
from proctor.outcome import BAD, ENOUGH, Outcome, RunOutcome
from proctor.result import Mark, Result, SuiteRecord
from proctor.verdict import run_verdict, verdict


def begin(started: e.RunStarted) -> Result:
    return Result(run=started)


def fold(result: Result, entry: e.Entry) -> None:
    """Take one entry into the result."""
    event = entry.event
    match event:
        case e.TestFinished():
            result.running.pop(event.test, None)
            _settle(result, event)
        case e.TestStarted():
            result.running[event.test] = entry.at
            if event.place is not None:
                result.places[event.test] = event.place
        case e.FileAttached():
            result.attached.setdefault(event.test, []).append(event.file)
        case e.ResultAmended():
            pass  # what it adds up to comes when the result is closed
        case e.OutputReceived():
            result.output.add(event.text)
            if event.stream == "stderr":
                result.stderr.add(event.text)
        case e.RunStarted():
            result.run = event
        case e.SuiteDescribed():
            result.suite = event
        case e.CollectorFinished():
            result.collectors.append(event)
        case e.TestsSelected():
            result.selected.update(dict.fromkeys(event.tests))
            result.markers.update(event.markers)
            result.places.update(event.places)
        case e.TestsDeselected():
            result.deselected.extend(event.tests)
        case e.SuiteStarted():
            result.count = event.count
            result.build = event.build
            result.filtered_out = event.filtered_out
        case e.CollectionFailed():
            result.collection_errors.append(event)
        case e.WarningRecorded():
            result.warnings.append(event)
        case e.SessionInterrupted():
            result.interrupted = event
        case e.SessionBroke():
            result.broke = event
        case e.SessionFinished():
            result.finished = event
        case e.ChannelBroken():
            result.channel_error = event.reason
        case e.FaultTraced():
            result.fault = event
        case e.RunStopped():
            result.stopped = event.reason
        case e.ProcessExited():
            if result.exited is None or result.exited.exit_code == 0:  # of several, the first that is not 0
                result.exited = event
        case e.Noticed():
            result.notices.append(event.text)
        case e.SuiteEntered():
            _enter(result, event, entry.at)
        case e.SuiteFinished():
            _leave(result, event, entry.at)
        case e.RunFinished():
            _sum_up(result)
            result.outcome = event.outcome
            result.reason = event.reason
            result.seconds = event.seconds
            result.not_run = event.not_run
            _never_began(result, event.not_run)
        case _:
            assert_never(event)


def fold_parts(result: Result, parts: Sequence[e.TestFinished]) -> None:
    """What `fold` comes to for parts of tests whose labels are new, in fewer steps."""
    result.tests.update({part.test: part for part in parts})
    result.counts.update([part.outcome for part in parts])
    result.parts += len(parts)


def _settle(result: Result, event: e.TestFinished) -> None:
    if result.attached:
        result.attached.pop(event.test, None)
    earlier = result.tests.get(event.test)
    if earlier is not None:
        if earlier.outcome in BAD and event.outcome not in BAD:
            return  # run twice under one name: failing once is failing
        result.counts[earlier.outcome] -= 1
        result.parts -= bool(earlier.part_of)
    result.tests[event.test] = event
    result.parts += bool(event.part_of)
    result.counts[event.outcome] += 1
    if event.outcome in (Outcome.CRASH, Outcome.TIMEOUT) and result.current_test is None:
        result.current_test = event.test


def _enter(result: Result, event: e.SuiteEntered, at: float) -> None:
    if result.in_suite:
        _leave(
            result, e.SuiteFinished(RunOutcome.INCOMPLETE, reason="another suite began before its end"), at
        )
    result.entered, result.in_suite, result.mark = event, True, result.marked(at)
    result.suite = result.count = result.interrupted = result.broke = result.finished = None
    result.fault = result.channel_error = result.exited = None
    result.build, result.filtered_out = "", 0


def _leave(result: Result, event: e.SuiteFinished, at: float) -> None:
    if result.entered is None or not result.in_suite:
        return  # a suite that never began has nothing to end
    result.in_suite = False
    _never_began(result, event.not_run)
    result.suites.append(
        SuiteRecord(
            result.entered,
            event,
            result.suite,
            result.count,
            result.filtered_out or len(result.own_deselected()),
            result.broke,
            result.exited,
            result.mark,
            result.marked(at),
        )
    )


def _never_began(result: Result, tests: tuple[str, ...]) -> None:
    for test in tests:
        result.running.pop(test, None)


def _sum_up(result: Result) -> None:
    """What the present suite was said to be is the run's again."""
    suites = result.suites
    if not suites:
        return
    result.entered, result.in_suite, result.mark = None, False, Mark()
    result.count = sum(suite.count or 0 for suite in suites)
    result.filtered_out = sum(suite.filtered_out for suite in suites)
    result.finished = None
    result.suite = next((suite.described for suite in suites if suite.described), None)
    result.broke = next((suite.broke for suite in suites if suite.broke), None)
    ends = [suite.exited for suite in suites if suite.exited]
    result.exited = next((end for end in ends if end.exit_code), ends[-1] if ends else None)


def conclude(phases: Sequence[e.Phase]) -> Outcome:
    """What the steps of one test add up to: each test ends once, in the worst way it earned."""
    outcome = Outcome.PASSED
    called = False
    for phase in phases:
        called = called or phase.when == "call" or phase.outcome != "passed"
        if phase.subtest is not None:
            if phase.outcome == "failed":
                outcome = Outcome.FAILED
        elif phase.outcome == "failed":
            if phase.when == "call":
                outcome = Outcome.FAILED
            elif outcome is not Outcome.FAILED:
                outcome = Outcome.ERROR
        elif outcome is Outcome.PASSED:
            if phase.outcome == "skipped":
                outcome = Outcome.XFAILED if phase.wasxfail is not None else Outcome.SKIPPED
            elif phase.wasxfail is not None and phase.when == "call":
                outcome = Outcome.XPASSED
    return outcome if called else Outcome.ERROR  # set up, perhaps taken down, but never called


def closing_events(result: Result, seconds: float) -> list[e.Event]:
    """Endings for whatever has none, then the verdict: to be sent the way of all other events."""
    if not (result.in_suite or result.suites):
        outcome, why = verdict(result)
        return [*_endings(result), e.RunFinished(outcome, seconds, _not_run(result), why)]
    endings = suite_closing_events(result, seconds) if result.in_suite else _test_endings(result)
    finished = next((event for event in endings if isinstance(event, e.SuiteFinished)), None)
    ended = [*(suite.finished for suite in result.suites), *([finished] if finished else [])]
    missed = tuple(test for suite in ended for test in suite.not_run if test not in result.tests)
    outcome, why = run_verdict(result, finished)
    return [*endings, e.RunFinished(outcome, seconds, missed, why)]


def suite_closing_events(result: Result, at: float) -> list[e.Event]:
    """The same for the present one of several suites."""
    outcome, why = verdict(result)
    seconds = max(0.0, at - result.mark.at)
    return [*_endings(result), e.SuiteFinished(outcome, seconds, _not_run(result), why)]


def _endings(result: Result) -> list[e.Event]:
    endings: list[e.Event] = []
    if result.count is None and result.source != Voice.BUILD:
        known = sum(1 for _ in result.own_selected()) + len(result.own_errors())
        name = result.entered.name if result.entered else result.run.runner
        endings.append(e.SuiteStarted(name, result.run.started, known))
    return endings + _test_endings(result)


def _test_endings(result: Result) -> list[e.Event]:
    return [] if _had_enough(result) else [_ending(result, test) for test in result.running]


def _had_enough(result: Result) -> bool:
    """We ended the process because others had failed: the tests that it was running count as never begun."""
    return result.interrupted is not None and result.interrupted.failure.type == ENOUGH


def _not_run(result: Result) -> tuple[str, ...]:
    """Of the present suite: tests that were to run and never began."""
    if result.run.collect_only:
        return ()
    tests, running = result.tests, result.running
    missed = [test for test in result.own_selected() if test not in tests and test not in running]
    return (*missed, *running) if _had_enough(result) else tuple(missed)


def _ending(result: Result, test: str) -> e.TestFinished:
    """The test that was running when the process ended or fell silent: what was not closed is an error."""
    outcome, cause = _lost(result)
    fault = result.fault
    place = result.interrupted.failure.place if result.interrupted else None
    if place is None and fault and fault.places:
        place = fault.places[0]
    at = place or result.places.get(test)
    return e.TestFinished(
        test,
        outcome,
        message=f"{cause} at {at}" if at else cause,
        traceback=fault.text if fault else None,
        place=result.places.get(test),
        failure=e.Failure("", cause, at),
        files=tuple(result.attached.get(test, ())),
    )


def _lost(result: Result) -> tuple[Outcome, str]:
    """How a test ended that never said so itself, and in which words."""
    if result.stopped is RunOutcome.TIMEOUT:
        return Outcome.TIMEOUT, "time limit reached"
    if result.stopped is not None:
        return Outcome.ERROR, f"run {result.stopped}"
    if result.interrupted is not None:
        failure = result.interrupted.failure
        return Outcome.ERROR, failure.message or failure.type
    if result.channel_error is not None:
        return Outcome.ERROR, f"not heard of again: {result.channel_error}"
    if result.exited is None or result.finished is not None:
        return Outcome.ERROR, "never finished"
    several = f"one of {len(result.running)} tests that were running" if len(result.running) > 1 else ""
    if result.exited.signal:
        said = f" ({result.fault.reason})" if result.fault else ""
        return Outcome.CRASH, f"{result.exited.signal}{said}{several and f' during {several}'}"
    return Outcome.CRASH, f"the process exited with {result.exited.exit_code} during {several or 'the test'}"

"""Folds events into a result: the only place where facts become outcomes of tests, suites and the run.

Pure: the same entries give the same result, live or replayed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import assert_never

from msgspec.structs import replace

from proctor import events as e
from proctor.launch import Voice
from proctor.outcome import BAD, MAXFAIL, Outcome, RunOutcome
from proctor.result import Doubled, RunResult, Session, SuiteResult
from proctor.verdict import verdict, worst

_tries = attrgetter("attempts")
_ENDINGS = ("failed", "skipped")  # that end a test; not `rerun`: another attempt must follow


def begin(started: e.RunStarted) -> RunResult:
    """A run has its first suite from the start, with the properties of the run until it is described."""
    return RunResult(started, [_new_suite(started)])


def _new_suite(run: e.RunStarted) -> SuiteResult:
    entered = e.SuiteEntered(run.runner, run.runner, run.command, run.cwd, run.interpreter, run.source)
    return SuiteResult(run, entered)


def fold(result: RunResult, entry: e.Entry) -> None:
    """Take one entry into the result. A suite has the number that follows those of the suites before it."""
    event = entry.event
    if entry.suite == len(result.suites):
        result.suites.append(_new_suite(result.run))
    suite = result.suites[entry.suite]
    match event:
        case e.TestFinished():
            suite.running.pop(event.test, None)
            _settle(suite, event)
        case e.TestStarted():
            if suite.doubled and not suite.session.round and event.test in suite.doubled:
                suite.doubled[event.test].left -= 1
            suite.running[event.test] = entry.at
            if event.place is not None:
                suite.places[event.test] = event.place
        case e.AttemptFailed():
            suite.running.pop(event.result.test, None)
            suite.attached.pop(event.result.test, None)
            suite.attempts.setdefault(event.result.test, []).append(event.result)
        case e.TestOverdue():
            suite.session.overdue = {**suite.session.overdue, event.test: event.limit}
        case e.TestsQuarantined():
            suite.quarantined.update(event.tests)
        case e.SessionStarted():
            suite.sessions.append(Session(follows_death=event.died, round=event.round))
            suite.running.clear()  # of these, the ones that are not to blame run again
        case e.FileAttached():
            suite.attached.setdefault(event.test, []).append(event.file)
        case e.ResultAmended():
            pass  # what it adds up to comes when the result is closed
        case e.OutputReceived():
            result.output.add(event.text)
            if event.stream == "stderr":
                result.stderr.add(event.text)
        case e.RunStarted():
            result.run = suite.run = event
        case e.SuiteEntered():
            suite.entered, suite.started, suite.stopped = event, entry.at, result.stopped
        case e.SuiteDescribed():
            if suite.session.exited is not None:
                suite.sessions.append(Session())
            suite.session.described = event
        case e.CollectorFinished():
            suite.collectors.append(event)
            suite.collected += sum(child.tested for child in event.children)
        case e.TestsSelected():
            _select(suite, event.tests)
            suite.markers.update(event.markers)
            suite.places.update(event.places)
            suite.groups.update(event.groups)
        case e.TestsDeselected():
            suite.deselected.extend(event.tests)
        case e.SuiteStarted():
            suite.count = event.count
            suite.build = event.build
            suite.filtered_out = event.filtered_out
            suite.foreign = event.foreign
            suite.title = event.name
        case e.CollectionFailed():
            suite.errors.append(event)
        case e.WarningRecorded():
            suite.warnings.append(event)
        case e.SessionInterrupted():
            if not _reached_maxfail(suite):  # the process was interrupted for that, and may say so
                suite.session.interrupted = event
        case e.SessionBroke():
            suite.session.broke = event
        case e.SessionFinished():
            suite.session.finished = event
        case e.StatusExplained():
            suite.session.explained = event
        case e.OutputQuoted():
            suite.session.quoted = event
        case e.ChannelBroken():
            suite.session.channel_error = event.reason
        case e.FaultTraced():
            suite.session.fault = event
        case e.RunStopped(only_suite=True):
            suite.stopped = event.reason
        case e.RunStopped():
            result.stopped = event.reason
            for known in result.suites:
                if known.outcome is RunOutcome.RUNNING:
                    known.stopped = event.reason
        case e.ProcessExited():
            if suite.session.exited is None or suite.session.exited.exit_code == 0:
                suite.session.exited = event
            if not event.test:
                suite.session.lost = tuple(suite.running)
        case e.TestsPlanned():
            result.planned = event if result.planned is None else result.planned.followed(event)
        case e.SuiteMissing():
            result.missing.append(event)
        case e.SummaryPrinted():
            suite.session.printed += event.text
        case e.Noticed():
            result.notices.append(event.text)
        case e.HistoryCompared():  # the log of a later version may have words that mean nothing here
            histories = {test: told for test, told in event.tests.items() if told.word in e.WORDS}
            result.history = replace(event, tests=histories)
        case e.BaselineCompared():
            words = {test: word for test, word in event.tests.items() if word in e.BASELINE_WORDS}
            result.baseline = replace(event, tests=words)
        case e.SuiteFinished():
            _finish(suite, event)
        case e.RunFinished():
            for unfinished in result.suites:
                if unfinished.outcome is RunOutcome.RUNNING:  # a run of one suite may have one end for both
                    _finish(unfinished, event)
            result.outcome = event.outcome
            result.reason = event.reason
            result.seconds = event.seconds
            result.not_found = result.find_missing()
        case _:
            assert_never(event)


def _select(suite: SuiteResult, tests: tuple[str, ...]) -> None:
    """A framework may have two tests of one name."""
    fresh = dict.fromkeys(tests)
    if len(fresh) < len(tests) or not suite.selected.keys().isdisjoint(fresh):
        known = set(suite.selected)
        for test in tests:
            if test in known:
                doubled = suite.doubled.setdefault(test, Doubled(1, 1))
                doubled.times += 1
                doubled.left += 1
            known.add(test)
    suite.selected.update(fresh)


def fold_all(result: RunResult, first: e.Entry, events: Sequence[e.Event]) -> None:
    """`fold` of each; `first` is the entry of the first one, and the others follow it in number."""
    at, number = first.at, first.suite
    if number >= len(result.suites) or not _fold_tests(result.suites[number], at, events):
        for seq, event in enumerate(events, first.seq):
            fold(result, e.Entry(seq, at, number, event))


def _fold_tests(suite: SuiteResult, at: float, events: Sequence[e.Event]) -> bool:
    """All at once, if they are starts and ends of tests, and those that end have no end yet; else nothing."""
    kinds = list(map(type, events))
    if kinds.count(e.TestStarted) + kinds.count(e.TestFinished) < len(events) or suite.attached:
        return False
    ends = {event.test: event for event in events if type(event) is e.TestFinished}
    if suite.quarantined or suite.attempts or suite.doubled or any(map(_tries, ends.values())):
        return False
    if len(ends) < kinds.count(e.TestFinished) or not suite.tests.keys().isdisjoint(ends):
        return False
    if len(ends) < len(events) or not suite.running.keys().isdisjoint(ends):
        _fold_running(suite, at, events)
    suite.tests |= ends
    suite.counts.update([event.outcome for event in ends.values()])
    suite.parts += sum([event.part_of != "" for event in ends.values()])
    return True


def _fold_running(suite: SuiteResult, at: float, events: Sequence[e.Event]) -> None:
    running, places = suite.running, suite.places
    for event in events:
        if type(event) is e.TestStarted:
            running[event.test] = at
            if event.place is not None:
                places[event.test] = event.place
        elif type(event) is e.TestFinished:
            running.pop(event.test, None)


def _settle(suite: SuiteResult, event: e.TestFinished) -> None:
    if suite.attached:
        suite.attached.pop(event.test, None)
    suite.attempts.pop(event.test, None)
    earlier = suite.tests.get(event.test)
    if earlier is not None:
        if (earlier.outcome in BAD or earlier.flaky) and event.outcome not in BAD:
            return  # run twice under one name: failing once is failing
        _count(suite, earlier, -1)
    suite.tests[event.test] = event
    _count(suite, event, 1)


def _count(suite: SuiteResult, event: e.TestFinished, change: int) -> None:
    """Each test counts once: as flaky, as excused, or by its outcome."""
    suite.parts += change if event.part_of else 0
    if event.outcome in BAD and event.test in suite.quarantined:
        suite.excused += change
    elif event.flaky:
        suite.flaky += change
    else:
        suite.counts[event.outcome] += change


def _finish(suite: SuiteResult, event: e.SuiteFinished | e.RunFinished) -> None:
    suite.outcome, suite.reason, suite.seconds = event.outcome, event.reason, event.seconds
    if isinstance(event, e.SuiteFinished):
        suite.foreign_end = event.foreign
    suite.not_run = tuple(test for test in event.not_run if test not in suite.tests)
    for test in event.not_run:
        suite.running.pop(test, None)
    _put_in_order(suite)


def _put_in_order(suite: SuiteResult) -> None:
    """Tests come in the order of the collection, however workers and restarts mixed them. What was not
    selected stays behind the test that it followed, and a part with the test that it belongs to."""
    if list(suite.tests) == list(suite.selected):
        return
    ranks = {test: rank for rank, test in enumerate(suite.selected)}
    known = [rank for test in suite.tests if (rank := ranks.get(test)) is not None]
    if known == sorted(known):
        return
    places: dict[str, int] = {}
    last = -1
    for name, test in suite.tests.items():
        of = test.part_of or name
        last = places[name] = ranks.get(of, places.get(of, last))
    suite.tests = dict(sorted(suite.tests.items(), key=lambda item: places[item[0]]))


def conclude(phases: Sequence[e.Phase]) -> Outcome:
    """What the steps of one test add up to: each test ends once, in the worst way it earned."""
    outcome = Outcome.PASSED
    called = False
    for phase in phases:
        called = called or phase.outcome in _ENDINGS or (phase.when == "call" and phase.outcome == "passed")
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


def closing_events(result: RunResult, at: float) -> Iterator[tuple[int, e.Event]]:
    """Endings for whatever has none, then the verdict: to be sent the way of all other events.

    Each comes with the number of its suite, and is to be folded before the next is asked for.
    """
    for number in range(len(result.suites)):
        yield from suite_closing_events(result, number, at)
    outcome, why = worst(result)
    yield 0, e.RunFinished(outcome, at, (*result.not_run, *result.find_missing()), why)


def suite_closing_events(result: RunResult, number: int, at: float) -> Iterator[tuple[int, e.Event]]:
    """Endings for whatever in the suite has none, and for the suite; nothing, if that has ended already."""
    suite = result.suites[number]
    if suite.outcome is not RunOutcome.RUNNING:
        return
    if suite.count is None and suite.source != Voice.BUILD:
        known = len(suite.selected) + len(suite.errors)
        yield number, e.SuiteStarted(suite.name, suite.run.started, known)
    for ending in _never_again(suite):
        yield number, ending
    not_run, (outcome, why) = _not_run(suite), verdict(suite)
    lost = [] if _reached_maxfail(suite) else [_ending(suite, test) for test in suite.running]
    for ending in lost:
        yield number, _with_attempts(suite, ending)
    yield number, e.SuiteFinished(outcome, max(0.0, at - suite.started), not_run, why)


def session_closing_events(result: RunResult, number: int) -> Iterator[tuple[int, e.Event]]:
    """Endings for the tests that died with a session, where the suite may have another one."""
    suite = result.suites[number]
    overdue = suite.session.overdue
    for test in list(suite.running):
        if not overdue or test in overdue:  # the others only had the bad luck to run at the same time
            yield number, ended(suite, _ending(suite, test))


def ended(suite: SuiteResult, finished: e.TestFinished) -> e.Event:
    """The event for the end of a test: a bad end is only an attempt while the test may run again."""
    if finished.test in suite.session.overdue and finished.outcome is not Outcome.TIMEOUT:
        finished = _too_late(suite, finished)
    may_retry = suite.run.retries > suite.session.round and finished.test not in suite.quarantined
    if may_retry and finished.outcome in BAD:
        return e.AttemptFailed(finished)
    return _with_attempts(suite, finished) if finished.test in suite.attempts else finished


def _too_late(suite: SuiteResult, finished: e.TestFinished) -> e.TestFinished:
    """It came to an end after it was interrupted for its time limit."""
    cause = over_limit(suite.session.overdue[finished.test])
    at = (finished.failure.place if finished.failure else None) or finished.place
    return replace(
        finished,
        outcome=Outcome.TIMEOUT,
        message=f"{cause} at {at}" if at else cause,
        failure=e.Failure("", cause, at),
        passed_in=None,
    )


def _with_attempts(suite: SuiteResult, finished: e.TestFinished) -> e.TestFinished:
    """The end of a test that was tried before."""
    tries = suite.attempts.get(finished.test)
    if not tries:
        return finished
    if finished.outcome is Outcome.PASSED or finished.outcome in BAD:
        last, before = finished, tries
    else:  # skipped, for instance: that takes no failure back
        last, before = tries[-1], [*tries[:-1], finished]
    return replace(last, attempts=(*(_attempt(one) for one in before), *last.attempts))


def _attempt(finished: e.TestFinished) -> e.Attempt:
    return e.Attempt(finished.outcome, finished.seconds, finished.message, finished.failure)


def _never_again(suite: SuiteResult) -> Iterator[e.TestFinished]:
    """Endings for tests that might have run again and did not."""
    for test, tries in list(suite.attempts.items()):
        last = tries[-1]
        owner = suite.tests.get(last.part_of) if last.part_of else None
        if test not in suite.running and not (owner is not None and owner.flaky):
            before = tuple(_attempt(one) for one in tries[:-1])
            yield replace(last, attempts=(*before, *last.attempts))


def _reached_maxfail(suite: SuiteResult) -> bool:
    """We ended the process because others had failed: the tests that it was running count as never begun."""
    interrupted = suite.session.interrupted
    return interrupted is not None and interrupted.failure.type == MAXFAIL


def _not_run(suite: SuiteResult) -> tuple[str, ...]:
    """Tests that were to run and never began."""
    if suite.run.collect_only:
        return ()
    begun = (suite.tests, suite.running, suite.attempts)
    missed = [test for test in suite.selected if not any(test in known for known in begun)]
    return (*missed, *suite.running) if _reached_maxfail(suite) else tuple(missed)


def _ending(suite: SuiteResult, test: str) -> e.TestFinished:
    """The test that was running when the process ended or fell silent: what was not closed is an error."""
    outcome, cause = _lost(suite, test)
    session = suite.session
    fault = session.fault
    place = session.interrupted.failure.place if session.interrupted else None
    if place is None and fault and fault.places:
        place = fault.places[0]
    at = place or suite.places.get(test)
    return e.TestFinished(
        test,
        outcome,
        message=f"{cause} at {at}" if at else cause,
        traceback=fault.text if fault else None,
        place=suite.places.get(test),
        failure=e.Failure("", cause, at),
        files=tuple(suite.attached.get(test, ())),
        session=len(suite.sessions),
    )


def _lost(suite: SuiteResult, test: str) -> tuple[Outcome, str]:
    """The outcome and message of a test that never reported its end."""
    session, exited = suite.session, suite.session.exited
    if test in session.overdue:
        return Outcome.TIMEOUT, over_limit(session.overdue[test])
    if suite.stopped is RunOutcome.TIMEOUT:
        return Outcome.TIMEOUT, "time limit reached"
    if suite.stopped is not None:
        return Outcome.ERROR, f"run {suite.stopped}"
    if session.interrupted is not None:
        failure = session.interrupted.failure
        return Outcome.ERROR, failure.message or failure.type
    if session.channel_error is not None:
        return Outcome.ERROR, f"no result arrived: {session.channel_error}"
    if exited is None or session.finished is not None:
        return Outcome.ERROR, "never finished"
    several = f"one of {len(suite.running)} tests that were running" if len(suite.running) > 1 else ""
    return Outcome.CRASH, process_ended(exited.signal or "", exited.exit_code, session.fault, several)


def process_ended(signal: str, exit_code: int, fault: e.FaultTraced | None, several: str = "") -> str:
    """How a process ended during a test, or during one of several."""
    if signal:
        said = f" ({fault.reason})" if fault else ""
        return f"{signal}{said}{several and f' during {several}'}"
    return f"the process exited with {exit_code} during {several or 'the test'}"


def over_limit(seconds: float) -> str:
    return f"time limit of {seconds:g} s reached"

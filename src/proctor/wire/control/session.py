"""What a reporter sends about its session under the key `proctor`, as events. Any framework may use it.

Annotations are values here, as in `events`, because every run reads them.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec

from proctor import decoding
from proctor import events as e
from proctor.fold import conclude, over_limit, process_ended
from proctor.outcome import BAD, Outcome
from proctor.phases import COLLECT, failed_phases
from proctor.unique_names import UniqueNames
from proctor.wire.control.ledger import Body, Finished, Partial
from proctor.wire.control.passing import Pairs
from proctor.wire.control.program import amended, properties, reported
from proctor.wire.fault import dumps as fault_dumps

KEY = "proctor"
_DIED = "???"  # the phase that pytest-xdist, and our own reporters, report when a worker dies during a test
_KNOWN = frozenset({KEY, "name", "status", "files", "testout", "file", "line"})  # of a test's result


class _CollectionError(msgspec.Struct):
    id: str
    failure: e.Failure
    longrepr: str = ""


class _Skip(msgspec.Struct):
    """Of a collector: it has no test of its own that could be skipped."""

    id: str
    reason: str = ""
    place: e.Place | None = None


class _Description(msgspec.Struct):
    root: str
    environment: dict[str, Any] = {}
    maxfail: int = 0


class _InternalError(msgspec.Struct):
    failure: e.Failure | None = None
    traceback: str = ""


class _SessionFacts(msgspec.Struct):
    """One message of the session; each field is optional."""

    python: str = ""
    pytest: str = ""
    toolchain: dict[str, str] = {}  # of anybody else: versions by name
    suite: _Description | None = None
    collectors: list[e.CollectorFinished] = []
    collection_errors: list[_CollectionError] = []
    skipped: list[_Skip] = []
    deselected: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    markers: dict[str, tuple[str, ...]] = {}
    groups: dict[str, str] = {}
    collection_ended: float | None = None  # a test may have changed the clock: any time
    warnings: list[e.WarningRecorded] = []
    internal_error: _InternalError | None = None
    interrupted: e.Failure | None = None
    printed: str = ""  # by plugins, after the tests; may come in several parts
    finished: e.SessionFinished | None = None
    broken: str = ""
    notices: tuple[str, ...] = ()  # what a reader of the run should know
    limits: dict[str, e.Seconds] = {}  # tests that have a time limit of their own; 0: none
    handed_over: str = ""  # why it ends at once, so that its tests run in another way
    timed: bool = False  # it ends tests itself that take too long


class _Try(msgspec.Struct, frozen=True):
    """An earlier try at a test, in the same session."""

    phases: tuple[e.Phase, ...]


class _Death(msgspec.Struct, frozen=True):
    """How a process ended that ran one test of a session."""

    signal: str = ""  # its name
    exit_code: int = 0
    dump: str = ""  # of faulthandler
    limit: e.Seconds = 0.0  # seconds after which the test was interrupted; 0: it was not
    place: e.Place | None = None  # where it was interrupted


class _TestFacts(msgspec.Struct, frozen=True):
    phases: tuple[e.Phase, ...] = ()
    passed_in: tuple[e.Seconds, e.Seconds, e.Seconds] | None = None
    keywords: tuple[str, ...] = ()
    benchmark: dict[str, Any] | None = None  # what was measured, by name; `median` is seconds of an iteration
    worker: str = ""  # the process that ran it, where a session has several: gw0
    tries: tuple[_Try, ...] = ()  # earlier ones, oldest first
    death: _Death | None = None  # of its process, during the test


class _SessionMessage(msgspec.Struct):
    proctor: _SessionFacts | None = None


class _TestMessage(msgspec.Struct):
    proctor: _TestFacts | None = None


# From the bytes of a message, because that is twice as fast as from its values.
_session_facts = decoding.decoder(_SessionMessage).decode
_test_facts = decoding.decoder(_TestMessage).decode


class SessionReader:
    """Results in, events out. Holds what must wait: a suite begins when all its tests are known."""

    def __init__(
        self,
        name: str,
        output: str,
        labels: UniqueNames,
        cwd: str = "",
        session: int = 1,
        known: bool = False,
    ) -> None:
        """`session` is its number in the suite; `known`: an earlier process has told what was collected."""
        self._name, self._output, self._labels = name, output, labels
        self._cwd, self._session, self._known = cwd, session, known
        self.limits: dict[str, float] = {}  # tests that have a time limit of their own
        self.handed_over = ""  # why the tests have to run in another way
        self.timed = False  # the session ends tests itself that take too long
        self._toolchain: dict[str, str] = {}
        self._selected: set[str] = set()
        self._found: dict[str, e.Place] = {}
        # Each id comes four times and most keywords come with every test: equal strings are kept once.
        self._strings: dict[str, str] = {}
        self._errors: list[e.CollectionFailed] = []
        self._skips: list[e.TestFinished] = []
        self._skip_names = UniqueNames()
        self._places: dict[str, e.Place] = {}
        self._begun = False

    def start(self) -> list[e.Event]:
        return []

    def full_name(self, name: str | None) -> str:
        return self._name if name is None else name

    def read(self, frame: Partial | Finished, files: tuple[e.File, ...] = ()) -> list[e.Event]:
        name = frame.name
        if name is None:
            facts = _session_facts(frame.raw).proctor if frame.raw else None
            return self._of_session(facts) if facts is not None else []
        name = self._strings.setdefault(name, name)
        if isinstance(frame, Partial):
            return self._test_started(name, frame.body)
        if frame.raw or name not in self._places:
            return [self._test_finished(name, frame, files)]
        return []  # a test that the end of the process cut short: the fold knows more about that

    def read_pairs(self, pairs: Pairs) -> list[e.Event]:
        """What `read` returns for the two messages of each test."""
        kept, passed, events = self._strings.setdefault, Outcome.PASSED, list[e.Event]()
        for begun, end in zip(pairs.begun, pairs.passed, strict=True):
            name, timed, words = kept(begun.name, begun.name), end.proctor.passed_in, end.proctor.keywords
            place = self._place(name, begun.file, begun.line)
            events.append(e.TestStarted(name, place))
            events.append(
                e.TestFinished(
                    name,
                    passed,
                    max(0.0, timed[0] + timed[1] + timed[2]),  # the clock may have been set back
                    place=place,
                    passed_in=timed,
                    keywords=tuple(map(kept, words, words)),
                )
            )
        if self._session == 1 and not pairs.passed[0].proctor.worker:  # nearly all
            return events
        return [self._placed(event, pairs, at // 2) for at, event in enumerate(events)]

    def _placed(self, event: e.Event, pairs: Pairs, at: int) -> e.Event:
        """With the session and the worker that the test of this pair ran in."""
        if not isinstance(event, e.TestFinished):
            return event
        worker = pairs.passed[at].proctor.worker
        return msgspec.structs.replace(event, session=self._session, worker=worker)

    def close(self) -> list[e.Event]:
        """The end of the channel: the errors and skips of a suite that never began."""
        held: list[e.Event] = [*self._errors, *self._skips]
        self._errors, self._skips = [], []
        return [] if self._begun else held

    def _test_started(self, name: str, body: Body) -> list[e.Event]:
        file, line = body.get("file"), body.get("line")
        if name in self._places or not isinstance(file, str):
            return [amended(name, body)]  # of a test which is under way, or of a part of one
        place = self._places[name] = self._place(name, file, line)
        return [e.TestStarted(name, place)]

    def _place(self, name: str, file: str, line: Any) -> e.Place:
        place = self._found.get(name)
        if place is None or place.line != line or place.file != file:
            place = e.Place(file, line if isinstance(line, int) and 0 < line < e.MOST_LINES else 0)
        return place

    def _test_finished(self, name: str, frame: Finished, files: tuple[e.File, ...]) -> e.TestFinished:
        facts = _test_facts(frame.raw or b"{}").proctor
        if facts is None and KEY not in frame.body:
            test = next((test for test in self._places if name.startswith(f"{test}/")), name)
            label = self._labels.unique(name)
            self._places.pop(name, None)
            return reported(label, test, frame.body, files, self._output, frame.withdrawn)
        place = self._places.pop(name, None)
        facts = facts or _TestFacts()
        keywords = tuple(map(self._strings.setdefault, facts.keywords, facts.keywords))
        timed = facts.passed_in
        status = frame.body.get("status")
        if timed is not None and status == "pass":  # nearly all
            seconds = timed[0] + timed[1] + timed[2]
            if seconds < 0:
                seconds = 0.0  # the clock was set back
            custom = None if frame.body.keys() <= _KNOWN else properties(frame.body, _KNOWN)
            return e.TestFinished(
                name,
                Outcome.PASSED,
                seconds,
                place=place,
                passed_in=timed,
                keywords=keywords,
                files=files,
                properties=custom,
                session=self._session,
                worker=facts.worker,
                attempts=_attempts(facts.tries),
            )
        if facts.death is not None:
            died = self._died(name, facts.death, place)
            return self._more(msgspec.structs.replace(died, keywords=keywords, files=files), facts)
        if not facts.phases:  # sent in parts, before
            facts = decoding.convert(frame.body.get(KEY, {}), _TestFacts)
        ended = concluded(name, facts.phases, place, keywords, files, properties(frame.body, _KNOWN))
        if facts.benchmark:
            ended = _measured(ended, facts.benchmark)
        if ended.outcome not in BAD and status in ("fail", "error"):
            contradiction = f"reported as `{status}`, though none of its phases failed"
            failure = e.Failure("", contradiction)
            ended = msgspec.structs.replace(
                ended, outcome=Outcome.ERROR, message=contradiction, failure=failure
            )
        return self._more(ended, facts)

    def _more(self, ended: e.TestFinished, facts: _TestFacts) -> e.TestFinished:
        if self._session == 1 and not facts.worker and not facts.tries:
            return ended
        attempts = _attempts(facts.tries)
        return msgspec.structs.replace(ended, session=self._session, worker=facts.worker, attempts=attempts)

    def _died(self, name: str, death: _Death, place: e.Place | None) -> e.TestFinished:
        """The process that ran this test, and only this one, is gone."""
        dumps = fault_dumps(death.dump, self._cwd)
        dump = dumps[-1] if dumps else None
        if death.limit:
            outcome, cause = Outcome.TIMEOUT, over_limit(death.limit)
        else:
            outcome, cause = Outcome.CRASH, process_ended(death.signal, death.exit_code, dump)
        at = death.place or (dump.places[0] if dump and dump.places else None) or place
        return e.TestFinished(
            name,
            outcome,
            message=f"{cause} at {at}" if at else cause,
            traceback=dump.text if dump else None,
            place=place,
            failure=e.Failure("", cause, at),
        )

    def _of_session(self, facts: _SessionFacts) -> list[e.Event]:
        found: list[e.Event] = []
        if self.handed_over:
            return found  # what it says of its end is no news
        if self._known:
            _forget_collection(facts)
        self._toolchain |= facts.toolchain
        for tool in ("python", "pytest"):
            if version := getattr(facts, tool):
                self._toolchain[tool] = version
        if facts.suite is not None:
            of = facts.suite
            found.append(e.SuiteDescribed(of.root, self._toolchain, of.environment, of.maxfail))
        found += facts.collectors
        self._note_places(facts.collectors)
        for error in facts.collection_errors:
            self._collection_failed(error, found)
        for skip in facts.skipped:
            self._collection_skipped(skip, found)
        if facts.deselected:
            found.append(e.TestsDeselected(facts.deselected))
        if facts.selected:
            selected = tuple(map(self._strings.setdefault, facts.selected, facts.selected))
            self._selected.update(selected)
            places = {test: self._found[test] for test in selected if test in self._found}
            found.append(e.TestsSelected(selected, facts.markers, places, facts.groups))
        if facts.collection_ended is not None and not self._begun:
            found += self._begin(facts.collection_ended)
        found += facts.warnings
        if facts.internal_error is not None:
            broke = facts.internal_error
            found.append(e.SessionBroke(broke.failure or e.Failure(), broke.traceback))
        if facts.interrupted is not None:
            found.append(e.SessionInterrupted(facts.interrupted))
        if facts.printed:
            found.append(e.SummaryPrinted(facts.printed))
        self.limits |= facts.limits
        self.timed = self.timed or facts.timed
        self.handed_over = facts.handed_over or self.handed_over
        found += map(e.Noticed, facts.notices)
        if facts.broken:
            found.append(e.ChannelBroken(f"the reporter in the test process failed: {facts.broken}"))
        if facts.finished is not None:
            found.append(facts.finished)
        return found

    def _note_places(self, collectors: list[e.CollectorFinished]) -> None:
        strings = self._strings
        for collector in collectors:
            for child in collector.children:
                test = strings.setdefault(child.id, child.id)
                if child.tested and child.line is not None:
                    file = test.partition("::")[0]
                    self._found[test] = e.Place(strings.setdefault(file, file), child.line + 1)

    def _collection_failed(self, error: _CollectionError, found: list[e.Event]) -> None:
        failed = e.CollectionFailed(error.id, error.failure, error.longrepr)
        if any(failed == known for known in self._errors):
            return  # each xdist worker reports it
        self._errors.append(failed)
        if self._begun:
            found.append(failed)

    def _collection_skipped(self, skip: _Skip, found: list[e.Event]) -> None:
        """pytest counts each: a module's tests and its doctests are collected apart."""
        name = self._skip_names.unique(skip.id or ".")
        finished = not_collected_but_skipped(name, skip.reason, skip.place)
        (found if self._begun else self._skips).append(finished)

    def _begin(self, ended: float) -> list[e.Event]:
        self._begun = True
        if self._known:
            return list(self._errors)
        build = datetime.fromtimestamp(ended, UTC).isoformat() if 0 < ended < e.LONGEST else ""
        count = len(self._selected) + len(self._errors) + len(self._skips)
        return [e.SuiteStarted(self._name, build, count), *self._errors, *self._skips]


def _forget_collection(facts: _SessionFacts) -> None:
    """An earlier process of the suite has told the same. That something cannot be collected may be new."""
    facts.collectors, facts.skipped = [], []
    facts.deselected, facts.selected, facts.markers, facts.groups = (), (), {}, {}
    facts.warnings = [warning for warning in facts.warnings if warning.when == "runtest"]


def _attempts(tries: tuple[_Try, ...]) -> tuple[e.Attempt, ...]:
    ended = (concluded("", one.phases) for one in tries)
    return tuple(e.Attempt(one.outcome, one.seconds, one.message, one.failure) for one in ended)


def _measured(ended: e.TestFinished, numbers: dict[str, Any]) -> e.TestFinished:
    """A benchmark takes as long as one iteration does; one that did not pass, as long as its phases did."""
    median = numbers.get("median")  # as libtest has it: the mean hangs on the slowest
    known = isinstance(median, float) and 0 <= median < e.LONGEST and ended.outcome is Outcome.PASSED
    return msgspec.structs.replace(
        ended,
        subtype="bench",
        seconds=median if known else ended.seconds,
        properties={**(ended.properties or {}), "benchmark": numbers},
    )


def not_collected_but_skipped(name: str, reason: str, place: e.Place | None) -> e.TestFinished:
    """A module or package that skipped itself counts as one skipped test; `place` is where it did that."""
    return concluded(name, (e.Phase(COLLECT, "skipped", reason=reason),), place)


def concluded(
    name: str,
    phases: tuple[e.Phase, ...],
    place: e.Place | None = None,
    keywords: tuple[str, ...] = (),
    files: tuple[e.File, ...] = (),
    custom: dict[str, Any] | None = None,
) -> e.TestFinished:
    """The end of a test that is known by its phases; `custom` are properties that its reporter added."""
    died = any(phase.when == _DIED and phase.outcome == "failed" for phase in phases)
    outcome = Outcome.CRASH if died else conclude(phases)
    return e.TestFinished(
        name,
        outcome,
        max(0.0, sum([phase.duration for phase in phases])),
        message=_message(phases),
        traceback=_traceback(phases, outcome),
        place=place,
        failure=_failure(phases),
        phases=phases,
        keywords=keywords,
        files=files,
        properties=custom,
    )


def _decisive(phases: tuple[e.Phase, ...]) -> list[e.Phase]:
    """The phases that explain the outcome: those that failed, or else those that skipped."""
    return failed_phases(phases) or [
        p for p in phases if p.subtest is None and (p.outcome == "skipped" or p.wasxfail is not None)
    ]


def _message(phases: tuple[e.Phase, ...]) -> str | None:
    return "\n".join(text for phase in _decisive(phases) if (text := _text(phase))) or None


def without_type(reason: str) -> str:
    """The reason of a skip as the user wrote it, without the exception that carries it."""
    for kind in ("Skipped: ", "unittest.case.SkipTest: ", "SkipTest: "):
        reason = reason.removeprefix(kind)
    return reason


def _text(phase: e.Phase) -> str:
    if phase.outcome == "skipped" and phase.wasxfail is None:
        return without_type(phase.reason) or phase.longrepr
    if phase.outcome != "failed":
        return (phase.wasxfail or "").removeprefix("reason: ")
    if phase.crash is not None:
        text = phase.crash.message
    elif phase.failure is not None:
        text = phase.failure.message
    else:
        text = phase.longrepr
    if phase.subtest is None:
        return text
    return f"{phase.subtest}: {text}" if text else phase.subtest


def _traceback(phases: tuple[e.Phase, ...], outcome: str) -> str | None:
    if outcome in ("passed", "skipped", "xpassed"):
        return None
    return "\n".join(phase.longrepr for phase in _decisive(phases) if phase.longrepr) or None


def _failure(phases: tuple[e.Phase, ...]) -> e.Failure | None:
    for phase in _decisive(phases):
        if phase.failure is not None:
            return phase.failure
        if phase.outcome == "failed":
            return e.Failure("", _text(phase))
    return None

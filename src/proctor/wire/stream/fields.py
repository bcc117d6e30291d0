"""The objects of a public stream as events. A field of the wrong type is ignored."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from proctor import events as e
from proctor.outcome import QUARANTINED, Outcome
from proctor.phases import COLLECT
from proctor.wire.reports.report import place_of
from proctor.wire.stream.foreign import foreign_of
from proctor.wire.stream.objects import collection_object, test_object
from proctor.wire.stream.words import BAD_WORDS, KIND, MOST_SESSIONS, PLAIN, STATUS, WORDS, Object, one_line

_Told = TypeVar("_Told", e.TestFinished, e.CollectionFailed)

_OUTCOMES = {word: outcome for outcome, word in WORDS.items()}
_OUTCOMES |= {"flaky": Outcome.PASSED, "todo": Outcome.XFAILED}
_EXCUSED = {word: outcome for outcome, word in BAD_WORDS.items()}  # what a test did that is ignored for it


class Fields:
    def __init__(self, found: Object) -> None:
        self.found = found

    def text(self, name: str) -> str:
        value = self.found.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> float | None:
        value = self.found.get(name)
        good = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 63
        return value if good else None

    def count(self, name: str) -> int | None:
        value = self.number(name)
        return round(value) if value is not None and value >= 0 else None

    def several(self, name: str) -> list[Fields]:
        value = self.found.get(name)
        return [Fields(part) for part in value if isinstance(part, dict)] if isinstance(value, list) else []

    def fields(self, name: str) -> Fields:
        value = self.found.get(name)
        return Fields(value if isinstance(value, dict) else {})


def finished(label: str, status: str, test: Fields) -> e.TestFinished:
    extra = test.fields("extra")
    failure, trace = failure_of(test)
    quarantine = quarantine_of(test)
    outcome = _outcome(status, extra.text("outcome"), quarantine is not None)
    seconds = (test.count("duration") or 0) / 1e9
    subtype = "bench" if test.text("type") == "bench" else test.text("subtype")
    file = test.text("file")
    event = e.TestFinished(
        label,
        outcome,
        seconds,
        message=_message(test, failure) if status == "fail" else extra.text("skip_reason") or None,
        traceback=trace,
        place=place_of(file, test.count("line") or 0) if file else None,
        failure=failure,
        phases=_phases(test, outcome, seconds),
        properties=extra.fields("properties").found or None,
        part_of=extra.text("part_of"),
        subtype="" if subtype == "test" else subtype,
        throughput=test.number("throughput"),
        session=_session(extra),
        worker=extra.text("worker"),
        attempts=_attempts(extra, outcome),
    )
    return with_foreign(event, test.found, test_object(label, event, timed=False, quarantine=quarantine))


def quarantine_of(test: Fields) -> str | None:
    """The reason why a test is in quarantine, which may be empty; None if it is not."""
    extra = test.fields("extra")
    return extra.text("quarantine_reason") if extra.found.get(QUARANTINED) is True else None


def _session(extra: Fields) -> int:
    number = extra.count("session") or 1
    return number if 1 < number <= MOST_SESSIONS + 1 else 1


def _attempts(extra: Fields, outcome: Outcome) -> tuple[e.Attempt, ...]:
    """Those before the last, which is the test itself; none, if that ended in another way."""
    steps = extra.several("attempts")
    words = [step.text("outcome") for step in steps]
    if len(steps) < 2 or not set(words) <= set(Outcome) or words[-1] != outcome:
        return ()
    return tuple(
        e.Attempt(
            Outcome(word),
            (step.count("duration") or 0) / 1e9,
            step.text("message") or None,
            _told_failure(step.fields("failure"), step.text("message")),
        )
        for word, step in zip(words[:-1], steps, strict=False)
    )


def not_collected(label: str, test: Fields) -> e.CollectionFailed:
    failure, trace = failure_of(test)
    event = e.CollectionFailed(label, failure or e.Failure(), trace or "")
    return with_foreign(event, test.found, collection_object(label, event))


def with_foreign(event: _Told, original: Object, ours: Object) -> _Told:
    foreign = foreign_of(original, ours)
    return event if foreign is None else msgspec.structs.replace(event, foreign=foreign)


def _phases(test: Fields, outcome: Outcome, seconds: float) -> tuple[e.Phase, ...]:
    """The phases, if the stream has them; the test's output is taken for that of its call."""
    extra = test.fields("extra")
    if extra.text("phase") == COLLECT and outcome is Outcome.SKIPPED:
        return (e.Phase(COLLECT, "skipped"),)
    steps = [
        e.Phase(step.text("when"), step.text("outcome"), (step.count("duration") or 0) / 1e9)
        for step in extra.several("phases")
    ]
    output = {name: text for name in ("stdout", "stderr") if (text := test.text(name))}
    if output:
        steps = steps or [e.Phase("call", str(KIND[outcome]), seconds)]
        at = next((number for number, step in enumerate(steps) if step.when == "call"), len(steps) - 1)
        steps[at] = msgspec.structs.replace(steps[at], **output)
    subtests = [
        e.Phase("call", part.text("outcome"), subtest=part.text("name")) for part in extra.several("subtests")
    ]
    return (*steps, *subtests)


def later_sessions(final: Fields) -> list[e.Event]:
    """The sessions after the first; a stream does not say which of them followed a death."""
    extra = final.fields("extra")
    count = min(extra.count("restarts") or 0, MOST_SESSIONS)
    died = extra.found.get("restarted") is True
    return [e.SessionStarted(number, died and number == 2) for number in range(2, count + 2)]


def exited(final: Fields) -> list[e.Event]:
    exit = final.fields("extra").fields("exit")
    code = exit.number("code")
    return [] if code is None else [e.ProcessExited(int(code), exit.text("signal") or None)]


def _message(test: Fields, failure: e.Failure | None) -> str | None:
    """The reason, or the whole of which it is the first line."""
    reason = test.text("reason")
    whole = failure is not None and failure.message and one_line(failure.message) == reason
    return failure.message if failure is not None and whole else reason or None


def _outcome(status: str, word: str, quarantined: bool) -> Outcome:
    """The outcome of the more exact word, as long as it does not contradict the status."""
    if quarantined and status == "ignore" and word in _EXCUSED:
        return _EXCUSED[word]
    outcome = _OUTCOMES.get(word)
    return outcome if outcome is not None and STATUS[outcome] == status else PLAIN[status]


def failure_of(test: Fields) -> tuple[e.Failure | None, str | None]:
    facts = test.fields("extra").fields("failure")
    if not facts.found:
        reason = test.text("reason")
        return (e.Failure("", reason) if reason else None), None
    return _told_failure(facts, test.text("reason")), facts.text("trace") or None


def _told_failure(facts: Fields, message: str) -> e.Failure | None:
    """`message`: what it says, unless its own facts do; None, if there are none."""
    if not facts.found:
        return None
    file = facts.text("file")
    return e.Failure(
        facts.text("type"),
        facts.text("message") or message,
        place_of(file, facts.count("line") or 0) if file else None,
        facts.text("expected") if "expected" in facts.found else None,
        facts.text("actual") if "actual" in facts.found else None,
    )

"""Reads what was written as a public stream or as a full log, by whichever writer, and forgives what it can.

Fields that it does not know are ignored; what else it meets and cannot use is told in a notice, never dropped
in silence. Each suite of a public stream is a run of its own. A run that has no end gets none here: `replay`
gives it one. Nothing here opens, reads or waits.
"""

from __future__ import annotations

from typing import Any

import msgspec

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import EXIT_CODES, Outcome, RunOutcome
from proctor.wire import jsonl
from proctor.wire.stream import NOT_RUN, STATUS, WORDS, has_zone, one_line

_OUTCOMES = {word: outcome for outcome, word in WORDS.items()} | {
    "flaky": Outcome.PASSED,
    "todo": Outcome.XFAILED,
}
_PLAIN = {"ok": Outcome.PASSED, "fail": Outcome.FAILED, "ignore": Outcome.SKIPPED}

Object = dict[str, Any]


class StreamReader:
    """Bytes in pieces of any size; entries out. An entry with `RunStarted` begins a run."""

    def __init__(self) -> None:
        self._rest = b""
        self._number = 0
        self._reading: _Suite | _Log | None = None
        self._begun = False

    def feed(self, data: bytes) -> list[e.Entry]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [entry for line in lines for entry in self._line(line)]

    def close(self) -> list[e.Entry]:
        """No more will come: what was held back, and a last line that was cut."""
        found = self._line(self._rest) if self._rest else []
        self._rest = b""
        if isinstance(self._reading, _Suite):
            found += self._reading.told()
        self._reading = None
        return found

    def _line(self, line: bytes) -> list[e.Entry]:
        self._number += 1
        if not line.strip():
            return []
        reading = self._reading
        if isinstance(reading, _Log):
            return self._leave_if_done(reading, reading.line(line, self._number))
        found = _object(line)
        if reading is None and found is not None and self._begins_log(found):
            log = self._reading = _Log()
            return self._leave_if_done(log, log.line(line, self._number))
        if found is not None and found.get("type") == "suite":
            noise = reading.told() if reading is not None else []
            suite = self._reading = _Suite(found, self._number)
            self._begun = True
            return noise + suite.begin()
        if reading is None:
            return []  # before a suite and after a final line, anything may stand
        return self._leave_if_done(reading, reading.line(found, line, self._number))

    def _begins_log(self, found: Object) -> bool:
        """The first line of a full log, or any line of one that has lost its head."""
        if not {"type", "seq", "at"} <= found.keys() or (self._begun and found["seq"] != 0):
            return False
        self._begun = True
        return True

    def _leave_if_done(self, reading: _Suite | _Log, entries: list[e.Entry]) -> list[e.Entry]:
        if entries and isinstance(entries[-1].event, e.RunFinished):
            self._reading = None
        return entries


def _object(line: bytes) -> Object | None:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if isinstance(found, dict) else None


class _Log:
    """A full log: what it says is what happened."""

    def __init__(self) -> None:
        self._last = e.Entry(-1, 0.0, e.Noticed(""))

    def line(self, line: bytes, number: int) -> list[e.Entry]:
        try:
            entry = jsonl.decode(line)
        except StreamError as error:
            return [self._next(e.Noticed(f"line {number} is left out: {error}"))]
        if entry is None:
            return [self._next(e.Noticed(f"line {number} is of a type that is not known here; left out"))]
        self._last = entry
        return [entry]

    def _next(self, event: e.Event) -> e.Entry:
        self._last = e.Entry(self._last.seq + 1, self._last.at, event)
        return self._last


class _Suite:
    """One suite of a public stream, from its first line to its final one."""

    def __init__(self, suite: Object, number: int) -> None:
        self._suite = _Fields(suite)
        self._first = number
        self._seq = 0
        self._labels: set[str] = set()
        self._not_run: list[str] = []
        self._tally = dict.fromkeys(_PLAIN, 0)
        self._noise = 0

    def begin(self) -> list[e.Entry]:
        suite, extra = self._suite, self._suite.fields("extra")
        build = suite.text("build")
        run = e.RunStarted(
            extra.text("run"),
            extra.text("runner"),
            (),
            "",
            "",
            build,
            source=extra.text("source") or "stream",
        )
        toolchain = {name: str(version) for name, version in extra.fields("toolchain").found.items()}
        if (rustc := suite.text("rustc")) not in ("", "none"):
            toolchain["rustc"] = rustc
        found: list[e.Event] = [run]
        if toolchain:
            found.append(e.SuiteDescribed("", toolchain))
        if not suite.text("rustc"):
            found.append(self._warn(self._first, "the suite does not say its rustc"))
        if not has_zone(build):
            found.append(self._warn(self._first, f"build is {build!r}, not a time with its zone"))
        if suite.count("count") is None:
            found.append(self._warn(self._first, "the suite does not say its count"))
        found.append(
            e.SuiteStarted(
                suite.text("name"), build, suite.count("count") or 0, extra.count("filtered_out") or 0
            )
        )
        return self._entries(found)

    def line(self, found: Object | None, line: bytes, number: int) -> list[e.Entry]:
        if found is None:
            return self._entries(self._keep(line, number))
        match found.get("type"):
            case "test" | "bench":
                return self._entries(self._test(_Fields(found), number))
            case "final":
                final = _Fields(found)
                return [*self.told(), *self._entries([*_exited(final), self._final(final)])]
            case kind:
                unknown = f"an object of type {kind!r} is not known here; left out"
                return self._entries([self._warn(number, unknown)])

    def _keep(self, line: bytes, number: int) -> list[e.Event]:
        """Noise: somebody printed into the stream. It is output, whoever's."""
        self._noise += 1
        output = e.OutputReceived("stdout", line.decode("utf-8", "backslashreplace") + "\n")
        if self._noise > 1:
            return [output]
        return [self._warn(number, "not an object; kept as output"), output]

    def told(self) -> list[e.Entry]:
        """What is said once for many lines, when no more of them can come."""
        if self._noise < 2:
            return []
        return self._entries([e.Noticed(f"{self._noise} lines in all are not objects; kept as output")])

    def _test(self, test: _Fields, number: int) -> list[e.Event]:
        label, status, extra = test.text("label"), test.text("status"), test.fields("extra")
        warnings: list[e.Event] = []
        if not label:
            label = f"line {number}"
            warnings.append(self._warn(number, "a test without a label"))
        while label in self._labels:
            warnings.append(self._warn(number, f"a second test {label!r}"))
            label += "#2"
        self._labels.add(label)
        if status not in _PLAIN:
            warnings.append(self._warn(number, f"status of {label!r} is {status!r}; taken as fail"))
            status = "fail"
        self._tally[status] += 1
        if extra.text("outcome") == NOT_RUN and status == "ignore":
            self._not_run.append(label)
            return [*warnings, e.TestsSelected((label,))]
        if extra.text("phase") == "run":
            return warnings  # the final line says it too
        if extra.text("phase") in ("collect", "build"):
            failure, trace = _failure(test)
            return [*warnings, e.CollectionFailed(label, failure or e.Failure(), trace or "")]
        return [*warnings, _finished(label, status, test)]

    def _final(self, final: _Fields) -> e.RunFinished:
        extra = final.fields("extra")
        outcome, reason = self._verdict(final)
        said = extra.text("outcome")
        if said in set(RunOutcome) and EXIT_CODES[RunOutcome(said)]:  # a pass is found, not said
            outcome, reason = RunOutcome(said), extra.text("reason")
        seconds = extra.found.get("seconds")
        duration = float(seconds) if isinstance(seconds, int | float) else 0.0
        return e.RunFinished(outcome, duration, tuple(self._not_run), reason)

    def _verdict(self, final: _Fields) -> tuple[RunOutcome, str]:
        """What the lines amount to: the tests, the count and the results must agree."""
        if self._tally["fail"]:
            return RunOutcome.FAILED, ""
        results = final.fields("results").found
        if (results.get("fail") or 0) != 0:
            return RunOutcome.FAILED, f"the final line counts {results['fail']} failures, the tests say none"
        count, seen = self._suite.count("count"), sum(self._tally.values())
        if count is not None and count != seen:
            return RunOutcome.INCOMPLETE, f"the suite announced {count} tests and has {seen}"
        if results != self._tally:
            found = msgspec.json.encode(results).decode()
            return RunOutcome.INCOMPLETE, f"the final line says {found}, the tests add up to something else"
        if self._not_run:
            return RunOutcome.INCOMPLETE, f"{len(self._not_run)} of {seen} tests were not run"
        return (RunOutcome.PASSED if seen else RunOutcome.NO_TESTS), ""

    def _entries(self, events: list[e.Event]) -> list[e.Entry]:
        first = self._seq
        self._seq += len(events)
        return [e.Entry(first + number, 0.0, event) for number, event in enumerate(events)]

    def _warn(self, number: int, text: str) -> e.Noticed:
        return e.Noticed(f"line {number}: {text}")


def _finished(label: str, status: str, test: _Fields) -> e.TestFinished:
    extra = test.fields("extra")
    failure, trace = _failure(test)
    outcome = _outcome(status, extra.text("outcome"))
    seconds = (test.count("duration") or 0) / 1e9
    subtype = "bench" if test.text("type") == "bench" else test.text("subtype")
    throughput = test.found.get("throughput")
    file = test.text("file")
    return e.TestFinished(
        label,
        outcome,
        seconds,
        message=_message(test, failure) if status == "fail" else extra.text("skip_reason") or None,
        traceback=trace,
        place=e.Place(file, test.count("line") or 0) if file else None,
        failure=failure,
        phases=_phases(test, outcome, seconds),
        properties=extra.fields("properties").found or None,
        subtype="" if subtype == "test" else subtype,
        throughput=float(throughput) if isinstance(throughput, int | float) else None,
    )


def _phases(test: _Fields, outcome: Outcome, seconds: float) -> tuple[e.Phase, ...]:
    """The steps, if they are told; the test's output is that of its call, as far as we know."""
    extra = test.fields("extra")
    steps = [
        e.Phase(step.text("when"), step.text("outcome"), (step.count("duration") or 0) / 1e9)
        for step in extra.several("phases")
    ]
    output = {name: text for name in ("stdout", "stderr") if (text := test.text(name))}
    if output:
        plain = {"fail": "failed", "ignore": "skipped", "ok": "passed"}[STATUS[outcome]]
        steps = steps or [e.Phase("call", plain, seconds)]
        at = next((number for number, step in enumerate(steps) if step.when == "call"), len(steps) - 1)
        steps[at] = msgspec.structs.replace(steps[at], **output)
    subtests = [
        e.Phase("call", part.text("outcome"), subtest=part.text("name")) for part in extra.several("subtests")
    ]
    return (*steps, *subtests)


def _exited(final: _Fields) -> list[e.Event]:
    exit = final.fields("extra").fields("exit")
    code = exit.found.get("code")
    return [e.ProcessExited(code, exit.text("signal") or None)] if isinstance(code, int) else []


def _message(test: _Fields, failure: e.Failure | None) -> str | None:
    """The reason, or the whole of which it is the first line."""
    reason = test.text("reason")
    whole = failure is not None and failure.message and one_line(failure.message) == reason
    return failure.message if failure is not None and whole else reason or None


def _outcome(status: str, word: str) -> Outcome:
    """What was said in more words, as long as it does not contradict the status."""
    outcome = _OUTCOMES.get(word)
    return outcome if outcome is not None and STATUS[outcome] == status else _PLAIN[status]


def _failure(test: _Fields) -> tuple[e.Failure | None, str | None]:
    facts = test.fields("extra").fields("failure")
    if not facts.found:
        reason = test.text("reason")
        return (e.Failure("", reason) if reason else None), None
    file = facts.text("file")
    place = e.Place(file, facts.count("line") or 0) if file else None
    failure = e.Failure(
        facts.text("type"),
        facts.text("message") or test.text("reason"),
        place,
        facts.text("expected") if "expected" in facts.found else None,
        facts.text("actual") if "actual" in facts.found else None,
    )
    return failure, facts.text("trace") or None


class _Fields:
    """An object of somebody else: a field of another type than expected is as good as none."""

    def __init__(self, found: Object) -> None:
        self.found = found

    def text(self, name: str) -> str:
        value = self.found.get(name)
        return value if isinstance(value, str) else ""

    def count(self, name: str) -> int | None:
        value = self.found.get(name)
        good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1 << 63
        return round(value) if good else None  # type: ignore[arg-type]

    def several(self, name: str) -> list[_Fields]:
        value = self.found.get(name)
        return [_Fields(part) for part in value if isinstance(part, dict)] if isinstance(value, list) else []

    def fields(self, name: str) -> _Fields:
        value = self.found.get(name)
        return _Fields(value if isinstance(value, dict) else {})


def is_stream(data: bytes) -> bool:
    """Whether the beginning of a file looks like one of ours: its first object is a line of a stream."""
    for line in data.splitlines():
        found = _object(line)
        if found is not None:
            return found.get("type") == "suite" or {"type", "seq", "at"} <= found.keys()
    return False

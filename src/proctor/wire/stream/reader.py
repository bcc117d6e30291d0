"""Reads a public stream or a full log of any writer, as entries.

Unknown fields are kept; anything else that cannot be used becomes a notice. The suites of a public stream
that name the same run, or none, are one run; it ends where the input does, or another begins. A suite or a
log without an end gets none here: `replay` adds it.
"""

from __future__ import annotations

import msgspec

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import QUIET, RunOutcome
from proctor.text import text_of
from proctor.unique_names import UniqueNames
from proctor.verdict import combined, without
from proctor.wire.reports.report import MAX_LINE, RepeatedKey, check_keys, took
from proctor.wire.stream import log
from proctor.wire.stream.fields import (
    Fields,
    exited,
    finished,
    later_sessions,
    not_collected,
    quarantine_of,
)
from proctor.wire.stream.foreign import beside
from proctor.wire.stream.words import MISSING, NOT_RUN, PLAIN, STATUS, Object, has_zone, status_of

#: Outcomes of a run that are taken from the final line. Whether it passed is computed from the tests.
_WORSE = set(RunOutcome) - QUIET - {RunOutcome.RUNNING}
#: Fields of a suite line and of a final line that are read, and those of their `extra`, with their types.
_SUITE = dict.fromkeys(("type", "name", "build", "count", "rustc"), object)
_SUITE_EXTRA = {"proctor": dict, "toolchain": dict, MISSING: dict, "filtered_out": int}
_SUITE_EXTRA |= dict.fromkeys(("run", "runner", "prefix"), str)
_FINAL = dict.fromkeys(("type", "results"), object)
_FINAL_EXTRA = {"outcome": str, "reason": str, "seconds": (int, float), "exit": dict}
_FINAL_EXTRA |= {"restarts": int, "restarted": bool}


class StreamReader:
    """Bytes in pieces of any size; entries out. An entry with `RunStarted` begins a run."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of the line that is not whole yet
        self._size = 0
        self._number = 0
        self._reading: _StreamRun | _LogReader | None = None
        self._begun = False
        self._gaps: list[str] = []  # of runs that are over

    def feed(self, data: bytes) -> list[e.Entry]:
        *ends, rest = data.split(b"\n")
        found: list[e.Entry] = []
        for end in ends:
            if self._size or len(end) > MAX_LINE:
                self._hold(end)
                end = self._held()
            self._line(end, found)
        self._hold(rest)
        return found

    def close(self) -> list[e.Entry]:
        """The entries of a last line without LF, and the end of a public stream."""
        found: list[e.Entry] = []
        if self._size:
            self._line(self._held(), found)
        return found + self._leave()

    @property
    def gap(self) -> str:
        """What disagrees in public streams, as far as they were read."""
        return "; ".join([*self._gaps, *(self._reading.gaps if self._reading is not None else ())])

    def _hold(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > MAX_LINE:
            raise StreamError(f"line {self._number + 1} is longer than {MAX_LINE >> 20} MiB")

    def _held(self) -> bytes:
        line = b"".join(self._pieces)
        self._pieces, self._size = [], 0
        return line

    def _line(self, line: bytes, found: list[e.Entry]) -> None:
        """Adds its entries."""
        self._number += 1
        if not line or line.isspace():
            return
        if type(self._reading) is not _LogReader:
            found += self._entries(line)
        elif self._reading.take(line, self._number, found):
            self._leave()

    def _leave(self) -> list[e.Entry]:
        reading, self._reading = self._reading, None
        if reading is None:
            return []
        self._gaps += reading.gaps
        return reading.close() if isinstance(reading, _StreamRun) else []

    def _entries(self, line: bytes) -> list[e.Entry]:
        reading = self._reading
        found, fault = _object(line)
        if found is not None and self._begins_log(found):
            entries = self._leave()
            self._begun, self._reading = True, _LogReader()
            if self._reading.take(line, self._number, entries):
                self._leave()
            return entries
        if found is not None and found.get("type") == "suite":
            self._begun = True
            goes_on = isinstance(reading, _StreamRun) and reading.has(found)
            before = [] if goes_on else self._leave()
            if not isinstance(self._reading, _StreamRun):
                self._reading = _StreamRun(found)
            return before + self._reading.suite(found, fault, self._number)
        # Before a suite and after a final line, anything is ignored.
        if not isinstance(reading, _StreamRun):
            return []
        return reading.line(found, fault, line, self._number)

    def _begins_log(self, found: Object) -> bool:
        """The first line of a full log, or any line of one whose first lines are lost."""
        if isinstance(self._reading, _StreamRun) and self._reading.is_open:
            return False
        return {"type", "seq", "at"} <= found.keys() and (not self._begun or found["seq"] == 0)


def _object(line: bytes) -> tuple[Object | None, str]:
    """The object of a line, and what is wrong with it."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, ""
    if not isinstance(found, dict):
        return None, ""
    try:
        check_keys(line, found)
    except RepeatedKey as error:
        return found, str(error)
    return found, ""


class _LogReader:
    """A full log: its lines are the entries of the run, numbered without gaps."""

    def __init__(self) -> None:
        self._last = e.Entry(-1, 0.0, 0, e.Noticed(""))
        self._decode = log.decoder()
        self._suites = log.SuiteNumbers()
        self._statuses: dict[tuple[int, str], str] = {}
        self._quarantined: set[tuple[int, str]] = set()
        self._failed = 0  # files that could not be collected
        self._seq = -1  # of the last line that has one
        self.gaps: list[str] = []

    def take(self, line: bytes, number: int, entries: list[e.Entry]) -> bool:
        """Adds the entries of the line. Returns whether the log ends with it."""
        try:
            found, said = self._decode(line)
        except StreamError as error:
            entries.append(self._next(e.Noticed(f"line {number} is left out: {error}")))
            return False
        if found is None:
            self._seq = said.seq
            unknown = f"line {number} is of a type that is not known here; left out"
            entries.append(self._next(e.Noticed(unknown)))
            return False
        entry, last, before = self._suites.numbered(found), self._last, self._seq
        self._last, self._seq = entry, entry.seq
        if entry.seq == before + 1 and type(entry.event) is e.TestStarted:  # half of all lines
            entries.append(entry)
            return False
        if wrong := self._wrong(said, entry, before, number):
            entries += (e.Entry(last.seq, last.at, entry.suite, e.ChannelBroken(why)) for why in wrong)
        entries.append(entry)
        return type(entry.event) is e.RunFinished

    def _wrong(self, said: log.Line, entry: e.Entry, before: int, number: int) -> list[str]:
        """What shows that lines are missing, or were changed. `before`: the number of the last entry."""
        found = []
        if entry.seq != before + 1:
            found.append(f"line {number} has the number {entry.seq}: expected {before + 1}")
        match entry.event:
            case e.TestFinished(test=test, outcome=outcome):
                key = entry.suite, test
                status = STATUS[outcome]
                if self._quarantined:
                    status = status_of(outcome, key in self._quarantined)
                if said.status != status:
                    found.append(f"line {number} says {said.status!r} of {test!r}, and that it {outcome}")
                if self._statuses.get(key) != "fail":
                    self._statuses[key] = status
            case e.TestsQuarantined(tests=tests):
                self._quarantined.update((entry.suite, test) for test in tests)
            case e.CollectionFailed():
                self._failed += 1
            case e.RunFinished() if said.results is not None:
                tally = dict.fromkeys(PLAIN, 0)
                for status in self._statuses.values():
                    tally[status] += 1
                tally["fail"] += self._failed
                if said.results != tally:
                    found.append(f"the final line says {_shown(said.results)}, the tests {_shown(tally)}")
        return found

    def _next(self, event: e.Event) -> e.Entry:
        self._last = e.Entry(self._last.seq + 1, self._last.at, self._last.suite, event)
        return self._last


class _StreamRun:
    """The suites of a public stream that belong together."""

    def __init__(self, first: Object) -> None:
        self._run = _run_of(first)
        self._suite: _SuiteReader | None = None
        self._labels = UniqueNames()
        self._ends: list[tuple[str, RunOutcome, str]] = []
        self._missing: list[e.SuiteMissing] = []
        self._not_run: list[str] = []
        self._number = -1
        self._seq = 0
        self._seconds = 0.0
        self.gaps: list[str] = []

    @property
    def is_open(self) -> bool:
        return self._suite is not None

    def has(self, suite: Object) -> bool:
        """Whether this suite is one more of the run."""
        return _run_of(suite) == self._run

    def suite(self, found: Object, fault: str, number: int) -> list[e.Entry]:
        before = self._cut() if self._suite is not None else []
        self._suite = _SuiteReader(found, number, self._labels)
        begun = self._entries([self._suite.run()]) if self._seq == 0 else []
        if not self._suite.is_missing:
            begun += self._begin(self._suite)
        if fault:
            self._suite.doubt(number, fault)
        return before + begun

    def _begin(self, suite: _SuiteReader) -> list[e.Entry]:
        self._number += 1
        return self._entries(suite.begin())

    def line(self, found: Object | None, fault: str, line: bytes, number: int) -> list[e.Entry]:
        if self._suite is None:
            return []
        if fault:
            self._suite.doubt(number, fault)
        suite, was_missing = self._suite, self._suite.is_missing
        if found is not None and found.get("type") == "final":
            events, end = suite.final(Fields(found))
            if was_missing and not events:  # it had no process, and its lines agree
                return self._miss(suite, end)
            return (self._begin(suite) if was_missing else []) + self._end(events, end)
        events = suite.line(found, line, number)
        if not was_missing:
            return self._entries(events)
        return [] if suite.is_missing else self._begin(suite) + self._entries(events)

    def _miss(self, suite: _SuiteReader, end: e.SuiteFinished) -> list[e.Entry]:
        """A suite that could not be started is none of the run's suites."""
        missing = suite.missing_suite(required=end.outcome not in QUIET)
        self._missing.append(missing)
        self._suite = None
        return self._entries([missing])

    def close(self) -> list[e.Entry]:
        """The end of the run, unless a suite has none."""
        if self._suite is not None:
            begun = self._begin(self._suite) if self._suite.is_missing else []
            return begun + self._entries(self._suite.totals())
        told = combined(self._ends) if self._ends else (RunOutcome.NO_TESTS, "")
        outcome, reason = without(self._missing, *told)
        return self._entries([e.RunFinished(outcome, self._seconds, tuple(self._not_run), reason)])

    def _cut(self) -> list[e.Entry]:
        assert self._suite is not None
        begun = self._begin(self._suite) if self._suite.is_missing else []
        why = f"another suite begins before the final line of this one{self._suite.missing()}"
        end = e.SuiteFinished(RunOutcome.INCOMPLETE, 0.0, tuple(self._suite.not_run), why)
        return begun + self._end([*self._suite.totals(), e.ChannelBroken(why)], end)

    def _end(self, events: list[e.Event], end: e.SuiteFinished) -> list[e.Entry]:
        assert self._suite is not None
        self.gaps += [event.reason for event in events if isinstance(event, e.ChannelBroken)]
        self._ends.append((self._suite.name, end.outcome, end.reason))
        self._not_run += end.not_run
        self._seconds += end.seconds
        self._suite = None
        return self._entries([*events, end])

    def _entries(self, events: list[e.Event]) -> list[e.Entry]:
        first = self._seq
        self._seq += len(events)
        return [e.Entry(seq, 0.0, max(0, self._number), event) for seq, event in enumerate(events, first)]


class _SuiteReader:
    """One suite of a public stream, from its first line to its final one."""

    def __init__(self, suite: Object, number: int, labels: UniqueNames) -> None:
        self._suite = Fields(suite)
        self._first = number
        self._labels = labels
        self.not_run: list[str] = []
        self._tally = dict.fromkeys(PLAIN, 0)
        self._noise = 0
        self._repeated = 0
        self._doubts: list[str] = []
        self._why: str | None = None  # what our writer says of a run that failed without a failing test
        self.name = self._suite.text("name")
        #: It says that it could not be started, and has had no line that contradicts it.
        self.is_missing = bool(self.name and self._missing.text("reason"))

    @property
    def _missing(self) -> Fields:
        return self._suite.fields("extra").fields(MISSING)

    def missing_suite(self, required: bool) -> e.SuiteMissing:
        """`required`: its lines say so, whatever its first one does."""
        needed = required or self._missing.found.get("required") is True
        return e.SuiteMissing(self.name, self._missing.text("reason"), needed)

    def run(self) -> e.RunStarted:
        extra, build = self._suite.fields("extra"), self._suite.text("build")
        names = extra.text("run"), extra.text("runner")
        return e.RunStarted(*names, (), "", "", build, source="stream", retold=True)

    def begin(self) -> list[e.Event]:
        suite, extra = self._suite, self._suite.fields("extra")
        runner = extra.text("runner")
        found: list[e.Event] = [e.SuiteEntered(self.name or runner, runner, (), "", source="stream")]
        toolchain = {name: str(version) for name, version in extra.fields("toolchain").found.items()}
        if (rustc := suite.text("rustc")) not in ("", "none"):
            toolchain["rustc"] = rustc
        if toolchain:
            found.append(e.SuiteDescribed("", toolchain))
        if not suite.text("rustc"):
            found.append(_warning(self._first, "the suite does not say its rustc"))
        if not has_zone(suite.text("build")):
            found.append(_warning(self._first, f"build is {suite.text('build')!r}, not a time with its zone"))
        if suite.count("count") is None:
            found.append(_warning(self._first, "the suite does not say its count"))
        return [*found, self._started(suite.count("count") or 0)]

    def _started(self, count: int) -> e.SuiteStarted:
        suite, extra = self._suite, self._suite.fields("extra")
        more = beside(suite.found, _SUITE, _SUITE_EXTRA)
        if suite.found.get("name") == "":
            more["name"] = ""
        left_out = extra.count("filtered_out") or 0
        return e.SuiteStarted(self.name, suite.text("build"), count, left_out, extra.text("prefix"), more)

    def doubt(self, number: int, fault: str) -> None:
        self._doubts.append(f"line {number}: {fault}")

    def line(self, found: Object | None, line: bytes, number: int) -> list[e.Event]:
        if found is None:
            self.is_missing = False
            return self._keep(line, number)
        if found.get("type") in ("test", "bench"):
            explained = self._why is not None
            events = self._test(Fields(found), number)
            self.is_missing = self.is_missing and not explained and self._why is not None
            return events
        self.is_missing = False
        return [_warning(number, f"an object of type {found.get('type')!r} is not known here; left out")]

    def _keep(self, line: bytes, number: int) -> list[e.Event]:
        """A line that is no object becomes output; there is one warning for the first of them."""
        self._noise += 1
        warnings = [_warning(number, "not an object; kept as output")] if self._noise == 1 else []
        return [*warnings, e.OutputReceived("stdout", text_of(line) + "\n")]

    def totals(self) -> list[e.Event]:
        """How often each warning that is only given once applied, if that is more than once."""
        found: list[e.Event] = []
        if self._noise > 1:
            found.append(e.Noticed(f"{self._noise} lines in all are not objects; kept as output"))
        if self._repeated > 1:
            found.append(e.Noticed(f"{self._repeated} tests in all have the label of an earlier test"))
        return found

    def _test(self, test: Fields, number: int) -> list[e.Event]:
        label, status, extra = test.text("label"), test.text("status"), test.fields("extra")
        warnings: list[e.Event] = []
        if not label:
            label = f"line {number}"
            warnings.append(_warning(number, "a test without a label"))
        if status == "fail" and extra.text("phase") == "run" and self._why is None:
            self._tally[status] += 1
            self._why = test.text("reason")
            count = self._suite.count("count")  # without this line, which is written again where it is needed
            return [*warnings, self._started(count - 1)] if count else warnings
        label, given = self._labels.unique(label), label
        if label != given:
            self._repeated += 1
            if self._repeated == 1:  # the others are counted
                warnings.append(_warning(number, f"a second test {given!r}"))
        if status not in PLAIN:
            warnings.append(_warning(number, f"status of {label!r} is {status!r}; taken as fail"))
            status = "fail"
        self._tally[status] += 1
        if extra.text("outcome") == NOT_RUN and status == "ignore":
            self.not_run.append(label)
            return [*warnings, e.TestsSelected((label,))]
        if extra.text("phase") in ("collect", "build") and status == "fail":
            return [*warnings, not_collected(label, test)]
        if (why := quarantine_of(test)) is not None:
            warnings.append(e.TestsQuarantined({label: why}))
        return [*warnings, finished(label, status, test)]

    def final(self, final: Fields) -> tuple[list[e.Event], e.SuiteFinished]:
        """The last events of the suite, and its end."""
        extra = final.fields("extra")
        outcome, reason = self._verdict(final)
        word = extra.text("outcome")
        nothing = word == RunOutcome.NO_TESTS and outcome is RunOutcome.PASSED and not self._tally["ok"]
        disagrees = self._disagreement(final)
        broken = [e.ChannelBroken(disagrees)] if disagrees else []
        if (word in _WORSE or nothing) and not broken:
            outcome, reason = RunOutcome(word), extra.text("reason")
        more = beside(final.found, _FINAL, _FINAL_EXTRA)
        seconds = extra.number("seconds") or 0.0
        end = e.SuiteFinished(outcome, took(seconds), tuple(self.not_run), reason, more)
        return [*self.totals(), *later_sessions(final), *exited(final), *broken], end

    def missing(self) -> str:
        count, seen = self._suite.count("count"), sum(self._tally.values())
        return f"; {count - seen} of {count} tests have no result" if count and seen < count else ""

    def _verdict(self, final: Fields) -> tuple[RunOutcome, str]:
        """The outcome by the lines: the tests, the count and the results must agree."""
        if disagrees := self._disagreement(final):
            return RunOutcome.INCOMPLETE, disagrees
        if self._tally["fail"]:
            return RunOutcome.FAILED, self._why or ""
        seen = sum(self._tally.values())
        if self.not_run:
            return RunOutcome.INCOMPLETE, f"{len(self.not_run)} of {seen} tests were not run"
        return (RunOutcome.PASSED if seen else RunOutcome.NO_TESTS), ""

    def _disagreement(self, final: Fields) -> str:
        if self._doubts:
            return "; ".join(self._doubts[:5])
        results, seen = final.fields("results").found, sum(self._tally.values())
        count = self._suite.count("count")
        if count is not None and count != seen:
            return f"the suite announced {count} tests and has {seen}"
        if results != self._tally or any(isinstance(number, bool) for number in results.values()):
            return f"the final line says {_shown(results)}, the tests add up to {_shown(self._tally)}"
        return ""


def _run_of(suite: Object) -> str:
    return Fields(suite).fields("extra").text("run")


def _shown(tally: Object) -> str:
    return msgspec.json.encode(tally).decode()


def _warning(number: int, text: str) -> e.Noticed:
    return e.Noticed(f"line {number}: {text}")

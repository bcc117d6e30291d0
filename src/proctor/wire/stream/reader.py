"""Reads a public stream or a full log of any writer, as entries.

Unknown fields are ignored; anything else that cannot be used becomes a notice. Each suite of a public stream
is a run of its own. A run without an end gets none here: `replay` adds it.
"""

from __future__ import annotations

import msgspec

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import RunOutcome
from proctor.text import text_of
from proctor.unique_names import UniqueNames
from proctor.wire.reports.report import MAX_LINE
from proctor.wire.stream import log
from proctor.wire.stream.fields import Fields, exited, failure_of, finished
from proctor.wire.stream.words import NOT_RUN, PLAIN, Object, has_zone

#: Outcomes of a run that are taken from the final line. Whether it passed is computed from the tests.
_WORSE = set(RunOutcome) - {RunOutcome.PASSED, RunOutcome.NO_TESTS, RunOutcome.RUNNING}


class StreamReader:
    """Bytes in pieces of any size; entries out. An entry with `RunStarted` begins a run."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of the line that is not whole yet
        self._size = 0
        self._number = 0
        self._reading: _SuiteReader | _LogReader | None = None
        self._begun = False

    def feed(self, data: bytes) -> list[e.Entry]:
        *ends, rest = data.split(b"\n")
        found: list[e.Entry] = []
        for end in ends:
            self._hold(end)
            found += self._line()
        self._hold(rest)
        return found

    def close(self) -> list[e.Entry]:
        """The entries of a last line without LF, and those that were held back."""
        found = self._line() if self._size else []
        if isinstance(self._reading, _SuiteReader):
            found += self._reading.totals()
        self._reading = None
        return found

    def _hold(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > MAX_LINE:
            raise StreamError(f"line {self._number + 1} is longer than {MAX_LINE >> 20} MiB")

    def _line(self) -> list[e.Entry]:
        line = b"".join(self._pieces)
        self._pieces, self._size = [], 0
        self._number += 1
        found = self._entries(line) if line.strip() else []
        if found and isinstance(found[-1].event, e.RunFinished):
            self._reading = None
        return found

    def _entries(self, line: bytes) -> list[e.Entry]:
        reading = self._reading
        if isinstance(reading, _LogReader):
            return reading.line(line, self._number)
        found = _object(line)
        if reading is None and found is not None and self._begins_log(found):
            self._begun, self._reading = True, _LogReader()
            return self._reading.line(line, self._number)
        if found is not None and found.get("type") == "suite":
            self._begun, self._reading = True, _SuiteReader(found, self._number)
            return (reading.totals() if reading is not None else []) + self._reading.begin()
        # Before a suite and after a final line, anything is ignored.
        return reading.line(found, line, self._number) if reading is not None else []

    def _begins_log(self, found: Object) -> bool:
        """The first line of a full log, or any line of one whose first lines are lost."""
        return {"type", "seq", "at"} <= found.keys() and (not self._begun or found["seq"] == 0)


def _object(line: bytes) -> Object | None:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


class _LogReader:
    """A full log: its lines are the entries of the run."""

    def __init__(self) -> None:
        self._last = e.Entry(-1, 0.0, 0, e.Noticed(""))
        self._suites = log.SuiteNumbers()

    def line(self, line: bytes, number: int) -> list[e.Entry]:
        try:
            entry = log.decode(line)
        except StreamError as error:
            return [self._next(e.Noticed(f"line {number} is left out: {error}"))]
        if entry is None:
            return [self._next(e.Noticed(f"line {number} is of a type that is not known here; left out"))]
        self._last = self._suites.numbered(entry)
        return [self._last]

    def _next(self, event: e.Event) -> e.Entry:
        self._last = e.Entry(self._last.seq + 1, self._last.at, self._last.suite, event)
        return self._last


class _SuiteReader:
    """One suite of a public stream, from its first line to its final one."""

    def __init__(self, suite: Object, number: int) -> None:
        self._suite = Fields(suite)
        self._first = number
        self._seq = 0
        self._labels = UniqueNames()
        self._not_run: list[str] = []
        self._tally = dict.fromkeys(PLAIN, 0)
        self._noise = 0
        self._repeated = 0
        self._why = ""  # the reason that our writer gives for a run that failed without a failing test

    def begin(self) -> list[e.Entry]:
        suite, extra = self._suite, self._suite.fields("extra")
        build = suite.text("build")
        run = e.RunStarted(extra.text("run"), extra.text("runner"), (), "", "", build, source="stream")
        toolchain = {name: str(version) for name, version in extra.fields("toolchain").found.items()}
        if (rustc := suite.text("rustc")) not in ("", "none"):
            toolchain["rustc"] = rustc
        found: list[e.Event] = [run]
        if toolchain:
            found.append(e.SuiteDescribed("", toolchain))
        if not suite.text("rustc"):
            found.append(_warning(self._first, "the suite does not say its rustc"))
        if not has_zone(build):
            found.append(_warning(self._first, f"build is {build!r}, not a time with its zone"))
        if (count := suite.count("count")) is None:
            found.append(_warning(self._first, "the suite does not say its count"))
        left_out = extra.count("filtered_out") or 0
        found.append(e.SuiteStarted(suite.text("name"), build, count or 0, left_out, extra.text("prefix")))
        return self._entries(found)

    def line(self, found: Object | None, line: bytes, number: int) -> list[e.Entry]:
        if found is None:
            return self._entries(self._keep(line, number))
        match found.get("type"):
            case "test" | "bench":
                return self._entries(self._test(Fields(found), number))
            case "final":
                final = Fields(found)
                return [*self.totals(), *self._entries([*exited(final), self._final(final)])]
            case kind:
                unknown = f"an object of type {kind!r} is not known here; left out"
                return self._entries([_warning(number, unknown)])

    def _keep(self, line: bytes, number: int) -> list[e.Event]:
        """A line that is no object becomes output; there is one warning for the first of them."""
        self._noise += 1
        warnings = [_warning(number, "not an object; kept as output")] if self._noise == 1 else []
        return [*warnings, e.OutputReceived("stdout", text_of(line) + "\n")]

    def totals(self) -> list[e.Entry]:
        """How often each warning that is only given once applied, if that is more than once."""
        found: list[e.Event] = []
        if self._noise > 1:
            found.append(e.Noticed(f"{self._noise} lines in all are not objects; kept as output"))
        if self._repeated > 1:
            found.append(e.Noticed(f"{self._repeated} tests in all have the label of an earlier test"))
        return self._entries(found)

    def _test(self, test: Fields, number: int) -> list[e.Event]:
        label, status, extra = test.text("label"), test.text("status"), test.fields("extra")
        warnings: list[e.Event] = []
        if not label:
            label = f"line {number}"
            warnings.append(_warning(number, "a test without a label"))
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
            self._not_run.append(label)
            return [*warnings, e.TestsSelected((label,))]
        if extra.text("phase") == "run":
            self._why = test.text("reason")
            return warnings
        if extra.text("phase") in ("collect", "build") and status == "fail":
            failure, trace = failure_of(test)
            return [*warnings, e.CollectionFailed(label, failure or e.Failure(), trace or "")]
        return [*warnings, finished(label, status, test)]

    def _final(self, final: Fields) -> e.RunFinished:
        extra = final.fields("extra")
        outcome, reason = self._verdict(final)
        word = extra.text("outcome")
        nothing = word == RunOutcome.NO_TESTS and outcome is RunOutcome.PASSED and not self._tally["ok"]
        if word in _WORSE or nothing:
            outcome, reason = RunOutcome(word), extra.text("reason")
        return e.RunFinished(outcome, extra.number("seconds") or 0.0, tuple(self._not_run), reason)

    def _verdict(self, final: Fields) -> tuple[RunOutcome, str]:
        """The outcome by the lines: the tests, the count and the results must agree."""
        if self._tally["fail"]:
            return RunOutcome.FAILED, self._why
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
        return [e.Entry(seq, 0.0, 0, event) for seq, event in enumerate(events, first)]


def _warning(number: int, text: str) -> e.Noticed:
    return e.Noticed(f"line {number}: {text}")

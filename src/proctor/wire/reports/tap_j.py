"""TAP-J as events: JSON lines of type suite, case, test, note and final (once called tally).

Times count from the start of the suite, so a test took the time since the one before it. Omitted tests need
not be listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from proctor import decoding
from proctor import events as e
from proctor.outcome import Outcome
from proctor.wire.reports.report import MOST_TESTS, JsonLines, finished, place_of, scope

_OUTCOMES = {
    "pass": Outcome.PASSED,
    "fail": Outcome.FAILED,
    "error": Outcome.ERROR,
    "omit": Outcome.SKIPPED,
    "todo": Outcome.SKIPPED,
}


class _Exception(msgspec.Struct, rename={"kind": "class"}):
    message: str = ""
    kind: str = ""
    file: str = ""
    line: int = 0
    backtrace: list[str] | str = ""


class _Line(msgspec.Struct):
    type: str
    label: str = ""
    level: int = 0
    status: str = ""
    count: int | None = None
    file: str = ""
    line: int = 0
    time: float = 0.0
    stdout: str = ""
    stderr: str = ""
    text: str = ""
    exception: _Exception | None = None
    counts: dict[str, int] = {}


class TapJReader(JsonLines):
    format = "tap-j"
    decoder = decoding.decoder(_Line)
    strict = True

    def __init__(self) -> None:
        super().__init__()
        self._cases: list[str] = []
        self._planned: int | None = None
        self._final: _Line | None = None
        self._begun = False
        self._clock = 0.0
        self._found = dict.fromkeys(_OUTCOMES, 0)

    def _object(self, line: _Line) -> Iterator[e.Event]:
        match line.type:
            case "suite":
                if self._begun:
                    self._gaps.append(f"line {self._number} begins another suite")
                self._begun, self._planned = True, line.count
                if line.count is not None:
                    yield e.SuiteStarted("", "", max(0, min(line.count, MOST_TESTS)))
            case "case":
                self._cases = [*self._cases[: max(0, line.level)], line.label]
            case "test":
                if self._final or not self._begun:
                    self._gaps.append(f"line {self._number}: a test outside of the suite")
                yield self._test(line)
            case "note":
                yield e.Noticed(line.text)
            case "final" | "tally":
                if self._final:
                    self._gaps.append(f"line {self._number} is a second final line")
                self._final = line

    def _output(self, text: str) -> Iterable[e.Event]:
        if self._final or not self._begun:
            self._outside(text)
        return super()._output(text)

    def _test(self, line: _Line) -> e.TestFinished:
        if line.status not in _OUTCOMES:
            known = ", ".join(_OUTCOMES)
            raise self._fault(f"line {self._number}: status {line.status!r} is none of {known}")
        self._found[line.status] += 1
        seconds, self._clock = line.time - self._clock, max(line.time, self._clock)
        outcome = _OUTCOMES[line.status]
        raised = line.exception or _Exception()
        trace = raised.backtrace if isinstance(raised.backtrace, str) else "\n".join(raised.backtrace)
        at = place_of(raised.file, raised.line) if raised.file else None
        bad = outcome in (Outcome.FAILED, Outcome.ERROR)
        return finished(
            self._names.unique("::".join([*scope(self._cases, "::"), line.label])),
            outcome,
            round(seconds, 9),
            message=raised.message or (line.status if line.status == "todo" else ""),
            traceback=trace,
            place=place_of(line.file, line.line) if line.file else None,
            failure=e.Failure(raised.kind, raised.message, at) if bad else None,
            stdout=line.stdout,
            stderr=line.stderr,
        )

    def _last(self) -> Iterator[e.Event]:
        found = len(self._names)
        counts = self._final.counts if self._final else {}
        unlisted = max(0, counts.get("omit", 0) - self._found["omit"])
        if not self._begun:
            self._gaps.append("there is no suite in it")
        if self._final is None:
            self._gaps.append("there is no final line")
        for status, number in self._found.items():
            if status != "omit" and counts.get(status, number) != number:
                self._gaps.append(f"its final line counts {counts[status]} {status}; {number} were reported")
        if counts.get("total", found + unlisted) != found + unlisted:
            self._gaps.append(f"its final line counts {counts['total']} tests; {found} were reported")
        if self._planned is None:
            yield e.SuiteStarted("", "", found)
        elif self._planned != found + unlisted:
            self._gaps.append(f"{found} of {self._planned} tests were reported")
        yield self._ending(None, found, duration=self._final.time if self._final else 0.0)

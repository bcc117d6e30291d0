"""The JSON of jest (`--json`) and of vitest (`--reporter=json`), which has the same form, as events.

A test is `file::group > test`. A test that never ran does not count as skipped, if the report shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from proctor import events as e
from proctor.outcome import Outcome
from proctor.wire.reports.report import JsonDocument, finished, place_of, scope

_OUTCOMES = {
    "passed": Outcome.PASSED,
    "failed": Outcome.FAILED,
    "skipped": Outcome.SKIPPED,
    "pending": Outcome.SKIPPED,
    "disabled": Outcome.SKIPPED,
    "todo": Outcome.SKIPPED,
}
_RAISED = re.compile(r"(?:([A-Za-z_$][\w$.]*): )?(.*)", re.S)
_FRAME = re.compile(r"\n +at ")
_AT = re.compile(r"\n +at (?:.*?\()?(?:file://)?(/[^()\n]*?):([0-9]{1,9}):[0-9]+\)?(?=\n|$)")
_LIBRARY = "/node_modules/"


class _Location(msgspec.Struct):
    line: int = 0


class _Test(msgspec.Struct, rename="camel"):
    title: str
    status: str
    ancestor_titles: list[str] = []
    duration: float | None = None
    failure_messages: list[str] | None = None
    location: _Location | None = None


class _File(msgspec.Struct, rename="camel"):
    name: str
    status: str = ""
    message: str = ""
    end_time: float = 0.0
    assertion_results: list[_Test] = []


class _Report(msgspec.Struct, rename="camel"):
    test_results: list[_File]
    success: bool
    num_total_tests: int
    num_failed_tests: int = 0
    start_time: float = 0.0
    was_interrupted: bool = False


class JestReader(JsonDocument):
    format = "jest"
    decoder = msgspec.json.Decoder(_Report)

    def _events(self, report: _Report) -> Iterator[e.Event]:
        found = failed = broken = 0
        for file in report.test_results:
            failures = sum(test.status == "failed" for test in file.assertion_results)
            found, failed = found + len(file.assertion_results), failed + failures
            for test in file.assertion_results:
                yield self._test(file, test)
            if file.status == "failed" and not failures:
                broken += 1
                yield _broken(file)
        if found != report.num_total_tests:
            self._gaps.append(f"it counts {report.num_total_tests} tests and lists {found}")
        if report.num_failed_tests > failed:
            self._gaps.append(f"it counts {report.num_failed_tests} failed tests and lists {failed}")
        if report.was_interrupted:
            yield e.SessionInterrupted(e.Failure("", f"{self.format} was interrupted"))
        yield e.SuiteStarted(self.format, "", max(found, report.num_total_tests) + broken)
        end = max([file.end_time for file in report.test_results], default=report.start_time)
        status, duration = 0 if report.success else 1, (end - report.start_time) / 1000
        yield self._ending(status, found, duration=duration, created=end / 1000)

    def _test(self, file: _File, test: _Test) -> e.TestFinished:
        (path,) = scope([file.name], "")
        name = self._names.unique(f"{path}::{' > '.join([*test.ancestor_titles, test.title])}")
        place = place_of(path, test.location.line if test.location else 0)
        text = "\n".join(test.failure_messages or [])
        outcome, doubt = self._outcome(test)
        failure = _failure(text, file.name) if outcome is Outcome.FAILED else None
        return finished(
            name,
            outcome,
            (test.duration or 0.0) / 1000,
            message=failure.message if failure else doubt,
            traceback=text,
            place=place,
            failure=failure,
        )

    def _outcome(self, test: _Test) -> tuple[Outcome, str]:
        if test.status not in _OUTCOMES:
            return Outcome.ERROR, f"its status is {test.status!r}"
        return _OUTCOMES[test.status], "todo" if test.status == "todo" else ""


class VitestReader(JestReader):
    format = "vitest"

    def _outcome(self, test: _Test) -> tuple[Outcome, str]:
        """`pending` means skipped in jest; in vitest, which has `skipped` too, it means never ended."""
        if test.status == "pending":
            return Outcome.ERROR, "vitest left it pending: its worker ended before it did"
        return super()._outcome(test)


def _broken(file: _File) -> e.CollectionFailed:
    lines = [line.strip() for line in file.message.splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith("●")), "the file failed and gives no reason")
    return e.CollectionFailed(file.name, e.Failure("", reason), file.message)


def _failure(text: str, file: str) -> e.Failure:
    """The first frame in the test's own file, or else in no library."""
    places = [e.Place(found[1], int(found[2])) for found in _AT.finditer(text) if _LIBRARY not in found[1]]
    own = [place for place in places if place.file == file] or places
    raised = _RAISED.fullmatch(_FRAME.split(text)[0].strip())
    kind, message = (raised[1] or "", raised[2]) if raised else ("", "")
    return e.Failure(kind, message or kind, own[0] if own else None)

"""The JSON of jest (`--json`) and of vitest (`--reporter=json`), which has the same form, as events.

A test is `file::group > test`. A test that never ran does not count as skipped, if the report shows it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from proctor import decoding
from proctor import events as e
from proctor.outcome import Outcome
from proctor.wire.reports.report import JsonDocument, finished, place_of, scope

_Count: TypeAlias = int | msgspec.UnsetType

_OUTCOMES = {
    "passed": Outcome.PASSED,
    "failed": Outcome.FAILED,
    "skipped": Outcome.SKIPPED,
    "pending": Outcome.SKIPPED,
    "disabled": Outcome.SKIPPED,
    "todo": Outcome.SKIPPED,
}
_FILE_STATUSES = {"", "passed", "failed", "skipped", "pending", "focused", "todo", "disabled"}
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


class _Snapshots(msgspec.Struct, rename="camel"):
    failure: bool = False
    unmatched: int = 0


class _Report(msgspec.Struct, rename="camel"):
    test_results: list[_File]
    success: bool
    num_total_tests: int
    num_passed_tests: _Count = msgspec.UNSET
    num_failed_tests: _Count = msgspec.UNSET
    num_pending_tests: _Count = msgspec.UNSET
    num_todo_tests: _Count = msgspec.UNSET
    num_total_test_suites: _Count = msgspec.UNSET
    num_passed_test_suites: _Count = msgspec.UNSET
    num_failed_test_suites: _Count = msgspec.UNSET
    num_pending_test_suites: _Count = msgspec.UNSET
    num_runtime_error_test_suites: _Count = msgspec.UNSET
    start_time: float = 0.0
    was_interrupted: bool = False
    snapshot: _Snapshots = msgspec.field(default_factory=_Snapshots)


class JestReader(JsonDocument):
    format = "jest"
    decoder = decoding.decoder(_Report)

    def _events(self, report: _Report) -> Iterator[e.Event]:
        broken = 0
        for file in report.test_results:
            for test in file.assertion_results:
                yield self._test(file, test)
            if file.status == "failed" and not _failures(file):
                broken += 1
                yield _broken(file)
        statuses = Counter(test.status for file in report.test_results for test in file.assertion_results)
        found = statuses.total()
        self._compare("tests", report.num_total_tests, found)
        self._compare("failed tests", report.num_failed_tests, statuses["failed"])
        self._compare("todo tests", report.num_todo_tests, statuses["todo"])
        self._check_tests(report, statuses)
        self._check_files(report)
        if report.success and (statuses["failed"] or broken):
            self._gaps.append("it says success, and lists failures")
        if report.success and report.snapshot.unmatched:
            self._gaps.append(f"it says success, and counts {report.snapshot.unmatched} unmatched snapshots")
        if report.was_interrupted:
            yield e.SessionInterrupted(e.Failure("", f"{self.format} was interrupted"))
        yield e.SuiteStarted(self.format, "", max(found, report.num_total_tests) + broken)
        end = max([file.end_time for file in report.test_results], default=report.start_time)
        status, duration = 0 if report.success else 1, (end - report.start_time) / 1000
        yield self._ending(status, found, duration=duration, created=end / 1000)

    def _check_tests(self, report: _Report, statuses: Counter[str]) -> None:
        self._compare("passed tests", report.num_passed_tests, statuses["passed"])
        skipped = statuses["pending"] + statuses["skipped"] + statuses["disabled"]
        self._compare("pending tests", report.num_pending_tests, skipped)

    def _check_files(self, report: _Report) -> None:
        """What jest calls a test suite is a file; one that could not be run counts as failed too."""
        statuses = Counter(file.status for file in report.test_results)
        self._compare("test suites", report.num_total_test_suites, len(report.test_results))
        self._compare("failed test suites", report.num_failed_test_suites, statuses["failed"])
        unable = sum(file.status == "failed" and not _failures(file) for file in report.test_results)
        counted = report.num_runtime_error_test_suites  # a file can fail to end after a test of it has failed
        if isinstance(counted, int) and not unable <= counted <= statuses["failed"]:
            self._compare("test suites that failed to run", counted, unable)
        if report.success and report.snapshot.failure:
            self._gaps.append("it says success, and that snapshots failed")
        for file in report.test_results:
            self._check_file(file)

    def _check_file(self, file: _File) -> None:
        failures = _failures(file)
        if file.status not in _FILE_STATUSES:
            self._gaps.append(f"the status of {file.name} is {file.status!r}")
        elif failures and file.status != "failed":
            self._gaps.append(f"{file.name} is said to have {file.status}; {failures} of its tests failed")

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

    def _check_tests(self, report: _Report, statuses: Counter[str]) -> None:
        """In some versions tests that never ended are pending; in early ones all but failures passed."""
        passed, pending = report.num_passed_tests, report.num_pending_tests
        if passed != statuses.total() - statuses["failed"]:
            self._compare("passed tests", passed, statuses["passed"])
        if pending != statuses["skipped"] + statuses["pending"]:
            self._compare("pending tests", pending, statuses["skipped"])

    def _check_files(self, report: _Report) -> None:
        """What vitest calls a test suite is a file, or a group of tests in one, also one without tests."""
        failed = groups = 0
        for file in report.test_results:
            self._check_file(file)
            found, bad = _groups(file)
            groups, failed = groups + found, failed + max(bad, file.status == "failed")
        total, counted = report.num_total_test_suites, report.num_failed_test_suites
        if isinstance(total, int) and total < groups:
            self._compare("test suites", total, groups)
        several = (report.num_passed_test_suites, counted, report.num_pending_test_suites)
        parts = [part for part in several if isinstance(part, int)]
        if isinstance(total, int) and len(parts) == len(several) and sum(parts) != total:
            self._gaps.append(f"it counts {total} test suites, and {sum(parts)} that passed, failed or wait")
        if isinstance(counted, int) and (counted < failed or (counted and not failed)):
            self._compare("failed test suites", counted, failed)

    def _outcome(self, test: _Test) -> tuple[Outcome, str]:
        """`pending` means skipped in jest; in vitest, which has `skipped` too, it means never ended."""
        if test.status == "pending":
            return Outcome.ERROR, "vitest left it pending: its worker ended before it did"
        return super()._outcome(test)


def _failures(file: _File) -> int:
    return sum(test.status == "failed" for test in file.assertion_results)


def _groups(file: _File) -> tuple[int, int]:
    """The file and the groups in it that have tests, and how many of these have a test that failed."""
    groups: dict[tuple[str, ...], bool] = {(): False}
    for test in file.assertion_results:
        for depth in range(len(test.ancestor_titles) + 1):
            group = tuple(test.ancestor_titles[:depth])
            groups[group] = groups.get(group, False) or test.status == "failed"
    return len(groups), sum(groups.values())


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

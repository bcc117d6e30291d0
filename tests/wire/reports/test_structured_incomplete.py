"""What makes a report incomplete: each row of the tables in docs/reference/formats.md, on a real report."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.reports import REPORTS, read

from proctor.outcome import RunOutcome

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "formats.md"


class Row(NamedTuple):
    """What is wrong, in the words of the documentation; such a report; what is said of it."""

    what: str
    data: Callable[[], bytes]
    said: str


def edited(name: str, **values: Any) -> Callable[[], bytes]:
    """The report with other values; `a__0__b` is the key `b` of the first item of `a`."""

    def made() -> bytes:
        report = json.loads(REPORTS[name])
        for path, value in values.items():
            *way, last = [int(part) if part.isdigit() else part for part in path.split("__")]
            inner = report
            for part in way:
                inner = inner[part]
            inner[last] = value
        return json.dumps(report).encode()

    return made


def replaced(name: str, *pairs: tuple[str, str]) -> Callable[[], bytes]:
    def made() -> bytes:
        data = REPORTS[name]
        for old, new in pairs:
            assert old.encode() in data, old
            data = data.replace(old.encode(), new.encode(), 1)
        return data

    return made


def cut(name: str) -> Callable[[], bytes]:
    return lambda: REPORTS[name][: len(REPORTS[name]) // 2]


def log(*lines: dict[str, Any]) -> Callable[[], bytes]:
    """A log of pytest-reportlog, from that of a real session: its lines for one test that passes."""

    def made() -> bytes:
        real = [json.loads(line) for line in REPORTS["pytest/checks.jsonl"].splitlines()]
        own = [line for line in real if line.get("nodeid") == "checks.py::test_passes"]
        found = [real[0], *own, *lines]
        return b"".join(json.dumps(line).encode() + b"\n" for line in found)

    return made


def phase(**more: Any) -> dict[str, Any]:
    real = [json.loads(line) for line in REPORTS["pytest/checks.jsonl"].splitlines()]
    return {**next(line for line in real if line.get("when") == "teardown"), **more}


END = {"$report_type": "SessionFinish", "exitstatus": 0}
SUCCESS: dict[str, Any] = {"success": True}
JEST = "jest/fine.json"
VITEST = "vitest/fine.json"
CTRF = "ctrf/fine.json"
JUNIT = "vitest/fine.xml"


def pytest_report(**values: Any) -> Callable[[], bytes]:
    """The report of pytest-json-report on a session of which one test is left, and that passed."""

    def made() -> bytes:
        report = json.loads(REPORTS["pytest/checks.json"])
        report["tests"] = report["tests"][:1]
        report["exitcode"], report["collectors"] = 0, []
        report["summary"] = {"passed": 1, "total": 1, "collected": 1}
        for path, value in values.items():
            *way, last = [int(part) if part.isdigit() else part for part in path.split("__")]
            inner = report
            for part in way:
                inner = inner[part]
            inner[last] = value
        return json.dumps(report).encode()

    return made


TABLES: dict[str, list[Row]] = {
    "jest": [
        Row(
            "the report is empty: the process ended before jest wrote it",
            lambda: b"",
            "ended before it wrote one",
        ),
        Row("it is cut, or no JSON", cut(JEST), "truncated"),
        Row(
            "an object has a key twice",
            replaced(JEST, ('"success":true', '"success":false,"success":true')),
            "'success' twice",
        ),
        Row(
            "`numTotalTests`, `numPassedTests`, `numFailedTests`, `numPendingTests` or `numTodoTests` is "
            "not what the files list",
            edited(JEST, numFailedTests=1),
            "it counts 1 failed tests and lists 0",
        ),
        Row(
            "`numTotalTestSuites` or `numFailedTestSuites` is not what `testResults` has",
            edited(JEST, numFailedTestSuites=1),
            "it counts 1 failed test suites and lists 0",
        ),
        Row(
            "`numRuntimeErrorTestSuites` counts files that failed to run, and none is listed",
            edited(JEST, numRuntimeErrorTestSuites=1),
            "it counts 1 test suites that failed to run and lists 0",
        ),
        Row(
            "`success` is true, and a test or a file failed",
            edited("jest/sums.json", success=True),
            "it says success, and lists failures",
        ),
        Row(
            "`success` is true, and `snapshot` says failure or counts unmatched ones",
            edited(JEST, snapshot__unmatched=2),
            "2 unmatched snapshots",
        ),
        Row(
            "a file passed, and a test in it failed",
            edited("jest/sums.json", testResults__0__status="passed"),
            "is said to have passed; 3 of its tests failed",
        ),
        Row(
            "a file has a status that jest does not have",
            edited(JEST, testResults__0__status="done"),
            "is 'done'",
        ),
        Row("`wasInterrupted` is true", edited(JEST, wasInterrupted=True), "was interrupted"),
    ],
    "vitest": [
        Row("the report is empty, cut, or no JSON", cut(VITEST), "truncated"),
        Row(
            "an object has a key twice",
            replaced(VITEST, ('"status":"passed"', '"status":"failed","status":"passed"')),
            "'status' twice",
        ),
        Row(
            "`numTotalTests`, `numPassedTests`, `numFailedTests`, `numPendingTests` or `numTodoTests` is "
            "not what the files list",
            edited(VITEST, numTodoTests=1),
            "it counts 1 todo tests and lists 0",
        ),
        Row(
            "`numTotalTestSuites` is less than the files and groups that have tests, or not the sum of "
            "the other three",
            edited(VITEST, numTotalTestSuites=3),
            "it counts 3 test suites, and 1 that",
        ),
        Row(
            "`numFailedTestSuites` counts fewer than failed, or some where none did",
            edited(VITEST, numFailedTestSuites=1, numPassedTestSuites=0),
            "it counts 1 failed test suites and lists 0",
        ),
        Row(
            "`success` is true, and a test or a file failed, or snapshots are unmatched",
            edited("vitest/sums.json", success=True),
            "it says success, and lists failures",
        ),
        Row(
            "a file passed, and a test in it failed; or its status is none of vitest's",
            edited("vitest/sums.json", testResults__0__status="passed"),
            "is said to have passed",
        ),
        Row(
            "a test is left `pending`: an error, because its worker ended before it did",
            lambda: REPORTS["vitest/aborts.json"],
            "pending",
        ),
    ],
    "JUnit XML": [
        Row("the XML is cut or broken, or begins with another element", cut(JUNIT), "line"),
        Row(
            "it declares an entity",
            replaced(JUNIT, ("<testsuites", '<!DOCTYPE x [<!ENTITY a "b">]><testsuites')),
            "entity",
        ),
        Row(
            "`tests` of a suite is not what the suite has (nested suites and skipped tests may count or not)",
            replaced(JUNIT, ('tests="1"', 'tests="2"')),
            "1 of its 2 tests",
        ),
        Row(
            "`failures` and `errors` count none where tests failed, or others than failed",
            replaced(JUNIT, ('failures="0"', 'failures="1"')),
            "says 1 failed; none of its tests did",
        ),
        Row(
            "`skipped` counts others than were skipped",
            replaced(JUNIT, ('skipped="0"', 'skipped="4"')),
            "says 4 skipped; 0 of its tests were",
        ),
        Row(
            "a count is no number of at most nine digits (`-1`, `NaN`)",
            replaced(JUNIT, ('tests="1"', 'tests="-1"')),
            "tests='-1', which is no count",
        ),
        Row(
            "a test has neither failure nor error, and its `status` or `result` is a word that is not "
            "known to mean a pass: failed, or an error",
            replaced(JUNIT, ("<testcase ", '<testcase status="fail" ')),
            "status='fail'",
        ),
        Row(
            "a test has only failures of its repetitions (`rerunFailure`, `rerunError`): failed",
            replaced(JUNIT, ("</testcase>", '<rerunFailure message="again"/></testcase>')),
            "again",
        ),
        Row(
            "a test has no name, or vitest gives it no time: an error",
            replaced(JUNIT, ('<testcase classname="fine.test.js" name="passes"', "<testcase")),
            "does not say which test",
        ),
    ],
    "CTRF": [
        Row("the report is empty, cut, or no JSON", cut(CTRF), "truncated"),
        Row(
            "an object has a key twice",
            replaced(
                CTRF, ('"tests": [', '"tests": [{"name":"x","status":"failed","duration":1}],"tests": [')
            ),
            "'tests' twice",
        ),
        Row(
            "`summary` counts other `tests`, `passed`, `failed`, `skipped`, `pending`, `other` or "
            "`flaky` than are listed",
            edited(CTRF, results__summary__passed=3),
            "its summary has 3 passed, its list 1",
        ),
        Row(
            "what CTRF's schema requires is missing or is none of its words: `reportFormat`, "
            "`specVersion`, the name of the tool, a count or time of the summary, a test's name or "
            "duration",
            edited(CTRF, reportFormat="XYZ"),
            "reportFormat is 'XYZ': expected 'CTRF'",
        ),
        Row(
            "a test's status is `other` or no word of CTRF: an error, unless `rawStatus` is `todo` or "
            "the like",
            edited(CTRF, results__tests__0__status="fine", results__summary__passed=0),
            "its status is 'fine'",
        ),
        Row(
            "a value has another type than the schema gives it",
            edited(CTRF, results__tests__0__retries="two"),
            "Expected",
        ),
    ],
    "json-report": [
        Row("the report is empty, cut, or no JSON", cut("pytest/checks.json"), "truncated"),
        Row(
            "an object has a key twice",
            lambda: pytest_report()().replace(b'"exitcode": 0', b'"exitcode": 1, "exitcode": 0'),
            "'exitcode' twice",
        ),
        Row(
            "`summary` counts other tests, of any outcome, than are listed",
            pytest_report(summary__failed=1),
            "its summary has 1 failed, its list 0",
        ),
        Row(
            "more tests were collected than are listed or deselected",
            pytest_report(summary__collected=4),
            "3 of 4 tests have no result",
        ),
        Row(
            "`exitcode` is 0 where tests or collectors failed, or 5 where there are tests",
            edited("pytest/checks.json", exitcode=0),
            "exit status is 0, and tests failed",
        ),
        Row(
            "a test is said to be good, and a stage of it failed, or has no outcome of pytest's",
            pytest_report(tests__0__call__outcome="failed"),
            "is said to be passed, and a stage of it failed",
        ),
        Row(
            "a test is said to have failed, and no stage of it shows that: failed",
            pytest_report(tests__0__outcome="failed", summary__failed=1, summary__passed=0, exitcode=1),
            "no stage of it shows why",
        ),
        Row(
            "a test was set up and never called: an error",
            lambda: REPORTS["pytest/interrupted.json"],
            "interrupted",
        ),
    ],
    "reportlog": [
        Row("there is no `SessionFinish`, or it has no exit status", log(), "the session has no end"),
        Row("a line is no JSON, or cut", lambda: log(END)()[:-10], "line"),
        Row(
            "an object has a key twice",
            lambda: log(END)().replace(b'"exitstatus": 0', b'"exitstatus": 1, "exitstatus": 0'),
            "'exitstatus' twice",
        ),
        Row(
            "the exit status is 0 where tests or collectors failed, or 5 where there are tests",
            lambda: REPORTS["pytest/checks.jsonl"].replace(b'"exitstatus": 1', b'"exitstatus": 0'),
            "exit status is 0, and tests failed",
        ),
        Row(
            "there are tests after the end of the session, or a second end that differs",
            log(END, phase(nodeid="b")),
            "more lines after the end",
        ),
        Row(
            "the outcome of a phase is none of pytest's",
            log(phase(nodeid="b", when="setup"), phase(nodeid="b", outcome="great"), END),
            "'great'",
        ),
        Row(
            "a test has no teardown: an error, because the session ended before the test did",
            log(phase(nodeid="b", when="setup"), END),
            "never finished",
        ),
    ],
}
#: Our own; test_edited.py and test_again.py in tests/wire/document, and test_reader.py in tests/wire/stream,
#: have a test for each row.
OURS = {
    "our document": [
        "it is cut, no JSON, of other types, or an object has a key twice",
        "`outcome` is better than what tests, collection errors, exit code and signal add up to: the "
        "worse counts",
        "`summary` counts other tests than are listed, or other tests that were not run",
        "a test is listed twice, or among the tests and in `not_run`; or `not_run` is not empty",
        "`json_report` has other tests, or one that failed where `tests` says it did not",
        "`suites`: a name twice, a test of none of them, other `counts`, `not_run`, `exit_code` or "
        "`signal` than the run",
        "`current_test` is there, and no test crashed or timed out",
        "a test is `flaky`, and its `attempts` say otherwise, or it is not and they say it is; its outcome "
        "is not that of the last one",
        "a test has a `session` that `restarts` has no room for",
    ],
    "our stream": [
        "there is no `final` line, or another suite begins before it",
        "`count` of the suite is not the number of tests; `results` of the final line are not what they "
        "add up to",
        "a line has a key twice",
        "a test has the outcome `not_run`",
        "`exit` of the final line is a signal or a status other than 0: crashed, or failed",
        "`outcome` of the final line is worse than its tests: that outcome",
    ],
    "our log": [
        "there is no `final` line",
        "a number is missing in `seq`; so is a line that was removed or damaged",
        "the verdict of a suite or of the run is better than its facts add up to: the worse counts",
        "`status` of a test is not that of its outcome; `results` of the final line are not what the "
        "tests add up to",
        "a line has a key twice: it is left out, and so missing",
    ],
}
FORMS = {"JUnit XML": "junit", "CTRF": "ctrf"}
ROWS = [(FORMS.get(title, title), row) for title, rows in TABLES.items() for row in rows]


@pytest.mark.parametrize("form, row", ROWS, ids=lambda value: getattr(value, "what", value)[:60])
def test_each_row_of_the_documentation_holds(form: str, row: Row) -> None:
    result = read(row.data(), form)

    assert result.outcome not in (RunOutcome.PASSED, RunOutcome.NO_TESTS)
    messages = [test.message or "" for test in result.tests.values()]
    assert row.said in " ".join([result.reason, *messages])


@pytest.mark.parametrize("title", TABLES)
def test_the_documentation_has_exactly_these_rows(title: str) -> None:
    assert documented()[title] == [row.what for row in TABLES[title]]


@pytest.mark.parametrize("title", OURS)
def test_the_documentation_has_the_rows_of_our_own_formats(title: str) -> None:
    assert documented()[title] == OURS[title]


def documented() -> dict[str, list[str]]:
    """The first column of each table, by the title of its section."""
    text = DOCS.read_text().partition("## What makes a report incomplete\n")[2].partition("\n## ")[0]
    sections = re.split(r"^### ", text, flags=re.M)[1:]
    found = {}
    for section in sections:
        title, _, body = section.partition("\n")
        rows = [line for line in body.splitlines() if line.startswith("| ")][1:]
        found[title] = [row.removeprefix("| ").partition(" |")[0] for row in rows]
    return found


@pytest.mark.parametrize("name", [JEST, VITEST, CTRF, JUNIT])
def test_the_reports_that_are_made_wrong_here_pass_as_they_are(name: str) -> None:
    form = {JEST: "jest", VITEST: "vitest", CTRF: "ctrf", JUNIT: "junit"}[name]

    assert read(REPORTS[name], form).outcome is RunOutcome.PASSED


def test_the_pytest_reports_that_are_made_wrong_here_pass_as_they_are() -> None:
    assert read(pytest_report()(), "json-report").outcome is RunOutcome.PASSED
    assert read(log(END)(), "reportlog").outcome is RunOutcome.PASSED

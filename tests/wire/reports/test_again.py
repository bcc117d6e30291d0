"""Tests that ran again or are in quarantine, in the formats of other tools."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lxml import etree
from support.full_runs import AGAIN, result_of
from support.made_runs import run_of
from support.reports import outcomes, read

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.result import RunResult
from proctor.wire import formats

JUNIT = ("junit", "junit-full")


def written(form: str) -> bytes:
    return b"".join(formats.writer(form)(result_of(AGAIN)))


def cases(form: str) -> dict[str, etree._Element]:
    return {case.get("name"): case for case in etree.fromstring(written(form)).iter("testcase")}


def ctrf() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(written("ctrf"))["results"]
    return found


@pytest.mark.parametrize("form", JUNIT)
def test_junit_has_the_elements_of_surefire(form: str) -> None:
    found = {name: [element.tag for element in case] for name, case in cases(form).items()}

    assert [tag for tag in found["flaky"] if tag != "properties"] == ["flakyFailure"]
    assert [tag for tag in found["crashes"] if tag != "properties"] == ["flakyError"]
    assert [tag for tag in found["always"] if tag != "properties"] == ["failure", "rerunError"]
    assert [tag for tag in found["skips"] if tag != "properties"] == ["skipped", "flakyFailure"]


@pytest.mark.parametrize("form", JUNIT)
def test_a_failure_in_quarantine_is_skipped_in_junit(form: str) -> None:
    (known,) = cases(form)["known"].findall("skipped")

    assert known.get("message") == "quarantined: see #12: E: still"
    assert etree.fromstring(written(form)).find("testsuite").get("errors") == "0"


@pytest.mark.parametrize("form", ["junit", "junit-full", "ctrf"])
def test_attempts_are_read_back(form: str) -> None:
    again = read(written(form), form)
    flaky, always, crashes, known, kept, skips = again.tests.values()

    assert (again.flaky, flaky.flaky, crashes.flaky, always.flaky) == (2, True, True, False)
    assert [(one.outcome, one.message) for one in flaky.attempts] == [(Outcome.FAILED, "E: once")]
    assert [(one.outcome, one.message) for one in crashes.attempts] == [(Outcome.CRASH, "SIGSEGV")]
    assert [(one.outcome, one.message) for one in always.attempts] == [(Outcome.ERROR, "E: first")]
    assert (always.outcome, always.message) == (Outcome.FAILED, "E: again")
    assert [one.outcome for one in skips.attempts] == [Outcome.FAILED]
    assert (kept.attempts, known.attempts) == ((), ())


@pytest.mark.parametrize("form", ["junit-full", "ctrf"])
def test_quarantine_is_read_back(form: str) -> None:
    again = read(written(form), form)
    known, kept = (name for name in again.tests if name.endswith(("known", "kept")))

    assert dict(again.quarantined) == {known: "see #12", kept: ""}
    assert (again.tests[known].outcome, again.tests[known].message) == (Outcome.ERROR, "E: still")
    assert (again.excused, again.counts[Outcome.ERROR]) == (1, 0)


def test_ctrf_counts_and_lists_the_attempts() -> None:
    found = ctrf()
    tests = {test["name"]: test for test in found["tests"]}

    assert (found["summary"]["flaky"], found["summary"]["skipped"], found["summary"]["failed"]) == (2, 2, 1)
    assert (tests["flaky"]["flaky"], tests["flaky"]["retries"], tests["flaky"]["status"]) == (
        True,
        1,
        "passed",
    )
    assert tests["flaky"]["retryAttempts"][0]["message"] == "E: once"
    assert "flaky" not in tests["always"]
    assert tests["known"]["status"] == "skipped"
    assert tests["known"]["extra"] == {
        "id": "t.py::known",
        "quarantined": True,
        "quarantine_reason": "see #12",
    }


def test_tap_has_a_failure_in_quarantine_as_a_todo() -> None:
    lines = written("tap").decode().splitlines()

    assert "not ok 4 - t.py::known # TODO quarantined: see #12: E: still" in lines
    assert "ok 1 - t.py::flaky" in lines


def junit(inner: str) -> RunResult:
    return read(
        f'<testsuite name="s"><testcase classname="c" name="t">{inner}</testcase></testsuite>'.encode(),
        "junit",
    )


def test_a_surefire_report_has_its_attempts() -> None:
    result = junit(
        '<flakyFailure message="once" type="java.lang.AssertionError"><stackTrace>at A.java</stackTrace>'
        "<system-out>noise</system-out></flakyFailure>"
    )

    (test,) = result.tests.values()
    (attempt,) = test.attempts
    assert (test.outcome, test.flaky, test.message) == (Outcome.PASSED, True, None)
    assert attempt.failure is not None
    assert (attempt.outcome, attempt.message, attempt.failure.type) == (
        Outcome.FAILED, "once", "java.lang.AssertionError",
    )  # fmt: skip


def test_a_test_that_failed_every_time_has_the_message_of_its_failure() -> None:
    result = junit('<failure message="first"/><rerunFailure message="second"/><rerunError message="third"/>')

    (test,) = result.tests.values()
    assert (test.outcome, test.message) == (Outcome.FAILED, "first")
    assert [one.message for one in test.attempts] == ["second", "third"]


@pytest.mark.parametrize("property_value", ["", "because"])
def test_a_failure_that_calls_itself_quarantined_is_a_failure(property_value: str) -> None:
    named = f'<property name="proctor.quarantine" value="{property_value}"/>'
    result = junit(f'<properties>{named}</properties><failure message="no"/>')

    assert outcomes(result) == {"c::t": "failed"}
    assert (result.excused, result.outcome) == (0, RunOutcome.FAILED)


def report_of(test: dict[str, Any], generator: str = "") -> RunResult:
    counts = dict.fromkeys(("passed", "failed", "skipped", "pending", "other", "start", "stop"), 0)
    results = {"tool": {"name": "x"}, "summary": counts | {"tests": 1, test["status"]: 1}, "tests": [test]}
    report = {"reportFormat": "CTRF", "specVersion": "0.0.0", "generatedBy": generator, "results": results}
    return read(json.dumps(report).encode(), "ctrf")


def test_a_ctrf_report_that_only_counts_its_retries_is_believed() -> None:
    flaky = report_of({"name": "a", "status": "passed", "duration": 1, "flaky": True, "retries": 2})
    failed = report_of({"name": "a", "status": "failed", "duration": 1, "retries": 2})

    assert [one.outcome for one in flaky.tests["a"].attempts] == [Outcome.FAILED] * 2
    assert len(failed.tests["a"].attempts) == 2
    assert (flaky.flaky, failed.flaky) == (1, 0)


@pytest.mark.parametrize("retries", [10**9, 3])
def test_retries_of_a_test_that_passed_at_once_say_nothing_of_it(retries: int) -> None:
    result = report_of({"name": "a", "status": "passed", "duration": 1, "retries": retries})

    assert (result.tests["a"].attempts, result.flaky) == ((), 0)


def test_quarantine_is_believed_only_of_our_own_reports() -> None:
    test = {
        "name": "a",
        "status": "skipped",
        "duration": 1,
        "rawStatus": "failed",
        "extra": {"quarantined": True},
    }

    assert outcomes(report_of(test)) == {"a": "skipped"}
    assert report_of(test, "proctor").excused == 1


def test_the_text_of_an_attempt_names_its_place_once() -> None:
    why = e.Failure("", "SIGSEGV", e.Place("t.py", 3))
    crash = e.Attempt(Outcome.CRASH, 0.1, "SIGSEGV at t.py:3", why)
    result = run_of(e.TestFinished("t.py::a", Outcome.PASSED, attempts=(crash,)), outcome=RunOutcome.PASSED)

    (found,) = etree.fromstring(b"".join(formats.writer("junit")(result))).iter("flakyError")

    assert (found.get("message"), found.text) == ("SIGSEGV at t.py:3", "t.py:3: SIGSEGV")

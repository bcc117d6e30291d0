"""Plain JUnit keeps to junit-10.xsd, whatever a run is made of."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from lxml import etree
from msgspec.structs import replace
from support.any_results import results
from support.full_runs import CASES, RECORDS, STARTED, result_of
from support.junit import assert_valid
from support.junit import junit_schema as junit_schema
from support.made_runs import failed, passed, run_of
from support.reports import REPORTS, report

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.phases import COLLECT
from proctor.relay import Relay
from proctor.result import RunResult
from proctor.wire import formats


def plain(result: RunResult) -> bytes:
    return b"".join(formats.writer("junit")(result))


@pytest.mark.parametrize("name", RECORDS)
def test_runs_of_every_kind_are_valid(junit_schema: etree.XMLSchema, name: str) -> None:
    assert_valid(junit_schema, plain(result_of(RECORDS[name])))


@given(result=results())
def test_any_run_is_valid(junit_schema: etree.XMLSchema, result: RunResult) -> None:
    assert_valid(junit_schema, plain(result))


@pytest.mark.parametrize("name", [name for name, data in REPORTS.items() if data])
def test_a_report_of_another_tool_is_valid_after_its_conversion(
    junit_schema: etree.XMLSchema, name: str
) -> None:
    assert_valid(junit_schema, plain(report(name)))


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf, 1e30, 1e9, 0.0004])
def test_any_duration_is_valid(junit_schema: etree.XMLSchema, seconds: float) -> None:
    result = run_of(e.TestFinished("t.py::a", Outcome.PASSED, seconds))
    result.seconds = result.suites[0].seconds = seconds

    assert_valid(junit_schema, plain(result))


@pytest.mark.parametrize("outcome", RunOutcome)
def test_every_end_of_a_run_is_valid(junit_schema: etree.XMLSchema, outcome: RunOutcome) -> None:
    result = run_of(*passed("t.py::a"), outcome=outcome)
    result.reason = "be\x00cause"

    root = assert_valid(junit_schema, plain(result))

    assert root.get("tests") == ("1" if outcome is RunOutcome.PASSED else "2")


def test_the_full_variant_is_not_what_the_schema_wants(junit_schema: etree.XMLSchema) -> None:
    full = b"".join(formats.writer("junit-full")(result_of(CASES["one"])))

    assert not junit_schema.validate(etree.fromstring(full))


# What is in it


def test_a_suite_has_its_time_its_place_and_its_tools(junit_schema: etree.XMLSchema) -> None:
    started = replace(STARTED, host="build-7")
    relay = Relay(started, [])
    relay.publish(e.SuiteDescribed("/p", {"python": "3.12.1"}, {"Build": {"number": 7}}), 0.5)
    result = relay.close(2.0)
    result.suites[0].started = 61.5

    (suite,) = assert_valid(junit_schema, plain(result))

    assert (suite.get("hostname"), suite.get("timestamp")) == ("build-7", "2026-01-01T00:01:01.500+00:00")
    assert suite.get("time") == "2.000"
    found = {item.get("name"): item.get("value") for item in suite.iterfind("properties/property")}
    assert found == {"python": "3.12.1", "Build": '{"number":7}'}


def test_a_suite_whose_tool_is_missing_is_a_skipped_case(junit_schema: etree.XMLSchema) -> None:
    result = run_of(*passed("t.py::a"), e.SuiteMissing("node", "no node on PATH"), outcome=RunOutcome.PASSED)

    root = assert_valid(junit_schema, plain(result))

    assert [suite.get("name") for suite in root] == ["pytest", "node"]
    (case,) = root[1]
    assert (case.get("classname"), case.get("name")) == ("node", "node: not run")
    assert [(child.tag, child.get("message")) for child in case] == [("skipped", "no node on PATH")]
    assert (root.get("tests"), root[1].get("skipped")) == ("2", "1")
    assert root[1].get("timestamp") == root[0].get("timestamp") != ""


def test_a_test_whose_call_and_teardown_failed_is_two_cases_as_in_pytest(
    junit_schema: etree.XMLSchema,
) -> None:
    phases = (
        e.Phase("setup", "passed", 1.0),
        e.Phase("call", "failed", 2.0, longrepr="in call", failure=e.Failure("E", "first")),
        e.Phase("teardown", "failed", 4.0, longrepr="in teardown", failure=e.Failure("F", "second")),
    )
    test = e.TestFinished("t.py::a", Outcome.FAILED, 7.0, "first\nsecond", phases=phases)

    root = assert_valid(junit_schema, plain(run_of(test)))

    found = [(case.get("name"), case.get("time"), case[0].tag, case[0].get("message")) for case in root[0]]
    assert found == [
        ("a", "3.000", "failure", "first"),
        ("a", "4.000", "error", 'failed on teardown with "second"'),
    ]
    assert [root[0].get(name) for name in ("tests", "failures", "errors")] == ["2", "1", "1"]


def test_what_failed_to_be_collected_twice_is_one_case(junit_schema: etree.XMLSchema) -> None:
    skip = e.Phase(COLLECT, "skipped", reason="no")
    result = run_of(
        e.TestFinished("d/t.py", Outcome.SKIPPED, message="no", phases=(skip,)),
        e.TestFinished("d/t.py#2", Outcome.SKIPPED, message="no", phases=(skip,)),
        *(e.CollectionFailed("d/u.py", e.Failure("E", word)) for word in ("one", "two")),
        outcome=RunOutcome.COLLECTION_ERROR,
    )

    (suite,) = assert_valid(junit_schema, plain(result))

    found = {case.get("name"): [child.get("message") for child in case] for case in suite}
    assert found == {"d.t": ["no", "no"], "d.u": ["collection failure: one", "collection failure: two"]}
    assert [suite.get(name) for name in ("tests", "errors", "skipped")] == ["2", "1", "1"]


def test_the_output_of_a_test_has_its_log_records(junit_schema: etree.XMLSchema) -> None:
    record = {"levelname": "WARNING", "name": "shop", "filename": "api.py", "lineno": 3, "msg": "slow"}
    raised = {"levelname": "ERROR", "name": "shop", "msg": "no", "exc_text": "Traceback\nE: x"}
    phase = e.Phase("call", "passed", stdout="said", stderr="oh", log=(record, raised))
    result = run_of(e.TestFinished("t.py::a", Outcome.PASSED, phases=(phase,)), outcome=RunOutcome.PASSED)

    (case,) = assert_valid(junit_schema, plain(result))[0]

    lines = ["said", "--- log ---", "WARNING  shop:api.py:3 slow", "ERROR    shop no", "Traceback", "E: x"]
    assert case.findtext("system-out") == "\n".join([*lines, ""])
    assert case.findtext("system-err") == "oh"


def test_of_an_output_that_became_a_file_the_end_is_there(junit_schema: etree.XMLSchema) -> None:
    phase = e.Phase(
        "call",
        "failed",
        files={"stdout": "1-call-stdout.txt", "longrepr": "2-call-longrepr.txt"},
        tails={"stdout": "the end", "longrepr": "E   assert"},
    )
    result = run_of(e.TestFinished("t.py::a", Outcome.FAILED, phases=(phase,)))

    (case,) = assert_valid(junit_schema, plain(result))[0]

    assert case.findtext("system-out") == "[... the end of 1-call-stdout.txt]\nthe end"
    assert case.findtext("failure") == "[... the end of 2-call-longrepr.txt]\nE   assert"


def test_an_internal_error_has_the_name_that_pytest_gives_it(junit_schema: etree.XMLSchema) -> None:
    broke = e.SessionBroke(e.Failure("E", "hook failed"), "the trace")

    (case,) = assert_valid(junit_schema, plain(run_of(broke, outcome=RunOutcome.INTERNAL_ERROR)))[0]

    assert (case.get("classname"), case.get("name")) == ("pytest", "internal")
    assert case.findtext("error") == "the trace"


def test_tests_that_pytest_itself_left_out_are_no_cases_and_others_are(
    junit_schema: etree.XMLSchema,
) -> None:
    facts: list[e.Event] = [e.TestsSelected(("t.py::a", "t.py::b")), failed("t.py::a", "no")]
    stopped = run_of(*facts, e.SessionFinished(1), e.SuiteFinished(RunOutcome.FAILED, 0.0, ("t.py::b",)))
    died = run_of(*facts, e.SuiteFinished(RunOutcome.CRASHED, 0.0, ("t.py::b",)))

    assert [case.get("name") for case in assert_valid(junit_schema, plain(stopped))[0]] == ["a"]
    assert [case.get("name") for case in assert_valid(junit_schema, plain(died))[0]] == ["a", "b"]

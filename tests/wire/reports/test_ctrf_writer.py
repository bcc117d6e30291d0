"""CTRF that we write: what is in it, and that CTRF's own validator accepts it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from support.ctrf import ctrf_schema as ctrf_schema
from support.ctrf import faults_by_ctrf
from support.full_runs import CASES, RECORDS, result_of
from support.made_runs import passed, run_of
from support.reports import REPORTS, read, report

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.result import RunResult
from proctor.wire import formats


def ctrf(result: RunResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(b"".join(formats.writer("ctrf")(result)))
    return found


def test_every_kind_of_run_is_valid_for_the_validator_of_ctrf(ctrf_schema: dict[str, Any]) -> None:
    made = {name: ctrf(result_of(RECORDS[name])) for name in RECORDS}
    made |= {name: ctrf(report(name)) for name, data in REPORTS.items() if data}
    made["missing"] = ctrf(missing())

    for document in made.values():
        jsonschema.validate(document, ctrf_schema)
    said = dict(zip(made, faults_by_ctrf([*made.values(), {"reportFormat": "CTRF"}]), strict=False))
    assert said == dict.fromkeys(made, "")


def test_the_validator_of_ctrf_objects_to_what_is_no_report() -> None:
    (fault,) = faults_by_ctrf([{"reportFormat": "CTRF"}])

    assert fault


def missing() -> RunResult:
    absent = e.SuiteMissing("node", "no node on PATH")
    return run_of(*passed("t.py::a"), absent, outcome=RunOutcome.PASSED)


def test_a_suite_whose_tool_is_missing_is_a_skipped_test() -> None:
    results = ctrf(missing())["results"]

    assert results["tests"][1] == {
        "name": "node: not run",
        "status": "skipped",
        "duration": 0,
        "rawStatus": "skipped",
        "suite": ["node"],
        "message": "no node on PATH",
    }
    assert (results["summary"]["tests"], results["summary"]["suites"]) == (2, 2)


@pytest.mark.parametrize("form", formats.WRITERS)
def test_a_run_without_a_suite_that_nobody_needs_is_still_a_pass_for_who_reads_it(form: str) -> None:
    again = read(b"".join(formats.writer(form)(missing())), form)

    assert again.outcome is RunOutcome.PASSED
    assert again.counts == {Outcome.PASSED: 1, Outcome.SKIPPED: 1}


@pytest.mark.parametrize(
    "test, suite, name",
    [
        ("tests/t.py::TestX::test_a[x::y]", ["tests/t.py", "TestX"], "test_a[x::y]"),
        ("test/a.test.js::group > adds", ["test/a.test.js"], "group > adds"),
        ("/checks/net", ["pytest"], "/checks/net"),
        ("adds up", ["pytest"], "adds up"),
    ],
)
def test_a_test_is_in_its_file_and_class_and_keeps_its_id(test: str, suite: list[str], name: str) -> None:
    result = run_of(*passed(test), e.SessionFinished(0), outcome=RunOutcome.PASSED)

    (found,) = ctrf(result)["results"]["tests"]

    assert (found["suite"], found["name"]) == (suite, name)
    assert list(read(json.dumps(ctrf(result)).encode(), "ctrf").tests) == [test]


def test_of_several_suites_each_test_says_in_which_it_is_and_the_tool_is_none_of_theirs() -> None:
    results = ctrf(result_of(CASES["several"]))["results"]

    assert results["tool"] == {"name": "proctor"}
    assert {test["suite"][0] for test in results["tests"]} == {"one", "two"}


def test_a_suite_that_is_called_as_its_file_is_named_once() -> None:
    facts: tuple[e.Event, ...] = (
        e.SuiteEntered("t/a.t", "tap", (), "/p"),
        *passed("t/a.t::one"),
        e.SuiteFinished(RunOutcome.PASSED),
        e.SuiteEntered("t/b.t", "tap", (), "/p"),
        *passed("t/b.t::one"),
    )

    tests = ctrf(result_of(facts))["results"]["tests"]

    assert [test["suite"] for test in tests if "suite" in test] == [["t/a.t"], ["t/b.t"]]


def test_tags_are_the_markers_and_none_of_the_other_keywords() -> None:
    own = ("test_a[tea]", "slow", "parametrize", "pytestmark", "tea", "__wrapped__", "patchings")
    inherited = ("TestX", "t.py", "unit", "tests", "shop", "", "db", "_private", "te[st]")
    test = e.TestFinished("tests/unit/t.py::TestX::test_a[tea]", Outcome.PASSED, keywords=own + inherited)

    (found, *_) = ctrf(run_of(test, cwd="/home/shop"))["results"]["tests"]

    assert found["tags"] == ["slow", "parametrize", "db"]


def test_tags_are_what_the_session_said_where_it_did() -> None:
    test = e.TestFinished("t.py::a", Outcome.PASSED, keywords=("a", "slow"))
    said = e.TestsSelected(("t.py::a",), {"t.py::a": ("fast",)})

    (found, *_) = ctrf(run_of(said, test))["results"]["tests"]

    assert found["tags"] == ["fast"]


def test_flaky_and_retries_survive_and_are_counted() -> None:
    report = {
        "reportFormat": "CTRF",
        "specVersion": "0.0.0",
        "results": {
            "tool": {"name": "x"},
            "summary": {
                **dict.fromkeys(("failed", "skipped", "pending", "other", "start", "stop"), 0),
                **{"tests": 1, "passed": 1, "flaky": 1},
            },
            "tests": [{"name": "a", "status": "passed", "duration": 1, "flaky": True, "retries": 2}],
        },
    }

    again = ctrf(read(json.dumps(report).encode(), "ctrf"))["results"]

    (test,) = again["tests"]
    assert (test["flaky"], test["retries"], again["summary"]["flaky"]) == (True, 2, 1)
    assert "properties" not in test.get("extra", {})


@pytest.mark.parametrize("flaky, retries", [("yes", 1), (True, -1), (True, True), (True, None), (None, 1)])
def test_properties_that_only_look_like_flaky_and_retries_stay_properties(flaky: Any, retries: Any) -> None:
    custom = {"flaky": flaky, "retries": retries}
    test = e.TestFinished("t.py::a", Outcome.PASSED, properties=custom)

    (found, *_) = ctrf(run_of(test))["results"]["tests"]

    assert found["extra"]["properties"] == custom
    assert "flaky" not in found


def test_subtests_are_steps() -> None:
    phases = tuple(
        e.Phase("call", outcome, subtest=f"[{outcome}]") for outcome in ("passed", "failed", "skipped", "odd")
    )

    (found, *_) = ctrf(run_of(e.TestFinished("t.py::a", Outcome.FAILED, phases=phases)))["results"]["tests"]

    assert [(step["name"], step["status"]) for step in found["steps"]] == [
        ("[passed]", "passed"),
        ("[failed]", "failed"),
        ("[skipped]", "skipped"),
        ("[odd]", "other"),
    ]


def test_an_id_in_a_report_of_another_tool_is_no_name() -> None:
    document = ctrf(run_of(*passed("t.py::a"), e.SessionFinished(0), outcome=RunOutcome.PASSED))
    document["generatedBy"] = "another"

    assert list(read(json.dumps(document).encode(), "ctrf").tests) == ["t.py > a"]

"""Changed reports: what others reject is no pass for us, and what fails for them fails for us."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import jsonschema
import junitparser
import pytest
from support.ctrf import ctrf_schema as ctrf_schema
from support.reports import REPORTS, read

from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.result import RunResult
from proctor.wire.stream.words import KIND

REPORTS_OF_JUNIT = [name for name in REPORTS if name.endswith(".xml")]
REPORTS_OF_CTRF = [name for name in REPORTS if name.startswith("ctrf/")]
MUTATIONS = 200


def mutated_xml(name: str, chance: random.Random) -> bytes:
    """The report with an element dropped, doubled or added, a count changed, or its end cut off."""
    data = REPORTS[name]
    match chance.randrange(6):
        case 0:
            return data[: chance.randrange(len(data))]
        case 1:
            return _changed_count(data, chance)
        case 2:
            return re.sub(rb"<testcase ", b'<testcase status="fail" ', data, count=1)
    root = ElementTree.fromstring(data)
    parents = [element for element in root.iter() if len(element)]
    parent = chance.choice(parents)
    child = chance.choice(list(parent))
    match chance.randrange(3):
        case 0:
            parent.remove(child)
        case 1:
            parent.append(copy.deepcopy(child))
        case 2:
            cases = list(root.iter("testcase"))
            ElementTree.SubElement(chance.choice(cases), chance.choice(["failure", "error", "skipped"]))
    return ElementTree.tostring(root)


def _changed_count(data: bytes, chance: random.Random) -> bytes:
    found = list(re.finditer(rb'(tests|failures|errors|skipped)="([0-9]+)"', data))
    if not found:
        return data
    count = chance.choice(found)
    value = chance.choice([b"0", b"1", b"7", b"-1", b"NaN", b"9" * 5000, b""])
    return data[: count.start(2)] + value + data[count.end(2) :]


def read_by_junitparser(data: bytes) -> list[junitparser.TestCase] | None:
    """Its test cases; None for what it rejects. It does not look into suites of suites by itself."""
    try:
        xml = junitparser.JUnitXml.fromstring(data)
        for suite in [xml] if isinstance(xml, junitparser.TestSuite) else xml:
            for count in (suite.tests, suite.failures, suite.errors, suite.skipped):
                assert count is None or count >= 0
        return _cases(xml)
    except Exception:  # noqa: BLE001  whatever it raises, it does not read this
        return None


def _cases(element: Any) -> list[junitparser.TestCase]:
    found = []
    for inner in element:
        found += [inner] if isinstance(inner, junitparser.TestCase) else _cases(inner)
    if hasattr(element, "testsuites"):
        found += [case for suite in list(element.testsuites()) for case in _cases(suite)]
    return found


def test_what_junitparser_rejects_or_reads_as_failing_is_no_pass() -> None:
    chance = random.Random(15)
    rejected = failing = 0
    for number in range(MUTATIONS):
        name = REPORTS_OF_JUNIT[number % len(REPORTS_OF_JUNIT)]
        data = mutated_xml(name, chance)
        result, cases = read(data, "junit"), read_by_junitparser(data)
        if cases is None:
            rejected += 1
            assert result.outcome not in (RunOutcome.PASSED, RunOutcome.NO_TESTS), data
            continue
        bad = [
            case
            for case in cases
            if any(isinstance(r, junitparser.Failure | junitparser.Error) for r in case.result)
        ]
        if bad:
            failing += 1
            assert result.outcome is not RunOutcome.PASSED, data
            if not result.suites[0].session.channel_error:
                assert counted_bad(result, data) >= len(bad) - repeated(result, bad), (name, data)
    assert rejected > 20 and failing > 50


def counted_bad(result: RunResult, data: bytes) -> int:
    """With the failures that node marks as todo: expected ones, for us."""
    todo = data.count(b'type="todo"')
    return sum(result.counts[outcome] for outcome in BAD) + len(result.collection_errors) + todo


def repeated(result: RunResult, bad: list[junitparser.TestCase]) -> int:
    """pytest has a second element for a test whose teardown failed too: one test, for us."""
    return sum("failed on teardown with" in (r.message or "") for case in bad for r in case.result)


# CTRF


def mutated_ctrf(name: str, chance: random.Random) -> bytes:
    """The report with a value dropped, doubled or changed, or its end cut off."""
    if chance.randrange(8) == 0:
        data = REPORTS[name]
        return data[: chance.randrange(len(data))]
    report = json.loads(REPORTS[name])
    for test in report["results"]["tests"]:
        if isinstance(test.get("suite"), str):  # as the reporter wrote it in older versions of CTRF
            test["suite"] = [test["suite"]]
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, inner in items:
            places.append((value, key))
            walk(inner)

    walk(report)
    parent, key = chance.choice(places)
    change: Callable[[], None] = chance.choice(
        [
            lambda: parent.pop(key),
            lambda: parent.__setitem__(
                key, chance.choice([None, -1, 3, "x", "", [], {}, True, "failed", 1.5])
            ),
            lambda: (
                parent.append(copy.deepcopy(parent[key])) if isinstance(parent, list) else parent.pop(key)
            ),
        ]
    )
    change()
    return json.dumps(report).encode()


#: Fields that we read though the schema rejects their values, and why: no result depends on them.
LENIENT = {
    "suite": "a text in older versions",
    "reportId": "not read",
    "timestamp": "not read",
    "generatedBy": "not read",
    "type": "not read",
    "duration": "a fraction of a millisecond is one",
    "start": "likewise",
    "stop": "likewise",
}


def is_lenient(error: jsonschema.ValidationError) -> bool:
    """Newer versions add fields; and what is optional may be null."""
    last = str(error.absolute_path[-1]) if error.absolute_path else ""
    required = ("name", "status", "tests", "summary", "tool")
    null = error.instance is None and last not in required
    return null or last in LENIENT or error.message.startswith("Additional properties")


def test_what_the_schema_of_ctrf_rejects_is_no_pass_and_its_counts_are_ours(
    ctrf_schema: dict[str, Any],
) -> None:
    chance = random.Random(15)
    validator = jsonschema.Draft7Validator(ctrf_schema)
    rejected = read_well = 0
    for number in range(MUTATIONS):
        data = mutated_ctrf(REPORTS_OF_CTRF[number % len(REPORTS_OF_CTRF)], chance)
        result = read(data, "ctrf")
        try:
            report = json.loads(data)
        except ValueError:
            rejected += 1
            assert result.outcome is RunOutcome.INCOMPLETE, data
            continue
        errors = [error for error in validator.iter_errors(report) if not is_lenient(error)]
        if errors:
            rejected += 1
            assert result.outcome is not RunOutcome.PASSED, (errors, data)
        elif not list(validator.iter_errors(report)):
            read_well += 1
            statuses = [test["status"] for test in report["results"]["tests"]]
            kinds = [KIND[test.outcome] for test in result.tests.values()]
            assert kinds.count(Outcome.FAILED) == statuses.count("failed") + statuses.count("other") - todo(
                report
            )
            if "failed" in statuses:
                assert result.outcome is not RunOutcome.PASSED
    assert rejected > 50 and read_well > 20


def todo(report: Any) -> int:
    """`other` is skipped for us where the tool's own word says so."""
    words = ("todo", "pending", "disabled", "ignored")
    return sum(
        test["status"] == "other" and test.get("rawStatus") in words for test in report["results"]["tests"]
    )


@pytest.mark.parametrize("name", [*REPORTS_OF_JUNIT, *REPORTS_OF_CTRF])
def test_what_is_changed_here_is_read_as_it_is(name: str) -> None:
    form = "ctrf" if name.startswith("ctrf") else "junit"

    assert len(read(REPORTS[name], form).tests) + len(read(REPORTS[name], form).collection_errors) > 0

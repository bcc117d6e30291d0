"""What earlier runs and another commit say of a run, in the formats of other tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from lxml import etree
from support.any_results import results
from support.cli import converted
from support.full_runs import BASELINE, BEFORE, COMPARED, HISTORY, result_of
from support.made_runs import failed, passed, run_of
from support.reports import outcomes, read

from proctor import events as e
from proctor.outcome import BAD, RunOutcome
from proctor.result import RunResult
from proctor.text import literal
from proctor.wire import formats
from proctor.wire.document import writer as document
from proctor.wire.document.history import Words
from proctor.wire.reports.contents import printable

KEEPING = ("ctrf", "junit-full")
Edit = Callable[[dict[str, Any]], None]


def written(result: RunResult, form: str) -> bytes:
    return b"".join(formats.writer(form)(result))


def ctrf(result: RunResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(written(result, "ctrf"))
    return found


def properties(result: RunResult, form: str = "junit-full") -> dict[str, dict[str, str]]:
    """Of each case, and of the suite."""
    (suite,) = etree.fromstring(written(result, form)).iter("testsuite")
    return {
        case.get("name"): {found.get("name"): found.get("value") for found in case.findall("properties/*")}
        for case in (suite, *suite.iter("testcase"))
    }


@pytest.mark.parametrize("form", KEEPING)
def test_every_word_is_read_back(form: str) -> None:
    again = read(written(result_of(COMPARED), form), form)

    assert (again.history, again.baseline) == (HISTORY, BASELINE)


@pytest.mark.parametrize("form", KEEPING)
def test_words_survive_the_way_from_document_to_document(form: str) -> None:
    first = b"".join(document.chunks(result_of(COMPARED), lambda _: ""))

    again = json.loads(converted(converted(first, form)[1], "json")[1])

    found = json.loads(first)
    assert [again[name] for name in ("fixed", "compared_with", "baseline")] == [
        found[name] for name in ("fixed", "compared_with", "baseline")
    ]
    for name in ("history", "baseline", "baseline_reason"):
        assert [test.get(name) for test in again["tests"]] == [test.get(name) for test in found["tests"]]
        assert again["collection_errors"][0].get(name) == found["collection_errors"][0].get(name)


def words(result: RunResult, tests: int, carried: Callable[[str], str]) -> list[Any]:
    """What is said of each that ended badly of so many tests, and of each file, in order.

    `carried`: what a format makes of a text.
    """
    said = Words(result)
    bad = [test.test for test in [*result.tests.values()][:tests] if test.outcome in BAD]
    names = [*bad, *(error.file for error in result.collection_errors)]
    return [_carried(msgspec.to_builtins(said.of(name)), carried) for name in names]


def _carried(value: Any, carried: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        found = {name: _carried(part, carried) for name, part in value.items()}
        return {name: part for name, part in found.items() if name != "baseline_reason" or part}
    return carried(value) if isinstance(value, str) else value


@given(results())
def test_what_is_said_of_any_run_is_read_back_from_ctrf(result: RunResult) -> None:
    again = read(written(result, "ctrf"), "ctrf")

    count = len(result.tests)  # another one may say why the run failed
    assert words(again, count, literal) == words(result, count, literal)
    assert (again.history is None, again.baseline is None) == (
        result.history is None,
        result.baseline is None,
    )
    if again.history and result.history:
        assert again.history.fixed == tuple(map(literal, result.history.fixed))


@given(results())
def test_what_is_said_of_any_run_is_read_back_from_junit(result: RunResult) -> None:
    names = [*result.tests, *(error.file for error in result.collection_errors)]
    assume(len({printable(name) for name in names}) == len(names))  # others share what is said of them

    again = read(written(result, "junit-full"), "junit-full")

    count = len(result.tests)
    assert words(again, count, printable) == words(result, count, printable)


@pytest.mark.parametrize("form", [form for form in formats.WRITERS if form not in KEEPING])
def test_other_formats_are_the_same_with_and_without_words(form: str) -> None:
    plain = tuple(event for event in COMPARED if event not in (HISTORY, BASELINE))

    assert written(result_of(COMPARED), form) == written(result_of(plain), form)


@pytest.mark.parametrize("form", KEEPING)
def test_a_run_that_was_not_compared_has_nothing_of_it(form: str) -> None:
    result = run_of(*passed("t.py::a"), failed("t.py::b", "E: x"))

    data = written(result, form)

    assert b"history" not in data
    assert b"baseline" not in data
    assert (read(data, form).history, read(data, form).baseline) == (None, None)


def test_a_green_run_says_in_ctrf_with_what_it_was_compared() -> None:
    result = run_of(*passed("t.py::a"), e.HistoryCompared(compared_with=BEFORE), outcome=RunOutcome.PASSED)

    found = ctrf(result)

    assert found["extra"]["comparedWith"]["runId"] == BEFORE.run_id
    assert found["extra"]["fixed"] == []
    assert "history" not in found["results"]["tests"][0].get("extra", {})


def test_words_are_no_properties_of_a_test() -> None:
    again = read(written(result_of(COMPARED), "junit-full"), "junit-full")

    assert {test.properties for test in again.tests.values()} == {None}


def test_junit_has_the_word_and_the_evidence_for_people() -> None:
    found = properties(result_of(COMPARED))

    assert found["flaky"]["proctor.history"] == "flaky"
    assert found["flaky"]["proctor.flaky"] == "3 of 20"
    assert json.loads(found["still"]["proctor.since"])["run_id"] == BEFORE.run_id
    assert found["unknown"]["proctor.baseline_reason"] == "vendor is a submodule"
    assert json.loads(found["one"]["proctor.fixed"]) == ["t.py::fixed", "v.py"]


def _odd_word(report: dict[str, Any]) -> None:
    report["results"]["tests"][0]["extra"]["history"] = {"word": 7}


def _odd_run(report: dict[str, Any]) -> None:
    report["results"]["tests"][0]["extra"]["history"] = {"word": "still", "since": "yesterday"}


def _odd_fixed(report: dict[str, Any]) -> None:
    report["extra"] = {"fixed": "t.py::fixed"}


def _odd_extra(report: dict[str, Any]) -> None:
    report["extra"] = ["t.py::fixed"]


@pytest.mark.parametrize("edit", [_odd_word, _odd_run, _odd_fixed, _odd_extra])
def test_words_of_a_wrong_type_cost_nothing_but_themselves(edit: Edit) -> None:
    report = ctrf(result_of(COMPARED))
    before = outcomes(read(json.dumps(report).encode(), "ctrf"))
    edit(report)

    result = read(json.dumps(report).encode(), "ctrf")

    assert outcomes(result) == before
    assert result.history is not None
    assert set(HISTORY.tests) - set(result.history.tests) <= {"t.py::new"}


def test_words_of_another_tools_report_are_not_ours() -> None:
    report = ctrf(result_of(COMPARED)) | {"generatedBy": "another"}

    result = read(json.dumps(report).encode(), "ctrf")

    assert (result.history, result.baseline) == (None, None)


@pytest.mark.parametrize(
    "inner, history",
    [
        ('name="proctor.history" value="new"', e.TestHistory(e.NEW)),
        ('name="proctor.history" value="improved"', None),
        ('name="proctor.history"', None),
        ('name="proctor.since" value="{}"', None),
    ],
)
def test_properties_that_only_look_like_words_say_nothing(inner: str, history: e.TestHistory | None) -> None:
    data = f'<testsuite name="s"><testcase name="t"><properties><property {inner}/></properties><failure/>'
    result = read(f"{data}</testcase></testsuite>".encode(), "junit")

    assert outcomes(result) == {"t": "failed"}
    assert result.earlier("t") == history


@pytest.mark.parametrize("value", ["", "[", "7", "[1]", "[" * 5000, "{}"])
def test_a_suite_with_odd_properties_is_read(value: str) -> None:
    named = f'<properties><property name="proctor.fixed" value="{value}"/></properties>'
    result = read(f'<testsuite name="s">{named}<testcase name="t"/></testsuite>'.encode(), "junit")

    assert outcomes(result) == {"t": "passed"}
    assert result.history is None

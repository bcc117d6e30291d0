"""Writers of reports: read back by our own readers, by other people's, and checked against a schema."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import junitparser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from support.any_results import results
from support.ctrf import ctrf_schema as ctrf_schema
from support.full_runs import RECORDS
from support.full_runs import result_of as run_of
from support.golden import agree
from support.projects import GUARD
from support.reports import outcomes, read, report, result_of

from proctor import events as e
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.result import RunResult
from proctor.wire import formats

GOLDEN = Path(__file__).parents[1] / "golden" / "written"
SKIPPED = {Outcome.SKIPPED, Outcome.XFAILED, Outcome.NOT_RUN}
#: Formats from which ids and outcomes are read back as they were. Plain JUnit has the names of pytest.
LOSSLESS = [form for form in formats.WRITERS if form != "junit"]
JUNIT = ("junit", "junit-full")
#: What plain JUnit makes of the outcomes for which it has no element.
PLAINLY = dict.fromkeys((Outcome.CRASH, Outcome.TIMEOUT), Outcome.ERROR) | {
    Outcome.NOT_RUN: Outcome.SKIPPED,
    **dict.fromkeys((Outcome.XPASSED, Outcome.INFO, Outcome.WARN), Outcome.PASSED),
}

#: What a test becomes that ended badly in quarantine, where a reader cannot know what it was.
EXCUSED = {"junit": dict.fromkeys(BAD, Outcome.SKIPPED), "tap": dict.fromkeys(BAD, Outcome.XFAILED)}


def excused(test: e.TestFinished, result: RunResult) -> bool:
    return result.suites[0].excuses(test)


def written(result: RunResult, form: str) -> bytes:
    return b"".join(formats.writer(form)(result))


@pytest.mark.parametrize("form", formats.WRITERS)
@pytest.mark.parametrize("name", RECORDS)
def test_a_run_is_written_in_these_words(form: str, name: str) -> None:
    agree(GOLDEN / f"{form}-{name}.txt", written(run_of(RECORDS[name]), form).decode())


@pytest.mark.parametrize("form", formats.WRITERS)
@given(results())
def test_what_is_written_is_read_back_with_the_same_outcomes(form: str, result: RunResult) -> None:
    again = read(written(result, form), form)

    plainly = PLAINLY if form == "junit" else {}
    expected = [
        str((EXCUSED.get(form, {}) if excused(test, result) else plainly).get(test.outcome, test.outcome))
        for test in result.tests.values()
    ]
    assert list(outcomes(again).values())[: len(expected)] == expected
    assert len(again.collection_errors) == len(result.collection_errors)
    assert (again.outcome is RunOutcome.PASSED) == (result.outcome is RunOutcome.PASSED)


@pytest.mark.parametrize("form", LOSSLESS)
@given(
    st.lists(
        st.sampled_from(["tests/a.py::T::t[x::y]", "m::t", "été # SKIP", "C:\\t", "x {"]),
        min_size=1,
        unique=True,
    )
)
def test_ids_are_read_back_as_they_were(form: str, ids: list[str]) -> None:
    result = result_of([*[e.TestFinished(name, Outcome.PASSED) for name in ids], e.SessionFinished(None)])

    assert list(read(written(result, form), form).tests) == ids


@pytest.mark.parametrize("form", LOSSLESS)
@pytest.mark.parametrize("name", ["pytest/checks.json", "go/all.jsonl", "node/sums.tap", "perl/dies.tap"])
def test_a_report_of_another_tool_survives_its_conversion(form: str, name: str) -> None:
    result = report(name)

    again = read(written(result, form), form)

    assert list(outcomes(again).items())[: len(result.tests)] == list(outcomes(result).items())
    assert [error.file for error in again.collection_errors] == [e.file for e in result.collection_errors]
    for test in result.tests.values():
        if test.outcome in BAD and test.message:
            assert (again.tests[test.test].message or "").split() == test.message.split()


@pytest.mark.parametrize("form", formats.WRITERS)
@pytest.mark.parametrize("outcome", [o for o in RunOutcome if o is not RunOutcome.PASSED])
def test_a_run_that_did_not_pass_is_never_written_as_one(form: str, outcome: RunOutcome) -> None:
    result = result_of([e.TestFinished("a", Outcome.PASSED), e.SessionFinished(None)])
    result.outcome, result.reason = outcome, "because"

    again = read(written(result, form), form)

    assert again.outcome is not RunOutcome.PASSED
    messages = [test.message for test in again.tests.values()]
    messages += [error.failure.message for error in again.collection_errors]
    assert "because" in again.reason + str(messages)


@pytest.mark.parametrize("form", LOSSLESS)
def test_tests_that_never_ran_are_listed_as_such(form: str) -> None:
    result = result_of([e.TestsSelected(("a", "b")), e.TestFinished("a", Outcome.FAILED)])
    assert result.not_run == ("b",)

    again = read(written(result, form), form)

    assert outcomes(again)["b"] == "not_run"


# Other people's readers


@pytest.mark.parametrize("form", JUNIT)
@given(results())
def test_junitparser_counts_what_we_counted(form: str, result: RunResult) -> None:
    document = junitparser.JUnitXml.fromstring(written(result, form))
    (suite,) = document
    kinds = {"failed": 0, "skipped": 0}
    for case in suite:
        for found in case.result:
            kinds["skipped" if isinstance(found, junitparser.Skipped) else "failed"] += 1

    assert suite.tests == len(list(suite))
    assert suite.failures + suite.errors == kinds["failed"]
    skipped = sum(result.counts[o] for o in SKIPPED) + len(result.not_run) + result.excused
    assert suite.skipped == kinds["skipped"] == skipped


@pytest.mark.parametrize("form", JUNIT)
@given(results())
def test_lxml_finds_a_case_for_each_test_with_its_texts(form: str, result: RunResult) -> None:
    root = etree.fromstring(written(result, form))
    cases = root.findall("./testsuite/testcase")

    assert len(cases) >= len(result.tests) + len(result.collection_errors)
    assert int(root.get("tests")) == len(cases)
    for case, test in zip(cases, result.tests.values(), strict=False):
        bad = case.findall("failure") + case.findall("error")
        assert bool(bad) == (test.outcome in BAD and not excused(test, result))
        assert bool(case.findall("skipped")) == (test.outcome in SKIPPED or excused(test, result))


@given(result=results())
def test_ctrf_keeps_to_its_schema(ctrf_schema: dict[str, Any], result: RunResult) -> None:
    document = json.loads(written(result, "ctrf"))

    jsonschema.validate(document, ctrf_schema)
    summary = document["results"]["summary"]
    statuses = [test["status"] for test in document["results"]["tests"]]
    assert summary["tests"] == len(statuses)
    assert all(summary[word] == statuses.count(word) for word in ("passed", "failed", "skipped"))


def everything() -> RunResult:
    """One test of every outcome, with details, and a file that could not be collected."""
    long = "line one\n  line two\n\nlast: 'x' \"y\" # z"
    found = [
        e.TestFinished(f"{outcome} # not a directive", outcome, 0.25, long, long, e.Place("a.py", 3))
        for outcome in Outcome
    ]
    broken = e.CollectionFailed("b.py", e.Failure("ImportError", "no b"), long)
    return result_of([*found, broken, e.SessionFinished(None)])


def proved(path: Path, result: RunResult) -> str:
    """What perl's harness says. It knows TAP 13, of which 14 is a superset, and refuses the later number."""
    path.write_bytes(written(result, "tap").replace(b"TAP version 14", b"TAP version 13"))
    command = ["prove", "--verbose", "--exec", "cat", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=GUARD, check=False)
    return done.stdout + done.stderr


needs_prove = pytest.mark.skipif(shutil.which("prove") is None, reason="needs perl's prove")


@needs_prove
def test_prove_reads_our_tap_and_agrees(tmp_path: Path) -> None:
    result = everything()

    said = proved(tmp_path / "all.tap", result)

    bad = sum(result.counts[outcome] for outcome in BAD) + 1
    assert f"Failed {bad}/{len(Outcome) + 1} subtests" in said
    assert "Parse errors" not in said
    assert "TODO passed" in said
    assert "Result: FAIL" in said


@needs_prove
@pytest.mark.parametrize("ends, words", [([e.SessionFinished(None)], "Result: PASS"), ([], "Bailout called")])
def test_prove_agrees_about_the_end(tmp_path: Path, ends: list[e.SessionFinished], words: str) -> None:
    result = result_of([e.TestFinished("a", Outcome.PASSED), *ends])

    assert words in proved(tmp_path / "end.tap", result)


def test_control_characters_and_colours_are_removed_from_xml() -> None:
    event = e.TestFinished(
        "a\x00b", Outcome.FAILED, message="\x1b[31mred\x1b[0m\x07", traceback="x\udc80\x0c"
    )

    full, text = (written(result_of([event]), form).decode() for form in ("junit-full", "junit"))

    assert 'name="ab"' in full
    assert 'name="a#x00b"' in text  # as pytest has it
    assert 'message="red"' in text
    assert r">x\udc80<" in text


def test_what_a_format_cannot_hold_is_named() -> None:
    event = e.TestFinished(
        "a", Outcome.PASSED, files=(e.File("f", "files/f", 1),), properties={"x": 1}, keywords=("k",)
    )
    result = result_of([event, e.WarningRecorded("W", "m", "f", 1), e.SessionFinished(None)])

    assert formats.left_out("junit", result) == ["files", "properties", "keywords", "warnings"]
    assert formats.left_out("junit-full", result) == ["keywords", "warnings"]
    assert formats.left_out("ctrf", result) == ["warnings"]
    assert formats.left_out("tap", result) == ["files", "properties", "keywords", "warnings"]


def test_words_of_history_are_held_by_few_formats() -> None:
    result = run_of(RECORDS["compared"])

    for form in ("junit", "tap"):
        assert formats.left_out(form, result) == ["history", "baseline"]
    for form in ("junit-full", "ctrf", "json", "events"):
        assert formats.left_out(form, result) == []

"""Secrets in values are masked; ids, paths and everything without a secret stay the very same objects."""

from __future__ import annotations

import pytest
from support.full_runs import CASES, result_of
from support.made_runs import failed, passed, run_of

from proctor import events as e
from proctor.render.masking import masked_values

SECRET = "password='hunter2'"


@pytest.mark.parametrize("kind", CASES)
def test_a_result_without_secrets_is_not_copied(kind: str) -> None:
    result = result_of(CASES[kind])

    assert masked_values(result) is result


def test_a_result_is_masked_in_all_its_texts_and_in_no_id() -> None:
    test = f"t.py::test_login[{SECRET}]"
    result = run_of(*failed_and_passed(test), e.Noticed(SECRET), e.OutputReceived("stdout", SECRET))

    masked = masked_values(result)

    assert list(masked.tests) == list(result.tests)
    assert masked.tests[test].test == test
    assert masked.tests[test].message == "ValueError: password='***'"
    assert masked.tests["ok"] is result.tests["ok"]
    assert masked.notices == ["password='***'"]
    assert masked.output.text() == "password='***'"
    assert masked.counts is result.counts
    assert result.notices == [SECRET]


def failed_and_passed(test: str) -> list[e.TestFinished]:
    return [failed(test, f"ValueError: {SECRET}"), *passed("ok")]


def test_a_name_gives_its_value_away_in_documents() -> None:
    document = {
        "test": {"node_id": SECRET, "properties": {"password": "plain", "size": 3}},
        "tests": [SECRET],
    }

    assert masked_values(document) == {
        "test": {"node_id": SECRET, "properties": {"password": "***", "size": 3}},
        "tests": ["password='***'"],
    }


def test_the_ids_of_an_event_stay() -> None:
    for event in (e.TestsSelected((SECRET,)), e.TestsPlanned((SECRET,))):
        assert masked_values(event) == event


def test_the_end_of_a_long_text_may_begin_in_the_middle_of_a_value() -> None:
    for kept, shown in (
        ("horse9-staple\nE: no", "[...]\nE: no"),
        ("correct horse battery'} last words\n", "[...]} last words\n"),
        ("horse battery", "[...]"),
        ("x\npassword=hunter2", "[...]\npassword=***"),
    ):
        phase = masked_values(e.Phase("call", "failed", tails={"stdout": kept}))

        assert phase.tails == {"stdout": shown}
        assert masked_values(phase) == phase


@pytest.mark.parametrize("test", ["t.py::test_password", "api_token", f"t.py::test_login[{SECRET}]"])
def test_what_earlier_runs_and_another_commit_say_is_told_of_tests_with_any_name(test: str) -> None:
    since = e.EarlierRun("20251231-000000-aaabbb", "c0ffee" * 6 + "c0ff", "2025-12-31T00:00:00Z")
    history = e.HistoryCompared({test: e.TestHistory(e.STILL, since)}, (test,), since)
    baseline = e.BaselineCompared("main", since.commit, {test: e.CANNOT_TELL}, "", {test: "moved"})

    result = run_of(failed(test, "E: x"), history, baseline)

    assert masked_values(result) is result

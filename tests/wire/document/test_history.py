"""What earlier runs and another commit say of a run: in documents and logs, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.any_results import results
from support.cli import converted, shown
from support.full_runs import BASELINE, COMPARED, HISTORY, result_of
from support.records import GREEN, document_of, read, read_document, recorded
from support.streams import NAMES, baselines, histories

from proctor import events as e
from proctor.archive.compare import reconcile
from proctor.errors import StreamError
from proctor.outcome import BAD, EXIT_CODES, Outcome, RunOutcome
from proctor.result import RunResult
from proctor.wire.document import schema
from proctor.wire.document import writer as document
from proctor.wire.literal import literal_in
from proctor.wire.stream.reader import StreamReader

Told = TypeVar("Told", e.HistoryCompared, e.BaselineCompared)

COMPARED_NAMES = st.sampled_from([*HISTORY.tests, "t.py::fixed", "v.py"])
OF_RUN = ("fixed", "compared_with", "baseline")
OF_TEST = ("history", "baseline", "baseline_reason")
RED = (
    *GREEN[:4],
    e.TestFinished("t.py::b", Outcome.FAILED, 0.1, "no", failure=e.Failure("E", "no")),
    e.SessionFinished(1, 2),
    e.ProcessExited(1),
)
NEW = e.HistoryCompared({"t.py::b": e.TestHistory(e.NEW)})


def document_for(result: RunResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(b"".join(document.chunks(result, lambda _: "")))
    return found


def words(found: dict[str, Any]) -> list[Any]:
    """All that a document says of earlier runs and of another commit."""
    items = [*found["tests"], *found["collection_errors"]]
    told = [{name: item[name] for name in OF_TEST if name in item} for item in items]
    return [{name: found[name] for name in OF_RUN if name in found}, *told]


@pytest.mark.parametrize("events", [GREEN, RED])
def test_a_run_that_was_not_compared_has_no_field_of_these(events: tuple[e.Event, ...]) -> None:
    assert words(document_of(events)) == [{}, {}, {}]


def test_a_run_without_an_earlier_one_says_so() -> None:
    history = e.HistoryCompared({"t.py::b": e.TestHistory(e.UNKNOWN)})

    of_run, passed, failed = words(document_of((*RED, history)))

    assert of_run == {"fixed": [], "compared_with": None}
    assert passed == {}
    assert failed == {"history": {"word": "unknown", "since": None}}


def test_only_tests_that_ended_badly_have_a_word() -> None:
    history = e.HistoryCompared({"t.py::a": e.TestHistory(e.NEW)}, ("t.py::a",))
    baseline = e.BaselineCompared("main", tests={"t.py::a": e.PASSES})

    of_run, *tests = words(document_of((*RED, history, baseline)))

    assert of_run["fixed"] == ["t.py::a"]
    assert of_run["baseline"] == {"ref": "main", "commit": "", "reason": ""}
    assert tests == [{}, {}]


@given(results())
def test_a_document_is_read_back_with_the_same_words(result: RunResult) -> None:
    first = document_for(result)

    again = document_for(read_document(first)[0])

    assert words(again) == words(first)


@given(histories(NAMES), baselines(NAMES))
def test_a_log_is_read_back_with_the_same_words(
    history: e.HistoryCompared, baseline: e.BaselineCompared
) -> None:
    _, lines = recorded((*RED, history, baseline))

    again, gaps = read(b"".join(lines), StreamReader())

    assert gaps == []
    assert (again.history, again.baseline) == (as_json(history), as_json(baseline))


def as_json(event: Told) -> Told:
    """The event with its texts as JSON can hold them."""
    return msgspec.convert(literal_in(msgspec.to_builtins(event)), type(event))


def test_a_log_keeps_every_word_of_the_event() -> None:
    result, lines = recorded(COMPARED)

    again, gaps = read(b"".join(lines), StreamReader())

    assert gaps == []
    assert (again.history, again.baseline) == (HISTORY, BASELINE)
    assert (result.history, result.baseline) == (HISTORY, BASELINE)


def test_a_document_that_is_shown_again_repeats_the_words(tmp_path: Path) -> None:
    first = document_for(result_of(COMPARED))
    data = json.dumps(first).encode()

    (tmp_path / "in.json").write_bytes(data)

    code, again = shown(tmp_path / "in.json", "json")

    assert code == EXIT_CODES[RunOutcome.CRASHED]
    assert words(json.loads(again)) == words(first)
    assert words(json.loads(converted(data, "json")[1])) == words(first)


Edit = Callable[[dict[str, Any]], None]


def _drop_of_run(found: dict[str, Any]) -> None:
    for name in OF_RUN:
        found.pop(name, None)


def test_words_of_tests_are_heard_though_the_run_says_nothing() -> None:
    found = document_for(result_of(COMPARED))
    _drop_of_run(found)

    result, _ = read_document(found)

    assert result.history is not None
    assert result.baseline is not None
    assert (result.history.tests, result.baseline.tests) == (HISTORY.tests, BASELINE.tests)
    assert (result.history.fixed, result.history.compared_with, result.baseline.ref) == ((), None, "")


def test_words_of_a_later_version_are_left_out_and_cost_nothing_else() -> None:
    found = document_of((*RED, NEW, e.BaselineCompared("main", tests={"t.py::b": e.FAILS})))
    found["tests"][1] |= {"history": {"word": "improved", "since": {"run_id": "r", "moon": "full"}}}
    found["tests"][1]["baseline"] = "explodes"

    result, gaps = read_document(found)

    assert gaps == []
    assert result.outcome is RunOutcome.FAILED
    assert (result.history, result.baseline) == (e.HistoryCompared(), e.BaselineCompared("main"))


@pytest.mark.parametrize(
    "edit",
    [
        lambda found: found["tests"][1].update(history="new"),
        lambda found: found["tests"][1]["history"].update(since="yesterday"),
        lambda found: found["tests"][1]["history"].update(word=None),
        lambda found: found.update(fixed="t.py::a"),
        lambda found: found.update(compared_with=[]),
    ],
)
def test_words_of_a_wrong_type_are_no_document(edit: Edit) -> None:
    found = document_of((*RED, NEW))
    edit(found)

    with pytest.raises(StreamError, match="not a result document"):
        read_document(found)


# The log and the document of one run


def kept(events: tuple[e.Event, ...]) -> tuple[RunResult, dict[str, Any]]:
    result, lines = recorded(events)
    return read(b"".join(lines), StreamReader())[0], document_for(result)


def reconciled(result: RunResult, found: dict[str, Any]) -> str:
    return reconcile(result, schema.read(json.dumps(found).encode()))


def test_the_log_and_the_document_of_a_run_agree() -> None:
    assert reconciled(*kept(COMPARED)) == ""


@given(histories(COMPARED_NAMES), baselines(COMPARED_NAMES))
def test_they_agree_whatever_was_said(history: e.HistoryCompared, baseline: e.BaselineCompared) -> None:
    assert reconciled(*kept((*COMPARED, history, baseline))) == ""


def _still(found: dict[str, Any]) -> None:
    found["tests"][0]["history"]["word"] = "still"


def _fails_there(found: dict[str, Any]) -> None:
    found["tests"][0]["baseline"] = "fails"


def _no_word(found: dict[str, Any]) -> None:
    del found["tests"][0]["history"]


def _of_a_file(found: dict[str, Any]) -> None:
    found["collection_errors"][0]["history"]["word"] = "flaky"


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_still, "say something else of t.py::new"),
        (_fails_there, "say something else of t.py::new"),
        (_no_word, "say something else of t.py::new"),
        (_of_a_file, "say something else of u.py"),
        (lambda found: found.update(fixed=[]), "compared with another run, or names other tests as fixed"),
        (_drop_of_run, "compared with another run"),
    ],
)
def test_a_document_with_other_words_than_the_log_is_named_and_changes_no_outcome(
    edit: Edit, said: str
) -> None:
    result, found = kept(COMPARED)
    edit(found)

    assert said in reconciled(result, found)
    assert result.outcome is RunOutcome.CRASHED
    assert (result.history, result.baseline) == (HISTORY, BASELINE)


def test_words_are_there_for_each_bad_outcome() -> None:
    tests = [e.TestFinished(f"t.py::{outcome}", outcome, message="no") for outcome in Outcome]
    history = e.HistoryCompared({test.test: e.TestHistory(e.NEW) for test in tests})

    found = document_for(result_of((*tests, history)))

    assert {test["outcome"] for test in found["tests"] if "history" in test} == set(BAD)

"""A budget is a promise, whatever the document."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_runs import failed, run_of

from proctor import events as e
from proctor.archive.inside import Folder
from proctor.config import Settings
from proctor.mcp_server import brief, replies, run_data, shorten
from proctor.mcp_server.run_data import RunData
from proctor.mcp_server.size import cut, lines_within, weight
from proctor.render.tokens import estimate
from proctor.wire.document.schema import Document, Test, read

texts = st.text(max_size=300) | st.integers(0, 20_000).map(lambda size: "trace — " * (size // 8))
names = st.text("abcdefgh", min_size=1, max_size=30).map("tests/test_a.py::test_{}".format)
tests = st.builds(
    lambda node_id, outcome, message, traceback: {
        "node_id": node_id,
        "outcome": outcome,
        "duration": 0.125,
        "message": message,
        "traceback": traceback,
        "failure": {"type": "E", "message": message or ""},
    },
    names,
    st.sampled_from(["passed", "failed", "error", "skipped", "xfailed", "crash", "timeout"]),
    st.none() | texts,
    st.none() | texts,
)
values = st.builds(
    lambda tests, errors, output, reason, not_run, warnings: {
        "schema": "proctor.result/1",
        "run_id": "20260101-000000-abcdef",
        "outcome": "failed",
        "reason": reason,
        "exit_code": 1,
        "signal": None,
        "summary": {name: len(tests) for name in ("total", "passed", "failed", "skipped", "errors")},
        "runner": "pytest",
        "interpreter": "/usr/bin/python3",
        "command": ["python", "-m", "pytest", *not_run],
        "source": "control",
        "started": "2026-01-01T00:00:00",
        "current_test": None,
        "omitted": {},
        "notices": [reason],
        "tests": tests,
        "json_report": {"summary": {"total": len(tests)}},
        "collection_errors": [
            {"file": "test_x.py", "message": text, "traceback": text, "failure": {}} for text in errors
        ],
        "warnings": [
            {"category": "W", "message": text, "file": "", "line": 1, "count": 1} for text in warnings
        ],
        "not_run": not_run,
        "text_output": output,
        "stderr": output,
        **({"fixed": not_run, "compared_with": {"run_id": "20251231-000000-abcdef"}} if reason else {}),
        **({"printed": output, "quoted": {"lines": [output] * 20}} if output else {}),
        **({"plan": {"tests": not_run * 40, "shard": 1, "shards": 2}} if output else {}),
    },
    st.lists(tests, max_size=15),
    st.lists(texts, max_size=3),
    texts,
    texts,
    st.lists(names, max_size=30),
    st.lists(texts, max_size=3),
)
documents = values.map(lambda value: read(json.dumps(value).encode()))
budgets = st.integers(200, 8_000)  # most documents are too large for it


def composed(document: Document) -> brief.Compose:
    """A text about the document that is too long for most budgets."""
    lines = [f"{test.node_id} {' '.join((test.message or '').split())}" for test in document.tests]
    text = "\n".join([f"{len(lines)} failed", *lines]) + "\n"
    return lambda room: lines_within(text, room, "get_run()")


@given(documents, budgets)
def test_a_brief_document_keeps_to_its_budget_and_counts_what_is_missing(
    document: Document, budget: int
) -> None:
    short = brief.failures(document, composed(document), budget)

    assert weight(short) <= budget
    assert next(iter(short)) == "text"
    assert short["text"]
    assert short["outcome"] == document.outcome
    listed = Counter(name for name, _ in brief.rows(document))
    for name in ("tests", "collection_errors", "not_run", "warnings", "notices"):
        assert len(short.get(name, [])) + short["omitted"].get(name, 0) == listed[name]
    if any(short["omitted"].get(name) for name in listed):
        assert 'select="failures", offset=' in short["omitted"]["call"]
    shown = [(test["node_id"], test["outcome"]) for test in short.get("tests", [])]
    wanted = [(test.node_id, test.outcome) for name, test in brief.rows(document) if name == "tests"]
    assert shown == wanted[: len(shown)]


@given(documents, budgets)
def test_a_summary_keeps_to_its_budget(document: Document, budget: int) -> None:
    ids = [test.node_id for test in document.tests]
    short = brief.summary(document, ids, composed(document), budget)

    assert weight(short) <= budget
    assert next(iter(short)) == "text"
    assert len(short["failing"]) + short["omitted"].get("failing", 0) == len(ids)


@given(documents, budgets)
def test_a_whole_document_that_is_cut_keeps_to_its_budget(document: Document, budget: int) -> None:
    short = shorten.within(document, "1 failed\n", budget, mask=False)

    if short is not None:
        assert weight(short) <= budget
        assert ("printed" in short, "quoted" in short) == (bool(document.printed), bool(document.quoted))
        rare = {"suites", "plan", "printed", "quoted", "fixed", *shorten._RARE}
        assert set(short) - rare == {"text", *Document.__struct_fields__, "omitted"} - rare
        assert len(short["tests"]) + short["omitted"].get("tests", 0) == len(document.tests)
        fixed = document.fixed or ()
        assert ("fixed" in short, "compared_with" in short) == (document.fixed is not None,) * 2
        assert len(short.get("fixed", ())) + short["omitted"].get("fixed", 0) == len(fixed)
        owed = len(document.plan.tests) if document.plan is not None else 0
        assert short["omitted"].get("plan", 0) == owed
        assert 'select="json_report"' in short["omitted"]["call"]


def failing_run(count: int, same: bool, directory: Path) -> RunData:
    """So many failures: of one cause, or each with its own message and place."""
    names = [f"tests/test_shop.py::test_total_{number}" for number in range(count)]
    facts: list[e.Event] = [e.SuiteEntered("pytest", "pytest", ("python", "-m", "pytest"), "/project")]
    for number, name in enumerate(names):
        place = ("src/cart.py", 41) if same else ("tests/test_shop.py", number + 3)
        fact = failed(name, "KeyError: 'price'" if same else f"assert {number + 1} == {number}", place)
        facts.append(msgspec.structs.replace(fact, traceback=f"{name}\n    raise\n" * 20))
    facts.append(e.OutputReceived("stdout", "a line of output\n" * 20 * count))
    return run_data.from_result(run_of(*facts), Folder(directory), Settings())


@pytest.mark.parametrize("count", [1, 5, 24, 50])
@pytest.mark.parametrize("same", [True, False], ids=["one cause", "many causes"])
def test_the_structured_half_costs_little_more_than_the_text(tmp_path: Path, count: int, same: bool) -> None:
    reply = replies.finished(failing_run(count, same, tmp_path), "failures", 6000)

    document = reply.document
    assert document is not None
    assert document["text"] == reply.text
    assert weight(document) <= 300 + 3 * estimate(reply.text)
    assert document["tests"]
    assert {"message", "place", "traceback", "duration"} <= document["tests"][0].keys()
    assert document["omitted"].get("tests", 0) == count - len(document["tests"])
    assert {"traceback", "json_report", "interpreter", "command"} <= {*document["omitted"]["fields"]}


@pytest.mark.parametrize("detail", ["summary", "failures", "full"])
@pytest.mark.parametrize("count", [1, 120])
@pytest.mark.parametrize("budget", [200, 500, 6000, 100_000])
def test_the_text_comes_first_whatever_the_detail_and_the_budget(
    tmp_path: Path, detail: str, count: int, budget: int
) -> None:
    data = failing_run(count, False, tmp_path)
    reply = replies.finished(data, detail, budget, limited=True)

    document = reply.document
    assert document is not None
    assert next(iter(document)) == "text"
    assert document["text"].startswith(f"{count} failed")
    assert [*document][1:3] == ["run_id", "outcome"] or detail == "full"
    assert weight(document) <= budget
    assert estimate(reply.text) <= budget


def test_the_whole_document_is_whole_if_it_fits_and_without_a_budget(tmp_path: Path) -> None:
    data = failing_run(60, False, tmp_path)
    whole = data.whole()

    for reply in (
        replies.finished(data, "full", 100_000, limited=True),
        replies.finished(data, "full", 200, limited=False),
    ):
        assert reply.document == {"text": reply.text, **whole}


@given(st.text(max_size=500), st.integers(0, 600))
def test_what_is_cut_is_never_longer_than_allowed(text: str, size: int) -> None:
    short = cut(text, size)

    assert len(short) <= size or short == text
    assert len(text) > size or short == text


@given(st.lists(names | texts, max_size=50), budgets)
def test_lines_keep_to_their_budget_and_the_verdict_stays(lines: list[str], budget: int) -> None:
    text = "\n".join(["3 failed 2 passed", *(" ".join(line.split()) for line in lines)]) + "\n"
    short = lines_within(text, budget, 'get_run(run_id="20260101-000000-abcdef", select="failures")')

    assert estimate(short) <= budget
    assert short.startswith("3 failed 2 passed\n")
    assert short == text or "get_run(" in short


def test_very_many_failures_are_no_trouble() -> None:
    tests = [
        Test(f"test_a.py::test_{number}", "failed", 0.1, "m" * 100, "t" * 3000) for number in range(20_000)
    ]
    document = Document("proctor.result/1", "20260101-000000-abcdef", "failed", exit_code=1, tests=tests)
    short = brief.failures(document, composed(document), 6000)

    assert weight(short) <= 6000
    assert short["omitted"]["tests"] == 20_000 - len(short["tests"])
    ids = [test.node_id for test in tests]
    assert len(brief.summary(document, ids, lambda room: "20000 failed\n", 6000)["failing"]) >= 10

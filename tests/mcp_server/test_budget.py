"""A budget is a promise, whatever the document."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.mcp_server import shorten
from proctor.mcp_server.size import cut, lines_within, weight
from proctor.outcome import BAD
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


@given(documents, budgets)
def test_a_brief_document_keeps_to_its_budget_and_counts_what_is_missing(
    document: Document, budget: int
) -> None:
    short = shorten.failures(document, budget)

    assert weight(short) <= budget
    assert len(json.dumps(short).encode("ascii")) > 0
    assert short["outcome"] == document.outcome
    if "tests" in short:
        assert short["tests"] == [] or short["tests"][0]["node_id"]
        bad = [test.node_id for test in document.tests if test.outcome in BAD]
        assert [test["node_id"] for test in short["tests"] if test["outcome"] in BAD] == bad
        assert short["omitted"].get("tests", 0) == len(document.tests) - len(short["tests"])
        assert set(short) == {*Document.__struct_fields__, "omitted"} - {"suites"}
    else:
        assert len(short["failing"]) + short["omitted"].get("failing", 0) == len(
            shorten.failing_ids(document)
        )


@given(documents, budgets)
def test_a_summary_keeps_to_its_budget(document: Document, budget: int) -> None:
    assert weight(shorten.summary(document, budget)) <= budget


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


@pytest.mark.parametrize("count", [20_000])
def test_very_many_failures_are_no_trouble(count: int) -> None:
    tests = [
        Test(f"test_a.py::test_{number}", "failed", 0.1, "m" * 100, "t" * 3000) for number in range(count)
    ]
    document = Document("proctor.result/1", "20260101-000000-abcdef", "failed", exit_code=1, tests=tests)
    short = shorten.failures(document, 6000)

    assert weight(short) <= 6000
    assert len(short["failing"]) > 400
    assert short["failing"][0] == "test_a.py::test_0"

"""What earlier runs and a baseline say of a run, in answers of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.full_runs import BEFORE, COMPARED, result_of
from support.made_runs import passed

from proctor import events as e
from proctor.archive.inside import Folder
from proctor.config import Settings
from proctor.mcp_server import replies, run_data
from proctor.mcp_server.pages import page
from proctor.mcp_server.run_data import RunData
from proctor.mcp_server.size import weight
from proctor.render.tokens import estimate

#: With a text that is long enough for a row of each test.
LONGER = (*COMPARED, e.Noticed("a note of some length, " * 10))


def data(tmp_path: Path, *facts: e.Event) -> RunData:
    return run_data.from_result(result_of(facts), Folder(tmp_path), Settings())


def answer(run: RunData, detail: str, budget: int = 6000) -> dict[str, Any]:
    structure = replies.finished(run, detail, budget, limited=True).document
    assert structure is not None
    return structure


@pytest.mark.parametrize("detail", ["summary", "failures"])
def test_an_answer_has_the_run_before_and_what_is_fixed(tmp_path: Path, detail: str) -> None:
    found = answer(data(tmp_path, *COMPARED), detail)

    assert found["compared_with"] == {"run_id": BEFORE.run_id, "commit": "c0ffeec"}
    assert found["fixed"] == ["t.py::fixed", "v.py"]
    assert found["baseline"] == {
        "ref": "main",
        "commit": "decaded",
        "reason": "the project is installed elsewhere",
    }


def test_a_row_has_the_word_and_since_when(tmp_path: Path) -> None:
    found = answer(data(tmp_path, *LONGER), "failures")

    told = {row["node_id"]: (row.get("history"), row.get("baseline")) for row in found["tests"]}
    assert told["t.py::new"] == ({"word": "new"}, "passes")
    assert told["t.py::still"] == ({"word": "still", "since": "c0ffeec-dirty"}, "fails")
    assert told["t.py::flaky"] == ({"word": "flaky", "failed": 3, "results": 20}, "absent")
    assert told["t.py::unknown"] == (None, "unknown")
    assert found["collection_errors"][0]["history"] == {"word": "new"}


def test_rows_of_tests_that_failed_before_come_behind_their_equals(tmp_path: Path) -> None:
    found = answer(data(tmp_path, *LONGER), "failures")

    names = [row["node_id"] for row in found["tests"]]
    assert names.index("t.py::new") < names.index("t.py::still")


def test_a_page_says_the_words_in_its_lines(tmp_path: Path) -> None:
    lines = page(data(tmp_path, *COMPARED), "failures", 0, 50, 6000).text.splitlines()

    assert "failed t.py::new [new, passes on baseline] E: x" in lines
    assert "error t.py::still [still since c0ffeec-dirty, fails on baseline too] E: x" in lines
    assert any(line.startswith("u.py > t.py:3 [new, baseline: cannot tell] ") for line in lines)


@pytest.mark.parametrize("budget", [200, 300, 500, 1000])
@pytest.mark.parametrize("detail", ["summary", "failures", "full"])
def test_a_small_budget_is_kept(tmp_path: Path, detail: str, budget: int) -> None:
    reply = replies.finished(data(tmp_path, *COMPARED), detail, budget, limited=True)

    assert weight(reply.document) <= budget
    assert estimate(reply.text) <= budget


def test_a_run_without_history_says_nothing_of_it(tmp_path: Path) -> None:
    found = answer(data(tmp_path, *passed("t.py::a"), e.SessionFinished(0), e.ProcessExited(0)), "failures")

    assert not {"compared_with", "fixed", "baseline"} & found.keys()

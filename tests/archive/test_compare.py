"""A changed document or log does not turn a failed run green, by whatever door it is read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mcp_client import talk, text_of
from support.projects import document_of, proctor, write_project

from proctor.archive.lookup import read_run
from proctor.archive.store import named_run
from proctor.mcp_server.run_data import from_archive

BAD = "test_a.py::test_bad"
FILES = {"test_a.py": "def test_good(): pass\ndef test_bad(): assert 0\n"}
Edit = Callable[[Path], None]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_project(tmp_path_factory.mktemp("kept"), FILES)
    document_of(root)
    return root


@pytest.fixture
def run(kept: Path, tmp_path: Path) -> Path:
    root = Path(shutil.copytree(kept, tmp_path / "project"))
    return next((root / ".proctor" / "runs").iterdir())


def document(change: Callable[[dict[str, Any]], object]) -> Edit:
    def edit(run: Path) -> None:
        found = json.loads((run / "result.json").read_text())
        change(found)
        (run / "result.json").write_text(json.dumps(found))

    return edit


def all_passed(found: dict[str, Any]) -> None:
    """The document without its failure, as somebody might forge it."""
    found["outcome"], found["exit_code"] = "passed", 0
    found["tests"] = [test for test in found["tests"] if test["outcome"] == "passed"]
    found["summary"] |= {"total": 1, "failed": 0}
    report = found["json_report"]
    report["exitcode"], report["summary"] = 0, {"passed": 1, "total": 1, "collected": 1}
    report["tests"] = [test for test in report["tests"] if test["outcome"] == "passed"]


def log_passed(run: Path) -> None:
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    kept = [line for line in lines if BAD not in json.dumps(line)]
    text = "\n".join(map(json.dumps, kept)) + "\n"
    for before, after in (('"failed"', '"passed"'), ('"exit_status": 1', '"exit_status": 0')):
        text = text.replace(before, after)
    (run / "events.jsonl").write_text(text.replace('"exit_code": 1', '"exit_code": 0'))


EDITS: dict[str, Edit] = {
    "outcome": document(lambda found: found.update(outcome="passed")),
    "outcome and exit code": document(lambda found: found.update(outcome="passed", exit_code=0)),
    "tests dropped": document(lambda found: found.update(outcome="passed", tests=[])),
    "whole document": document(all_passed),
    "log": log_passed,
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_no_edit_of_one_record_makes_a_failed_run_pass(run: Path, edit: Edit) -> None:
    edit(run)
    data = from_archive(named_run(run))
    kept_run = read_run(named_run(run))

    assert data.result.outcome not in ("passed", "no_tests")
    assert data.document.outcome == data.result.outcome == kept_run.document.outcome
    assert data.whole()["outcome"] == data.result.outcome
    assert any("disagree" in notice for notice in data.document.notices)


def test_an_untouched_record_is_shown_as_it_was_written(run: Path) -> None:
    data = from_archive(named_run(run))

    assert data.raw == (run / "result.json").read_bytes()
    assert data.document.notices == []


def test_over_mcp_and_for_one_test_the_failure_is_still_there(run: Path) -> None:
    document(all_passed)(run)
    root = run.parents[2]
    with talk(root) as server:
        answer = server.call("get_run", run_id=run.name)
        one = server.call("get_test", run_id=run.name, node_id=BAD)

    assert answer.structured_content["outcome"] == "failed"
    assert text_of(answer).startswith("1 failed 1 passed")
    assert "assert 0" in text_of(one)
    shown = proctor("show", run.name, "--test", BAD, cwd=root)
    assert (shown.code, "assert 0" in shown.out) == (0, True), shown.err

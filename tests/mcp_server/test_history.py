"""`get_history` and `compare_runs`: from real runs, within budgets and roots."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.mcp_client import Talk, talk, text_of
from support.projects import clean_environment, proctor, project_python, write_project

from proctor.mcp_server.size import weight
from proctor.render.tokens import estimate

LONG = "x" * 400
TESTS = f"""
    import os
    import pytest

    @pytest.mark.parametrize("n", range(30))
    def test_many(n): assert os.environ.get("LATER") != "1", "password=hunter2hunter2"

    def test_{LONG}(): assert os.environ.get("LATER") != "1"
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    for place in ("web", "shop"):
        write_project(root / place, {"test_a.py": TESTS, "pytest.ini": "[pytest]\n"})
    (root / ".git").mkdir()
    write_project(root, {".git/HEAD": "ref: refs/heads/main\n"})
    for place in ("web", "shop"):
        for later in "01":
            words = ("run", "--python", project_python(), "-C", place)
            ran = proctor(
                *words, cwd=root, environ=clean_environment(XDG_STATE_HOME=state(root), LATER=later)
            )
            assert ran.code == int(later), ran.err
    return root


def state(root: Path) -> str:
    return str(root / "state")


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Talk]:
    with talk(root / "web", XDG_STATE_HOME=state(root)) as talking:
        yield talking


def runs(server: Talk) -> list[str]:
    return [run["run_id"] for run in server.document("get_history")["runs"]]


def test_results_of_a_test_are_told_with_the_message_of_a_failure(server: Talk) -> None:
    answer = server.call("get_history", node_id="test_many[3]")

    document = answer.structured_content
    assert document["test"] == "test_a.py::test_many[3]"
    assert [(one["outcome"], one["run_id"]) for one in document["results"]] == [
        ("failed", runs(server)[0]),
        ("passed", runs(server)[1]),
    ]
    assert document["results"][0]["message"] == "AssertionError: password=***"
    assert text_of(answer).startswith("test_a.py::test_many[3]: 2 results\nfailed ")
    assert "hunter2" not in text_of(answer)


def test_nothing_of_what_the_server_does_not_serve_is_told(server: Talk, root: Path) -> None:
    assert len(runs(server)) == 2
    assert server.document("get_history", node_id="test_many[3]")["test"] == "test_a.py::test_many[3]"
    assert "no test" in server.refusal("get_history", node_id="shop/test_a.py::test_many[3]")
    assert "outside" in server.refusal("get_history", project="../shop")
    with talk(root / "shop", XDG_STATE_HOME=state(root)) as other:
        (hidden, _) = runs(other)
    assert hidden not in runs(server)
    assert "no run begins" in server.refusal("compare_runs", a=hidden, b="last")
    with talk(root, XDG_STATE_HOME=state(root)) as whole:
        assert len(runs(whole)) == 4
        assert whole.document("get_history", node_id="shop/test_a.py::test_many[3]")["results"]


@pytest.mark.parametrize("budget", [200, 400, 1000, 6000])
def test_every_page_keeps_to_the_budget_and_names_the_next(server: Talk, budget: int) -> None:
    new, old = runs(server)
    seen: list[Any] = []
    answer = server.call("compare_runs", a=old, b=new, budget=budget)
    while True:
        document = answer.structured_content
        assert weight(document) <= budget
        assert estimate(text_of(answer)) <= budget
        seen += document["new"]
        call = document["omitted"].get("call")
        if not call:
            break
        assert call in text_of(answer)
        following = re.fullmatch(r'compare_runs\(a="(.+)", b="(.+)", offset=(\d+)\)', call)
        a, b, offset = following.groups()
        answer = server.call("compare_runs", a=a, b=b, offset=int(offset), budget=budget)

    assert len(seen) == 31
    assert [one for one in seen if len(one) < 100][:2] == [
        "test_a.py::test_many[0]",
        "test_a.py::test_many[1]",
    ]


def test_runs_and_results_come_page_by_page(server: Talk) -> None:
    first = server.document("get_history", limit=1)
    assert len(first["runs"]) == 1
    assert first["omitted"] == {"runs": 1, "call": "get_history(limit=1, offset=1)"}
    second = server.document("get_history", limit=1, offset=1)
    assert (len(second["runs"]), second["omitted"]) == (1, {})
    small = server.document("get_history", node_id=f"test_{LONG}", budget=200)
    assert weight(small) <= 600  # its name alone is longer than that


def test_two_runs_are_compared_and_one_that_goes_on_is_not_complete(server: Talk) -> None:
    new, old = runs(server)

    assert server.document("compare_runs", a=new, b=old)["fixed"][0] == "test_a.py::test_many[0]"
    same = server.call("compare_runs", a=new, b="last")
    assert text_of(same).startswith("31 still (")
    assert same.structured_content["new"] == []
    assert server.document("get_history", select="flaky")["tests"] == []
    assert server.document("get_history", select="slow")["tests"] == []


@pytest.fixture
def slow_git(tmp_path: Path) -> str:
    """A PATH on which git takes a while, so that the history of a run is kept long after its answer."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("no git here")
    script = tmp_path / "bin" / "git"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nsleep 0.1\nexec {git} "$@"\n')
    script.chmod(0o755)
    return f"{script.parent}:{os.environ['PATH']}"


def test_the_history_has_each_run_that_was_answered_whoever_asks_next(tmp_path: Path, slow_git: str) -> None:
    body = "import os\ndef test_a(): assert not os.path.exists('broken')"
    root = write_project(tmp_path / "project", {"test_a.py": body})
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    with talk(root, XDG_STATE_HOME=str(tmp_path), PATH=slow_git) as talking:
        passed = talking.document("execute_tests")
        (root / "broken").touch()
        failed = talking.document("execute_tests")
        assert failed["tests"][0]["history"] == {"word": "new"}

        (root / "broken").unlink()
        fixed = talking.document("execute_tests")
        assert runs(talking) == [run["run_id"] for run in (fixed, failed, passed)]


def test_a_run_is_in_the_history_if_the_client_leaves_with_its_answer(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", {"test_a.py": "def test_a(): pass"})
    with talk(root, XDG_STATE_HOME=str(tmp_path)) as talking:
        answered = talking.document("execute_tests")["run_id"]
    with talk(root, XDG_STATE_HOME=str(tmp_path)) as talking:
        assert runs(talking) == [answered]

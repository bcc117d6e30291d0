"""`proctor history` with real runs in real repositories, and reports that real tools write."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.parsed_html import by_id, parsed, shown
from support.projects import GUARD, Ran, clean_environment, proctor, project_python, write_project

FILES = {
    "tests/test_a.py": """
        import os
        import pytest

        class TestX:
            def test_m(self): pass

        @pytest.mark.parametrize("value", ["a b", "c::d", "e.f"])
        def test_p(value): pass

        def test_env():
            assert os.environ.get("BREAK") != "1", "token=ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    """,
    ".gitignore": "*.xml\n*.json\n*.jsonl\n.proctor\n__pycache__\nstate*\n",
}
GOOD = [
    "tests/test_a.py::TestX::test_m",
    "tests/test_a.py::test_p[a b]",
    "tests/test_a.py::test_p[c::d]",
    "tests/test_a.py::test_p[e.f]",
    "tests/test_a.py::test_env",
]


def git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(("git", *who, *arguments), cwd=root, check=True, timeout=GUARD, capture_output=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with three runs: one passed, one failed, one of a part on another branch."""
    root = write_project(tmp_path_factory.mktemp("project"), FILES)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "one")
    assert run(root).code == 0
    assert run(root, BREAK="1").code == 1
    git(root, "checkout", "-q", "-b", "feature")
    assert run(root, "-k", "env or TestX").code == 0
    return root


def environ(root: Path, state: str = "state", **more: str) -> dict[str, str]:
    return clean_environment(XDG_STATE_HOME=str(root / state), **more)


def run(root: Path, *arguments: str, state: str = "state", **more: str) -> Ran:
    words = ("run", "--python", project_python(), "--format", "json", *arguments)
    return proctor(*words, cwd=root, environ=environ(root, state, **more))


def history(root: Path, *arguments: str, state: str = "state") -> Ran:
    return proctor("history", *arguments, cwd=root, environ=environ(root, state))


def answer(root: Path, *arguments: str, state: str = "state") -> dict[str, Any]:
    ran = history(root, *arguments, "--format", "json", state=state)
    assert ran.code == 0, ran.err
    assert ran.document["schema"] == "proctor.history/1"
    return ran.document


def words(log: str) -> dict[str, str]:
    """What the run said of its failures."""
    events = [json.loads(line) for line in log.splitlines()]
    (compared,) = (event["extra"] for event in events if event.get("kind") == "history")
    return {test: said["word"] for test, said in compared["tests"].items()}


def words_of_failing_run(root: Path, state: str) -> dict[str, str]:
    ran = proctor(
        *("run", "--python", project_python(), "--format", "events"),
        cwd=root,
        environ=environ(root, state, BREAK="1"),
    )
    assert ran.code == 1
    return words(ran.out)


def test_the_last_runs_are_listed_with_commit_branch_and_part(made: Path) -> None:
    lines = history(made).out.splitlines()
    runs = answer(made)["runs"]

    assert lines[0].split() == ["RUN", "AGE", "OUTCOME", "TIME", "COMMIT", "BRANCH", "TESTS", "ASKED", "FOR"]
    assert [line.split()[2] for line in lines[1:]] == ["passed", "failed", "passed"]
    assert " ".join(lines[1].split()).endswith("2 passed -k 'env or TestX'")
    assert "feature" in lines[1]
    assert lines[2].endswith("1 failed 4 passed  everything")
    assert [run["branch"] for run in runs] == ["feature", "main", "main"]
    assert [run["whole"] for run in runs] == [False, True, True]
    assert runs[0]["asked"] == ["-k", "env or TestX"]
    assert {run["commit"][:7] for run in runs} == {lines[1].split()[4]}
    assert len(answer(made, "--limit", "1")["runs"]) == 1


def test_a_test_has_a_strip_a_sparkline_and_its_failure(made: Path) -> None:
    told = history(made, "test_env").out
    document = answer(made, "tests/test_a.py::test_env")

    assert told.startswith("tests/test_a.py::test_env\n3 runs, 1 failed\nresults    ✓✗✓\ndurations  ")
    assert "only failure  now, run " in told
    assert "token=***" in told
    assert "ghp_" not in told
    assert list(document) == ["schema", "test", "results"]
    assert [result["outcome"] for result in document["results"]] == ["passed", "failed", "passed"]
    assert list(document["results"][0]) == [
        *("run_id", "outcome", "duration", "commit", "tree", "started", "attempt"),
    ]
    assert len({result["tree"] for result in document["results"]}) == 1


def test_a_test_that_fails_without_a_change_is_flaky_by_the_evidence(made: Path) -> None:
    (test,) = answer(made, "--flaky")["tests"]

    assert (test["node_id"], test["failed"], test["results"]) == ("tests/test_a.py::test_env", 1, 3)
    assert "1 of 3" in history(made, "--flaky").out
    assert answer(made, "--slow")["tests"] == []
    assert history(made, "--slow").out.startswith("no test is slow")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["test_evn"], ["no test 'test_evn'; did you mean tests/test_a.py::test_env?"]),
        (["--", "path"], ["the history has no test 'path'"]),
        (["a", "b"], ["unexpected argument 'b'"]),
        (["--flaky", "--slow"], ["--slow"]),
        (["--flaky", "test_env"], ["--flaky lists tests"]),
        (["--branch", "x"], ["--branch needs import"]),
        (["import"], ["import needs a file"]),
        (["--limit", "-1"], ["invalid --limit -1"]),
        (["import", "tests/test_a.py"], ["cannot tell the format of tests/test_a.py: expected one of"]),
        (["import", "nowhere.xml"], ["nowhere.xml cannot be read"]),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_4(made: Path, arguments: list[str], words: list[str]) -> None:
    ran = history(made, *arguments)

    assert ran.code == 4
    assert ran.err.count("\n") == 1
    assert all(word in ran.err for word in words), ran.err


def test_without_a_history_everything_is_empty_and_nothing_is_an_error(made: Path) -> None:
    for arguments in ([], ["--flaky"], ["--slow"], ["test_env"], ["export"], ["clear"], ["path"]):
        ran = history(made, *arguments, state="state-none")
        assert ran.code == 0, ran.err
    assert answer(made, state="state-none")["runs"] == []
    assert answer(made, "test_env", state="state-none") == {
        "schema": "proctor.history/1",
        "test": "test_env",
        "results": [],
    }
    assert not (made / "state-none").exists()


def test_path_names_the_file_and_clear_removes_it_and_nothing_else(made: Path) -> None:
    shutil.copytree(made / "state", made / "state-copy")
    (made / "state-copy/proctor/other.sqlite").write_text("another project's")

    path = history(made, "path", state="state-copy")
    assert Path(path.out.strip()).is_file()
    assert path.err == ""
    cleared = history(made, "clear", state="state-copy")
    assert f"removed {path.out.strip()}\n" in cleared.out
    assert os.listdir(made / "state-copy/proctor") == ["other.sqlite"]
    assert "no history yet" in history(made, "path", state="state-copy").err
    assert "nothing to remove" in history(made, "clear", state="state-copy").out


def test_worktrees_share_the_history(made: Path, tmp_path: Path) -> None:
    git(made, "worktree", "add", "-q", str(tmp_path / "tree"), "main")
    try:
        there = proctor("history", "--format", "json", cwd=tmp_path / "tree", environ=environ(made))
    finally:
        git(made, "worktree", "remove", "--force", str(tmp_path / "tree"))

    assert there.document == answer(made)


def test_an_export_can_be_imported_and_is_then_the_same(made: Path) -> None:
    exported = history(made, "export").out
    (made / "history.jsonl").write_text(exported)

    for said in ("3 runs added", "0 runs added, 3 known already"):
        assert history(made, "import", "history.jsonl", state="state-two").out == f"history.jsonl: {said}\n"
    runs, again = answer(made)["runs"], answer(made, state="state-two")["runs"]
    assert [run | {"imported": True} for run in runs] == again
    results, others = (answer(made, "test_env", state=state)["results"] for state in ("state", "state-two"))
    assert [one | {"tree": ""} for one in results] == others
    assert answer(made, "--flaky", state="state-two")["tests"] == []  # the environments are not known


def test_imported_reports_of_every_format_say_what_is_new(made: Path) -> None:
    """Names, runner and suite are those of later runs, whoever wrote the report."""
    git(made, "checkout", "-q", "main")
    formats = ("junit", "junit-full", "ctrf", "json", "stream", "events")
    outputs = [word for form in formats for word in ("-o", f"{form}=report-{form}.json")]
    assert run(made, *outputs, state="state-other").code == 0
    pytest_too = (
        project_python(),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--junitxml=report-pytest.json",
    )
    subprocess.run(pytest_too, cwd=made, check=True, timeout=GUARD, capture_output=True)

    for form in (*formats, "pytest"):
        state = f"state-{form}"
        imported = history(made, "import", f"report-{form}.json", state=state)
        assert imported.out == f"report-{form}.json: 1 run added\n", imported.err
        assert [answer(made, test, state=state)["test"] for test in GOOD] == GOOD
        assert answer(made, state=state)["runs"][0]["branch"] == "main"
        again = history(made, "import", f"report-{form}.json", state=state)
        assert again.out.endswith("0 runs added, 1 known already\n")
        assert words_of_failing_run(made, state) == {"tests/test_a.py::test_env": "new"}, form


def test_a_report_belongs_to_the_branch_that_is_named_and_bad_files_do_not_stop_the_others(
    made: Path,
) -> None:
    case = '<testcase classname="tests.test_a" name="test_env"/>'
    good = f'<testsuites><testsuite name="pytest" tests="1">{case}</testsuite></testsuites>'
    (made / "good.xml").write_text(good)
    (made / "cut.xml").write_text(good[:-30])
    os.utime(made / "good.xml", (os.path.getmtime(made / "good.xml") - 3600,) * 2)

    ran = history(made, "import", "cut.xml", "good.xml", "--branch", "elsewhere", state="state-bad")

    assert (ran.code, ran.out) == (2, "good.xml: 1 run added\n")
    assert "cut.xml is not complete, so nothing of it is imported" in ran.err
    (kept,) = answer(made, state="state-bad")["runs"]
    assert (kept["branch"], kept["commit"], kept["imported"]) == ("elsewhere", "", True)
    assert history(made, state="state-bad").out.splitlines()[1].split()[1:3] == ["1h", "ago"]
    ran = history(made, "import", "tests/test_a.py", "cut.xml", state="state-bad")
    assert ran.code == 4
    assert ran.err.count("\n") == 2


def test_old_reports_are_left_out(made: Path) -> None:
    case = '<testcase classname="tests.test_a" name="test_env"/>'
    old = 'timestamp="2020-01-01T00:00:00"'
    (made / "old.xml").write_text(f'<testsuite name="pytest" tests="1" {old}>{case}</testsuite>')

    assert history(made, "import", "old.xml", state="state-old").out == (
        "old.xml: 0 runs added, 1 older than 30 days left out\n"
    )


def test_a_project_below_the_top_finds_its_tests_by_their_files(tmp_path: Path) -> None:
    files = {f"{place}/tests/test_a.py": "def test_a(): assert 0\n" for place in ("web", "shop")}
    write_project(tmp_path, {**files, "web/pytest.ini": "[pytest]\n", ".gitignore": "state\n"})
    git(tmp_path, "init", "-q", "-b", "main")
    good = '<testsuite name="pytest" tests="1"><testcase classname="tests.test_a" name="test_a"/></testsuite>'
    write_project(tmp_path, {"junit.xml": good})

    said = proctor("history", "-C", "web", "import", "junit.xml", cwd=tmp_path, environ=environ(tmp_path))
    assert said.out == "junit.xml: 1 run added\n"
    for place, word in (("web", "new"), ("shop", "unknown")):
        ran = proctor(
            *("run", "-C", place, "--python", project_python(), "--format", "events"),
            cwd=tmp_path,
            environ=environ(tmp_path),
        )
        assert list(words(ran.out).values()) == [word]
    results = proctor(
        "history", "-C", "web", "test_a", "--format", "json", cwd=tmp_path, environ=environ(tmp_path)
    )
    assert [one["outcome"] for one in results.document["results"]] == ["failed", "passed"]
    both = proctor("history", "test_a", cwd=tmp_path, environ=environ(tmp_path))
    assert both.code == 4
    assert "shop/tests/test_a.py::test_a" in both.err


@pytest.mark.parametrize("arguments", [[], ["test_env"], ["export"], ["--format", "json"]])
def test_a_reader_that_leaves_is_no_fault_of_the_history(made: Path, arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        ran = proctor("history", *arguments, cwd=made, environ=environ(made), stdout=write)
    finally:
        os.close(write)

    assert (ran.code, ran.err) == (2, "")


def test_a_file_that_is_no_store_is_moved_aside_and_clear_removes_that_too(made: Path) -> None:
    path = Path(history(made, "path", state="state-broken").out.strip())
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all, but long enough to be looked at" * 100)

    ran = history(made, state="state-broken")

    assert (ran.code, "no runs in the history" in ran.out) == (0, True)
    assert ".broken-1" in ran.err
    assert history(made, "clear", state="state-broken").out.count("removed ") >= 2
    assert os.listdir(path.parent) == []


def test_a_history_that_can_be_nowhere_is_said_so(tmp_path: Path) -> None:
    """A file is where each directory would be."""
    (tmp_path / "state").write_text("")
    (tmp_path / ".proctor").write_text("")

    ran = proctor("history", "path", cwd=tmp_path, environ=environ(tmp_path))

    assert ran.code in (0, 2)  # root may write everywhere
    assert (ran.code == 2) == ("can be kept nowhere" in ran.err)


def test_the_history_has_a_page(made: Path) -> None:
    ran = history(made, "--format", "html", "-o", "state/history.html")
    root = parsed((made / "state/history.html").read_bytes())
    outcomes = [shown(bar) for bar in by_id(root, "outcomes").iter("g")]

    assert (ran.code, ran.out) == (0, "")
    assert len(outcomes) == len(answer(made)["runs"])
    assert "1 failed" in outcomes[1]
    assert "-k 'env or TestX'" in shown(by_id(root, "runs"))
    assert history(made, "--format", "html", "--limit", "1").out.count("<g>") == 2


def test_the_page_of_a_history_names_slow_tests(made: Path, tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    report.write_text('<testsuite name="s"><testcase classname="c" name="slow" time="2.5"/></testsuite>')
    assert history(made, "import", str(report), state="imported").code == 0
    page = parsed(history(made, "--format", "html", state="imported").out.encode())

    assert "slow 2.50s" in shown(by_id(page, "list-1"))


def test_a_run_and_its_document_name_what_was_checked_out(made: Path) -> None:
    git(made, "checkout", "-q", "feature")  # other tests may have left another one
    ran = run(made)

    assert ran.document["checkout"]["branch"] == "feature"
    assert len(ran.document["checkout"]["commit"]) == 40


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["-o", "x.html"], "-o FILE needs --format html"),
        (["--format", "html", "--flaky"], "--format html shows the whole history"),
        (["--format", "html", "test_env"], "--format html shows the whole history"),
        (["--format", "html", "-o", "nowhere/x.html"], "nowhere/x.html could not be written"),
    ],
)
def test_what_a_page_of_the_history_cannot_be_is_refused(made: Path, arguments: list[str], why: str) -> None:
    ran = history(made, *arguments)

    assert ran.code in (3, 4)
    assert why in ran.err

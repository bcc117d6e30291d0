"""What real runs of a real repository say of earlier ones, and that everything that shows them repeats it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support.mcp_client import talk
from support.projects import clean_environment, proctor, run_suite, write_project

from proctor.render.tokens import estimate

FIXED = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
MOST_ADDED = 12  # tokens, where all failures have one word
TESTS = """
    def test_one():
        assert ONE

    def test_two():
        assert TWO

    def test_three():
        pass
    """


class Repository:
    """A project of three tests, two of which do what they are told."""

    def __init__(self, root: Path) -> None:
        self.root = write_project(root, {".gitignore": ".*\n__pycache__\n"})
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "core.hooksPath=/dev/null")
        done = subprocess.run(
            ["git", *who, *arguments],
            cwd=self.root,
            env=clean_environment(**FIXED),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout.strip()

    def write(self, one: bool, two: bool) -> None:
        write_project(self.root, {"test_a.py": TESTS.replace("ONE", str(one)).replace("TWO", str(two))})

    def commit(self, one: bool, two: bool) -> str:
        self.write(one, two)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "change")
        return self.git("rev-parse", "HEAD")[:7]

    def run(self, *arguments: str) -> str:
        return run_suite(self.root, "--format", "agent", *arguments).out


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Repository(tmp_path / "project")


def test_a_change_is_told_from_what_failed_before(project: Repository) -> None:
    first = project.commit(one=True, two=False)
    assert project.run().startswith("1 failed 2 passed\n")
    assert project.run().startswith(f"1 failed 2 passed, still failing since {first}\n")

    project.write(one=False, two=False)
    changed = project.run()
    assert changed.splitlines() == [
        "2 failed 1 passed, 1 new",
        "test_a.py",
        "::test_one :2 [new] assert False",
        f"::test_two :5 [still since {first}] assert False",
    ]
    assert project.run().startswith(f"2 failed 1 passed, all failing since {first}-dirty or before\n")

    project.commit(one=True, two=True)
    assert project.run() == "3 passed, 2 fixed\n"
    project.commit(one=False, two=False)
    assert project.run().startswith("2 failed 1 passed, all new\n")


def test_one_word_for_all_failures_costs_few_tokens(project: Repository) -> None:
    project.commit(one=True, two=True)
    project.run()
    project.commit(one=False, two=False)
    plain = estimate(project.run("--no-history"))

    new, still = project.run(), project.run()

    assert "all new" in new and "all failing since" in still
    assert estimate(new) - plain <= MOST_ADDED
    assert estimate(still) - plain <= MOST_ADDED


def test_a_test_that_comes_and_goes_is_flaky(project: Repository) -> None:
    project.commit(one=True, two=True)
    write_project(
        project.root,
        {"test_b.py": "import os\ndef test_moody():\n    assert not os.environ.get('MOOD')\n"},
    )
    asked = ("--format", "agent", "test_b.py")
    run_suite(project.root, *asked)

    bad = run_suite(project.root, *asked, MOOD="bad").out

    assert bad.startswith("1 failed, flaky: 1 of 2\n")


def test_whatever_shows_the_run_again_repeats_it(project: Repository) -> None:
    first = project.commit(one=True, two=False)
    project.run()
    project.write(one=False, two=True)
    said = project.run("-o", f"json={project.root}/.result.json")
    assert said.startswith("1 failed 2 passed, new, 1 fixed\n")
    project.run("test_a.py::test_two")  # another run, which changes nothing about the one before

    def shown(*arguments: str) -> str:
        return proctor("show", *arguments, cwd=project.root).out

    runs = sorted((project.root / ".proctor" / "runs").iterdir())
    assert shown(runs[1].name, "--format", "agent") == said
    assert shown(".result.json", "--format", "agent").startswith("1 failed 2 passed, new, 1 fixed\n")
    assert "history: new\n" in shown(runs[1].name, "--test", "test_a.py::test_one")
    human = shown(runs[1].name, "--format", "human")
    assert "\nFAILED new test_a.py::test_one :2 assert False\nfixed test_a.py::test_two\n" in human
    assert human.endswith("s, new, 1 fixed\n")
    assert "| FAILED | `test_a.py::test_one` | new | `test_a.py:2` |" in summary_of(project, runs[1].name)
    assert shown(runs[0].name, "--format", "agent").startswith("1 failed 2 passed\n")
    with talk(project.root) as client:
        document = client.document("get_run", run_id=runs[1].name)
        assert document["compared_with"] == {"run_id": runs[0].name, "commit": first}
        assert document["fixed"] == ["test_a.py::test_two"]
        assert [test["history"] for test in document["tests"]] == [{"word": "new"}]
        test = client.document("get_test", run_id=runs[1].name, node_id="test_a.py::test_one")
        assert test["test"]["history"]["word"] == "new"
    whole = json.loads((runs[1] / "result.json").read_text())
    assert whole["fixed"] == ["test_a.py::test_two"]


def summary_of(project: Repository, run: str) -> str:
    summary = project.root / ".summary.md"
    environ = clean_environment(GITHUB_STEP_SUMMARY=str(summary))
    proctor("show", run, "--format", "github", cwd=project.root, environ=environ)
    return summary.read_text()

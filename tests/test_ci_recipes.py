"""The recipes of docs/how-to/ci.md: their commands are run, and the reports that they name are valid."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from lxml import etree
from support.junit import assert_valid
from support.junit import junit_schema as junit_schema
from support.projects import GUARD, clean_environment, command, proctor, project_python, write_project

PAGE = (Path(__file__).parents[1] / "docs/how-to/ci.md").read_text()
BLOCKS = re.findall(r"^```(?:yaml|groovy)\n(.*?)^```", PAGE, re.M | re.S)
BROKEN_BY_A_VARIABLE = "import os\ndef test_a(): assert 'BAD' not in os.environ\n"
COMMANDS = sorted({found for block in BLOCKS for found in re.findall(r"proctor (run [^'\n]+)", block)})


def test_there_is_a_command_in_each_recipe() -> None:
    assert len([block for block in BLOCKS if "proctor run" in block]) == len(BLOCKS) == 6


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_of_a_recipe_writes_the_report_that_it_names(
    tmp_path: Path, junit_schema: etree.XMLSchema, line: str
) -> None:
    write_project(tmp_path, {"tests/test_a.py": "def test_a(): assert 0\n"})
    words = shlex.split(line.replace("$$BUILDKITE_JOB_ID", "7"))

    ran = proctor(*words, "--python", project_python(), cwd=tmp_path, environ=clean_environment(CI="true"))

    assert ran.code == 1, ran.err
    (report,) = tmp_path.glob("junit*.xml")
    root = assert_valid(junit_schema, report.read_bytes())
    assert root.get("failures") == "1"


def test_the_recipes_give_steps_that_run_after_a_failure() -> None:
    for words in (
        "if: always()",
        "when: always",
        "post {",
        "succeededOrFailed()",
        "continue_on_failure: true",
    ):
        assert words in PAGE


def test_the_history_is_kept_where_the_cache_of_a_recipe_looks(tmp_path: Path) -> None:
    """Their shell commands, in a clone whose HEAD names no branch, as CI has it: the second job compares."""
    page = (Path(__file__).parents[1] / "docs/reference/history.md").read_text()
    github, gitlab = re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    assert github.count("path: .proctor/state") == 2
    assert "- uses: actions/cache/save@v4\n        if: always()" in github
    assert "when: always\n    paths:\n      - .proctor/state" in gitlab
    assert "XDG_STATE_HOME: ${{ github.workspace }}/.proctor/state\n" in github
    assert "XDG_STATE_HOME: $CI_PROJECT_DIR/.proctor/state\n" in gitlab
    of_github = re.search(r"- run: \|\n((?: {10}.*\n)+)", github)
    of_gitlab = re.search(r"script:\n    - .*\n((?:    - .*\n)+)", gitlab)
    assert of_github
    assert of_gitlab
    scripts = {
        "github": ("$PWD/.proctor/state", of_github[1]),
        "gitlab": ("$CI_PROJECT_DIR/.proctor/state", of_gitlab[1].replace("    - ", "")),
    }
    for service, (state, script) in scripts.items():
        root = write_project(tmp_path / service, {"tests/test_a.py": BROKEN_BY_A_VARIABLE})
        for words in (
            ("init", "-q"),
            ("add", "-A"),
            ("commit", "-q", "-m", "one"),
            ("checkout", "-q", "--detach"),
        ):
            git(root, *words)
        variables = {"CI": "true", "GITHUB_REF_NAME": "feature", "PYTHON": project_python()}
        variables |= {
            "CI_PROJECT_DIR": str(root),
            "CI_COMMIT_REF_NAME": "feature",
            "CI_DEFAULT_BRANCH": "main",
        }
        script = script.replace("proctor run", f"{shlex.join(command('run'))} --python $PYTHON")
        told = []
        for bad in ({}, {"BAD": "1"}):
            environ = clean_environment(**variables, **bad)
            environ.pop("XDG_STATE_HOME")
            ran = subprocess.run(
                ("sh", "-c", f'XDG_STATE_HOME="{state}"; export XDG_STATE_HOME; {script}'),
                cwd=root, env=environ, capture_output=True, timeout=GUARD, check=False,
            )  # fmt: skip
            told.append(ran.returncode)
        assert told == [0, 1], ran.stderr
        assert list((root / ".proctor/state/proctor").glob("*.sqlite"))
        kept = proctor(
            *("history", "--format", "json"),
            cwd=root,
            environ=clean_environment(XDG_STATE_HOME=str(root / ".proctor/state")),
        )
        assert [run["branch"] for run in kept.document["runs"]] == ["feature", "feature"]
        shown = proctor("show", "last", "--format", "events", cwd=root)
        assert '"word":"new"' in shown.out


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    subprocess.run(("git", *who, *words), cwd=root, check=True, capture_output=True, timeout=GUARD)


def test_every_link_leads_somewhere() -> None:
    headings = {
        re.sub(r"[^a-z0-9 -]", "", line.lower()).strip().replace(" ", "-")
        for line in re.findall(r"^#+ (.+)$", PAGE, re.M)
    }
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        if target.startswith("#"):
            assert target[1:] in headings
        elif not target.startswith("http"):
            assert (Path(__file__).parents[1] / "docs/how-to" / target.partition("#")[0]).exists()

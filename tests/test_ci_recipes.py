"""The recipes of docs/how-to/ci.md: their commands are run, and the reports that they name are valid."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from lxml import etree
from support.junit import assert_valid
from support.junit import junit_schema as junit_schema
from support.projects import clean_environment, proctor, project_python, write_project

PAGE = (Path(__file__).parents[1] / "docs/how-to/ci.md").read_text()
BLOCKS = re.findall(r"^```(?:yaml|groovy)\n(.*?)^```", PAGE, re.M | re.S)
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

"""What looks like a credential does not leave the server, in neither half, unless the project says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.mcp_client import Talk, talk, text_of
from support.projects import write_project

from proctor.describe import Description
from proctor.errors import UsageError
from proctor.mcp_server import replies

SECRET = "hunter2-and-more"
TEST = f"test_a.py::test_login[password='{SECRET}']"
FILES = {
    "test_a.py": f"""
        import logging, sys, warnings

        import pytest

        @pytest.mark.parametrize("value", [1], ids=["password='{SECRET}'"])
        def test_login(value):
            print("password: {SECRET}1")
            logging.getLogger().warning("api_key='{SECRET}'")
            warnings.warn("secret={SECRET}")
            assert {{"password": "{SECRET}"}} == {{}}

        def test_reports(proctor_report):
            proctor_report(password="{SECRET}")
            proctor_report("fail", "part", note="password={SECRET}")
    """,
    "pytest.ini": "[pytest]\naddopts = --continue-on-collection-errors\n",
    "test_b.py": f"raise ValueError('postgres://me:{SECRET}@db/x')",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    write_project(home / "masked", FILES)
    write_project(home / "shown", {**FILES, "proctor.toml": "mask_secrets = false\n"})
    return home


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Talk]:
    with talk(home) as talking:
        yield talking


def calls(server: Talk, project: str) -> dict[str, str]:
    """Everything that can be had about a run, each as one text."""
    run = server.call("execute_tests", project=project)
    run_id = run.structured_content["run_id"]
    found = {"execute_tests": run}
    for detail in ("summary", "full"):
        found[detail] = server.call("execute_tests", project=project, detail=detail)
    for part in ("failures", "tests", "output", "json_report", "files"):
        found[part] = server.call("get_run", run_id=run_id, select=part, budget=20_000)
    for test in (TEST, "test_a.py::test_reports", "test_a.py::test_reports/part"):
        found[test] = server.call("get_test", run_id=run_id, node_id=test, budget=20_000)
    found["discover_tests"] = server.call("discover_tests", project=project)
    texts = {name: text_of(one) + json.dumps(one.structured_content) for name, one in found.items()}
    for part in ("result.json", "output.txt", "tests/0", "tests/1"):
        (read,) = server.do(server.client.read_resource(f"proctor://runs/{run_id}/{part}")).contents
        texts[part] = read.text
    return texts


def test_no_answer_tells_a_secret_and_ids_stay_as_they_are(server: Talk) -> None:
    parameter = f"password='{SECRET}'"  # of an id, and so a keyword of its test
    for name, text in calls(server, "masked").items():
        rest = text.replace(f"[{parameter}]", "").replace(f'"{parameter}"', "")
        assert SECRET not in rest, name
    assert server.document("execute_tests", project="masked", detail="summary")["failing"][1] == TEST


def test_a_project_can_have_them_shown(server: Talk) -> None:
    found = calls(server, "shown")

    assert all(SECRET in text for name, text in found.items() if name not in ("summary", "files", "tests/1"))
    assert "***" not in found["full"]


def test_what_is_kept_on_disk_is_what_the_test_said(server: Talk, home: Path) -> None:
    run_id = server.document("execute_tests", project="masked")["run_id"]
    kept = (home / "masked" / ".proctor" / "runs" / run_id / "output.txt").read_text()

    assert f"password: {SECRET}1" in kept


def test_the_description_of_a_project_tells_no_secret() -> None:
    words = f"no module named 'x' at https://me:{SECRET}@index/simple"
    about = Description(
        Path("/project"),
        ("pytest",),
        ["lint"],
        ["tests"],
        [words],
        notices=(words,),
        problem=UsageError(words),
    )

    told = replies.described(about, mask=True)

    assert SECRET not in told.text + json.dumps(told.document)
    assert SECRET in replies.described(about, mask=False).text

"""What a client is told before it calls anything, and what it may say; in both eras of the protocol."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, Tool
from support.mcp_client import Talk, stdio, talk, text_of
from support.projects import GUARD, proctor, project_python, write_project

from proctor.render.tokens import estimate

FILES = {
    "test_a.py": """
        import pytest

        @pytest.mark.slow
        def test_good(): print("said by good")

        def test_bad():
            print("said by bad")
            assert [1, 2] == [1, 3]

        def test_also_bad(): assert 0
    """,
    "pytest.ini": """
        [pytest]
        testpaths = test_a.py
        markers =
            slow: takes its time
    """,
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_project(tmp_path_factory.mktemp("project"), FILES)


@pytest.fixture(scope="module")
def server(project: Path) -> Iterator[Talk]:
    with talk(project) as talking:
        yield talking


@pytest.fixture(scope="module", params=["2026-07-28", "2025-11-25"])
def of_each_era(request: pytest.FixtureRequest, server: Talk, project: Path) -> Iterator[Talk]:
    if request.param == "2026-07-28":
        yield server
    else:
        with talk(project, mode="legacy") as talking:
            assert talking.client.protocol_version == request.param
            yield talking


def test_each_era_is_spoken_with_in_its_own_version(server: Talk, project: Path, run_id: str) -> None:
    assert server.client.protocol_version == "2026-07-28"
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        answers = spoken(
            project,
            ("initialize", {**HELLO, "protocolVersion": version}),
            ("tools/list", {}),
            ("tools/call", {"name": "get_run", "arguments": {"run_id": run_id}}),
            ("resources/templates/list", {}),
        )
        hello, tools, called, templates = answers

        assert hello["protocolVersion"] == version
        assert hello["serverInfo"]["name"] == "proctor"
        assert len(tools["tools"]) == 8
        assert [block["type"] for block in called["content"]] == ["text"]
        assert called["content"][0]["text"].startswith("2 failed 1 passed\n")
        assert called["structuredContent"]["outcome"] == "failed"
        assert len(templates["resourceTemplates"]) == 3


def test_a_version_that_nobody_knows_is_answered_with_one_that_we_know(project: Path) -> None:
    (hello,) = spoken(project, ("initialize", {**HELLO, "protocolVersion": "1999-01-01"}))

    assert hello["protocolVersion"] == "2025-11-25"


HELLO = {"capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}


def spoken(project: Path, *requests: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What the server answers, line by line, without any SDK on this side."""
    server = stdio(project)
    process = subprocess.Popen(
        [server.command, *server.args],
        env=server.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    answers = []
    try:
        for number, (method, params) in enumerate(requests):
            say(process, id=number, method=method, params=params)
            answers.append(json.loads(process.stdout.readline())["result"])
            if not number:
                say(process, method="notifications/initialized")
        process.stdin.close()
        assert process.wait(GUARD) == 0
    finally:
        process.kill()
        process.stdout.close()
    return answers


def say(process: subprocess.Popen[str], **message: Any) -> None:
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


@pytest.fixture(scope="module")
def run_id(server: Talk) -> str:
    return server.document("execute_tests")["run_id"]


def schemas(server: Talk) -> dict[str, Tool]:
    return {tool.name: tool for tool in server.do(server.client.list_tools()).tools}


def test_the_list_of_tools_is_short_and_says_what_they_do(of_each_era: Talk) -> None:
    listed = of_each_era.do(of_each_era.client.list_tools())

    assert [tool.name for tool in listed.tools] == [
        "execute_tests",
        "discover_tests",
        "get_run",
        "get_test",
        "get_history",
        "compare_runs",
        "cancel_run",
        "describe_project",
    ]
    text = listed.model_dump_json(by_alias=True, exclude_none=True)
    assert len(text.encode()) <= 12_000
    assert estimate(text) <= 3000
    for tool in listed.tools:
        assert tool.input_schema["additionalProperties"] is False
        assert tool.annotations.open_world_hint is False
    hints = {tool.name: tool.annotations.read_only_hint for tool in listed.tools}
    assert [name for name, reads_only in hints.items() if not reads_only] == [
        "execute_tests",
        "discover_tests",
        "cancel_run",
    ]
    assert len(of_each_era.client.instructions.splitlines()) == 5


@pytest.mark.parametrize(
    "tool, arguments, words",
    [
        ("execute_tests", {"targts": ["a"]}, ["targts: no such argument; did you mean targets?"]),
        ("execute_tests", {"targets": {"a": 1}}, ["targets: ", "valid list"]),
        ("execute_tests", {"targets": [1]}, ["targets[0]: "]),
        ("execute_tests", {"failfast": "yes"}, ["failfast: "]),
        ("execute_tests", {"failfast": True, "maxfail": 2}, ["maxfail: "]),
        ("get_test", {"run_id": "last", "node_id": "a", "part": "some"}, ["part: ", "'difference'"]),
        ("execute_tests", {"budget": 199}, ["budget: ", "200"]),
        ("execute_tests", {"wait": -1, "timeout": 0}, ["wait: ", "timeout: "]),
        ("execute_tests", {"workers": "many"}, ["workers: "]),
        ("execute_tests", {"keywords": "x" * 5000}, ["keywords: ", "4096"]),
        ("execute_tests", {"targets": ["test_a.py"] * 10_001}, ["targets: ", "10000"]),
        ("execute_tests", {"keywords": "a\0--pdb"}, ["keywords: contains NUL"]),
        ("execute_tests", {"project": "a\0b"}, ["project: contains NUL"]),
        ("get_test", {"run_id": "last", "node_id": "a\0b"}, ["node_id: contains NUL"]),
        ("execute_tests", {"runner": "ruby"}, ["runner: ", "pytest, unittest, command"]),
        ("execute_tests", {"project": ".."}, ["project: ", "outside"]),
        ("execute_tests", {"project": "nowhere"}, ["project: ", "no such directory"]),
        ("execute_tests", {"python": "/bin/sh"}, ["python: ", "no interpreter of this project"]),
        ("get_run", {"run_id": ""}, ["run_id: is required"]),
        ("get_run", {"run_id": "../../etc"}, ["run_id: "]),
        ("get_run", {"run_id": "20000101-000000-aaaaaa"}, ["run_id: "]),
        ("get_test", {"run_id": "last"}, ["node_id: is required"]),
        ("get_history", {"node_id": "a", "select": "slow"}, ["node_id: not expected with select=slow"]),
        ("get_history", {"project": ".."}, ["project: ", "outside"]),
        ("get_history", {"node_id": "test_bda"}, ["no test 'test_bda'", "test_a.py::test_bad"]),
        ("compare_runs", {"a": "last"}, ["b: is required"]),
        ("compare_runs", {"a": "last", "b": "20000101-000000-aaaaaa"}, ["run_id: "]),
        ("compare_runs", {"a": "/etc", "b": "last"}, ["a: "]),
        ("cancel_run", {"run_id": "20000101-000000-aaaaaa"}, ["run_id: ", "not a run under way"]),
        ("describe_project", {"project": "/"}, ["project: ", "outside"]),
        ("run_tests", {}, ["no tool 'run_tests'", "execute_tests"]),
    ],
)
def test_a_bad_argument_is_refused_by_its_name(
    server: Talk, run_id: str, tool: str, arguments: dict[str, Any], words: list[str]
) -> None:
    said = server.refusal(tool, **arguments)

    assert all(word in said for word in words), said
    assert len(said) < 2100


def test_every_answer_keeps_to_the_schema_that_was_published(server: Talk, run_id: str) -> None:
    calls = [("execute_tests", {"detail": detail}) for detail in ("summary", "failures", "full")] + [
        ("discover_tests", {}),
        ("get_test", {"run_id": run_id, "node_id": "test_a.py::test_bad"}),
        ("describe_project", {}),
        ("get_history", {"node_id": "test_bad"}),
        ("get_history", {}),
        ("get_history", {"select": "flaky"}),
        ("get_history", {"select": "slow"}),
        ("compare_runs", {"a": run_id, "b": "last"}),
        *(("get_run", {"run_id": run_id, "select": part}) for part in ("failures", "tests", "output")),
        *(("get_run", {"run_id": run_id, "select": part}) for part in ("json_report", "files")),
    ]
    published = schemas(server)
    for tool, arguments in calls:
        jsonschema.validate(server.document(tool, **arguments), published[tool].output_schema)


def test_the_whole_document_is_the_one_in_the_archive(of_each_era: Talk) -> None:
    document = of_each_era.document("execute_tests", detail="full")

    uri = f"proctor://runs/{document['run_id']}/result.json"
    (kept,) = of_each_era.do(of_each_era.client.read_resource(uri)).contents
    assert {"text": document["text"], **json.loads(kept.text)} == document
    assert next(iter(document)) == "text"
    assert [test["outcome"] for test in document["tests"]] == ["passed", "failed", "failed"]
    assert document["json_report"]["summary"] == {"passed": 1, "failed": 2, "total": 3, "collected": 3}
    assert "said by bad" in document["text_output"]
    assert document["omitted"] == {}


def test_failures_are_told_in_both_halves(server: Talk, run_id: str) -> None:
    result = server.call("get_run", run_id=run_id)

    document = result.structured_content
    assert document["outcome"] == "failed"
    assert document["exit_code"] == 1
    assert [test["node_id"] for test in document["tests"]] == [
        "test_a.py::test_bad",
        "test_a.py::test_also_bad",
    ]
    assert document["text"] == text_of(result)
    assert document["tests"][0]["message"] == "assert [1, 2] == [1, 3]"
    assert document["tests"][0]["place"] == "test_a.py:8"
    assert document["omitted"]["passed"] == 1
    assert "traceback" in document["omitted"]["fields"]
    assert text_of(result).startswith("2 failed 1 passed\n")
    assert "::test_bad :8 assert [1, 2] == [1, 3]" in text_of(result)


def test_a_summary_is_the_counts_and_the_ids(of_each_era: Talk) -> None:
    result = of_each_era.call("execute_tests", detail="summary")

    assert result.structured_content["failing"] == ["test_a.py::test_bad", "test_a.py::test_also_bad"]
    assert result.structured_content["summary"]["passed"] == 1
    assert result.structured_content["text"] == text_of(result)
    assert text_of(result).startswith("2 failed 1 passed")


@pytest.mark.parametrize(
    "arguments, outcomes",
    [
        ({"targets": ["test_a.py::test_good"]}, (1, 0, 0)),
        ({"keywords": "bad and not also"}, (0, 1, 2)),
        ({"markers": "slow"}, (1, 0, 2)),
        ({"failfast": True}, (1, 1, 0)),
        ({"maxfail": 2}, (1, 2, 0)),
        ({"workers": 2}, (1, 2, 0)),
        ({"keywords": "", "runner": "", "python": ""}, (1, 2, 0)),
    ],
)
def test_a_selection_does_what_it_says(
    server: Talk, arguments: dict[str, Any], outcomes: tuple[int, ...]
) -> None:
    counts = server.document("execute_tests", **arguments)["summary"]

    assert (counts["passed"], counts["failed"], counts["deselected"]) == outcomes


def test_what_failed_last_can_be_run_again(server: Talk) -> None:
    server.document("execute_tests")
    document = server.document("execute_tests", last_failed=True)

    assert document["summary"]["failed"] == document["summary"]["total"] == 2
    assert "no recorded failures" not in document["text"]


def test_with_no_failures_on_record_everything_runs_and_that_is_said(server: Talk, project: Path) -> None:
    write_project(project / "clean", {"test_clean.py": "def test_clean(): pass"})
    result = server.call("execute_tests", project="clean", last_failed=True)

    assert result.structured_content["outcome"] == "passed"
    assert "no recorded failures" in text_of(result)
    whole = server.document("get_run", run_id=result.structured_content["run_id"], detail="full")
    assert whole["notices"] == ["no recorded failures: all tests run"]


def test_tests_are_listed_a_page_at_a_time(server: Talk) -> None:
    whole = server.document("discover_tests")
    second = server.document("discover_tests", offset=1, limit=1)

    assert whole["total"] == second["total"] == 3
    assert [test["node_id"] for test in whole["tests"]] == [
        "test_a.py::test_good",
        "test_a.py::test_bad",
        "test_a.py::test_also_bad",
    ]
    assert whole["tests"][0] == {"node_id": "test_a.py::test_good", "line": 3, "markers": ["slow"]}
    assert second["tests"] == whole["tests"][1:2]
    assert server.document("discover_tests", markers="slow")["total"] == 1


def test_a_list_of_tests_is_narrowed_as_a_run_is(server: Talk) -> None:
    def total(**arguments: str | list[str]) -> int:
        return server.document("discover_tests", **arguments)["total"]

    assert total(targets=["test_a.py::test_good"]) == 1
    assert total(keywords="bad") == 2
    assert total(runner="pytest", python=project_python(), project=".") == 3


def test_a_list_of_tests_keeps_to_its_budget_and_says_how_to_go_on(server: Talk, project: Path) -> None:
    body = "import pytest\n@pytest.mark.parametrize('n', range(300))\ndef test_n(n): pass\n"
    write_project(project / "many", {"test_many.py": body})
    found: list[str] = []
    while True:
        page = server.document("discover_tests", project="many", budget=2000, offset=len(found))
        assert len(json.dumps(page)) / 3 <= 2000
        found += [test["node_id"] for test in page["tests"]]
        if not page["omitted"]:
            break

    assert found == [f"many/test_many.py::test_n[{number}]" for number in range(300)]


def test_a_run_is_read_part_by_part(server: Talk, run_id: str) -> None:
    first = server.document("get_run", run_id=run_id, select="tests", limit=2)
    rest = server.document("get_run", run_id=run_id, select="tests", offset=2)
    past = server.document("get_run", run_id=run_id, select="tests", offset=3)
    output = server.document("get_run", run_id=run_id, select="output", offset=5, limit=20)
    report = server.document("get_run", run_id=run_id, select="json_report", offset=1, limit=1)

    assert [len(page["tests"]) for page in (first, rest, past)] == [2, 1, 0]
    assert "offset=2" in first["omitted"]["call"]
    assert past["omitted"] == {}
    assert output["text_output"] == "=" * 20
    assert "offset=25" in output["omitted"]["call"]
    assert [test["nodeid"] for test in report["json_report"]["tests"]] == ["test_a.py::test_bad"]


def test_one_test_is_told_whole(server: Talk, run_id: str) -> None:
    result = server.call("get_test", run_id=run_id, node_id="test_a.py::test_bad")

    assert result.structured_content["captured"] == {"call": {"stdout": "said by bad\n"}}
    assert "assert [1, 2] == [1, 3]" in result.structured_content["test"]["traceback"]
    assert text_of(result).count("said by bad\n") == 1
    assert json.dumps(result.structured_content).count("said by bad\\n") == 1
    assert "test_a.py::test_bad" in server.refusal("get_test", run_id=run_id, node_id="test_ba")


def test_a_project_is_described(server: Talk) -> None:
    about = server.document("describe_project")

    assert about["runner"] == "pytest"
    assert about["markers"] == ["slow"]
    assert about["test_paths"] == ["test_a.py"]
    assert about["pytest"] == pytest.__version__
    assert about["problem"] is None


def test_resources_have_what_answers_leave_out(of_each_era: Talk, run_id: str) -> None:
    listed = of_each_era.do(of_each_era.client.list_resources()).resources
    templates = of_each_era.do(of_each_era.client.list_resource_templates()).resource_templates
    (output,) = of_each_era.do(
        of_each_era.client.read_resource(f"proctor://runs/{run_id}/output.txt")
    ).contents
    (test,) = of_each_era.do(of_each_era.client.read_resource(f"proctor://runs/{run_id}/tests/1")).contents

    assert all(resource.uri.endswith("/result.json") for resource in listed)
    assert 1 <= len(listed) <= 10
    assert len(templates) == 3
    assert "said by bad" in output.text
    assert json.loads(test.text)["test"]["node_id"] == "test_a.py::test_bad"
    for uri in ("proctor://runs/last/../../x", f"proctor://runs/{run_id}/tests/99", "file:///etc/passwd"):
        with pytest.raises(MCPError):
            of_each_era.do(of_each_era.client.read_resource(uri))


def test_running_tests_needs_nothing_of_the_protocol(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": "def test_a(): pass"})
    script = (
        "import sys; from proctor.cli.main import main\n"
        "code = main(['run', '--python', sys.executable])\n"
        "print(code, sorted({'mcp', 'mcp_types', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)

    assert done.stdout.splitlines()[-1] == "0 []", done.stderr


def test_without_the_sdk_there_is_a_clear_message(tmp_path: Path) -> None:
    script = (
        "import importlib.util as u, sys; find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'mcp' else find(name, *more)\n"
        "from proctor.cli.main import main; sys.exit(main(['mcp']))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)

    assert done.returncode == 4
    assert "pip install 'proctor[mcp]'" in done.stderr


def test_bad_options_are_refused(tmp_path: Path) -> None:
    for arguments in (["--max-runs", "0"], ["--root", "nowhere"]):
        assert proctor("mcp", *arguments, cwd=tmp_path).code == 4


def test_the_budget_of_the_project_applies_unless_a_call_gives_its_own(tmp_path: Path) -> None:
    failing = """
        import pytest

        @pytest.mark.parametrize("number", range(60))
        def test_number(number): assert number < 0, "a message that takes some room " * 5
    """
    root = write_project(tmp_path, {"test_a.py": failing, "proctor.toml": "budget = 300\n"})
    with talk(root) as server:
        small = server.call("execute_tests")
        run_id = small.structured_content["run_id"]
        again = server.call("get_run", run_id=run_id)
        large = server.call("execute_tests", budget=50_000)
        (root / "proctor.toml").write_text("budget = 7\n")
        refusal = server.refusal("execute_tests")

    def tokens(answer: CallToolResult) -> float:
        half = json.dumps(answer.structured_content, ensure_ascii=False)
        return max(len(text_of(answer).encode()), len(half.encode())) / 3

    assert tokens(small) <= 300
    assert tokens(again) <= 300
    assert tokens(large) > 3000
    assert "invalid budget 7" in refusal

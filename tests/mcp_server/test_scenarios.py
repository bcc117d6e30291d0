"""Whatever a project does, the answer is right, short, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import uuid
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.mcp_client import Talk, talk, text_of
from support.projects import GUARD, document_of, environment, interpreters, processes_with, write_project

import proctor

MARK = "PROCTOR_TEST_MARK"
PASSES = {"test_a.py": "def test_a(): pass"}
PROJECTS = {
    "green": {
        "test_many.py": """
            import pytest

            @pytest.mark.parametrize("number", range(500))
            def test_number(number): pass
        """
    },
    "kinds": {
        "test_a.py": """
            import pytest

            @pytest.fixture
            def broken(): raise RuntimeError("no fixture today")

            def test_good(): pass
            def test_bad(): assert 1 == 2
            @pytest.mark.skip(reason="not now")
            def test_skipped(): pass
            @pytest.mark.xfail
            def test_expected(): assert 0
            def test_error(broken): pass
        """
    },
    "uncollectable": {
        "test_a.py": "import nonexistent_a",
        "test_b.py": "def test_b(:",
        "test_c.py": "def test_c(): pass",
    },
    "empty": {"readme.txt": "no tests"},
    "segfault": {
        "test_a.py": """
            import ctypes

            def test_before(): pass
            def test_segfault(): ctypes.string_at(0)
            def test_after(): pass
        """
    },
    "exit": {
        "test_a.py": """
            import os

            def test_before(): pass
            def test_exit(): os._exit(0)
            def test_after(): pass
        """
    },
    "loud": {
        "test_a.py": """
            import sys

            def test_loud():
                for line in range(20_000):
                    print("x" * 50, line)
                assert 0

            def test_loud_with_a_long_message():
                assert "y" * 100_000 == "z" * 100_000
        """
    },
    "failing": {
        "test_many.py": """
            import pytest

            @pytest.mark.parametrize("number", range(500))
            def test_number(number):
                values = {"number": number, "square": number * number}
                assert number % 10, f"{values} is no good, whatever it was meant to be"
        """
    },
    "shell": {"test_a b;$(touch pwned).py": "def test_a(): pass"},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("projects")
    for name, files in PROJECTS.items():
        write_project(home / name, files)
    return home


@pytest.fixture(scope="module")
def mark() -> str:
    return uuid.uuid4().hex


@pytest.fixture(scope="module")
def server(home: Path, mark: str) -> Iterator[Talk]:
    marked: dict[str, Any] = {MARK: mark}
    with talk(home, "--no-warm", **marked) as talking:
        yield talking


@pytest.fixture(autouse=True)
def nothing_is_left(server: Talk, mark: str) -> Iterator[None]:
    yield
    assert len(processes_with(MARK, mark)) == 1  # the server


def size(text: str) -> float:
    return len(text.encode()) / 3


def weight(value: object) -> float:
    return size(json.dumps(value, ensure_ascii=False))


def test_a_green_run_is_short(server: Talk) -> None:
    result = server.call("execute_tests", project="green")

    assert text_of(result) == "500 passed\n"
    document = result.structured_content
    assert document["outcome"] == "passed"
    assert document["summary"]["passed"] == 500
    assert weight(document) <= 300
    assert f'get_run(run_id="{document["run_id"]}", detail="full")' in document["omitted"]["call"]


def test_each_kind_of_result_is_told(server: Talk) -> None:
    answer = server.document("execute_tests", project="kinds")
    document = server.document("get_run", run_id=answer["run_id"], offset=0)

    assert answer["outcome"] == document["outcome"] == "failed"
    assert [test["outcome"] for test in answer["tests"]][:2] == ["failed", "error"]
    assert {test["node_id"].split("::")[1]: test["outcome"] for test in document["tests"]} == {
        "test_bad": "failed",
        "test_skipped": "skipped",
        "test_expected": "xfailed",
        "test_error": "error",
    }
    messages = [test["message"] or "" for test in document["tests"]]
    assert any("not now" in message for message in messages)
    assert any("no fixture today" in message for message in messages)


def test_files_that_cannot_be_collected_do_not_hide_the_others(server: Talk) -> None:
    document = server.document("execute_tests", project="uncollectable")
    found = server.document("discover_tests", project="uncollectable")

    assert document["outcome"] == "collection_error"
    assert [error["file"] for error in document["collection_errors"]] == ["test_a.py", "test_b.py"]
    assert [test["node_id"] for test in found["tests"]] == ["test_c.py::test_c"]
    assert [error["file"] for error in found["collection_errors"]] == ["test_a.py", "test_b.py"]


def test_a_project_without_tests_says_so(server: Talk) -> None:
    result = server.call("execute_tests", project="empty")

    assert result.structured_content["outcome"] == "no_tests"
    assert text_of(result) == "no tests\n"


def test_the_newest_run_is_the_last_whatever_its_project(server: Talk) -> None:
    for project in ("empty", "kinds"):
        document = server.document("execute_tests", project=project)

        assert server.document("get_run", run_id="last")["run_id"] == document["run_id"]
    listed = server.do(server.client.list_resources()).resources
    assert f"proctor://runs/{document['run_id']}/result.json" in [resource.uri for resource in listed]


def test_an_id_that_is_not_there_is_an_error_that_names_it(server: Talk) -> None:
    assert "test_a.py::test_nope" in server.refusal(
        "execute_tests", project="kinds", targets=["test_a.py::test_nope"]
    )


def test_a_plugin_that_refuses_to_begin_is_an_error_that_says_why(server: Talk, home: Path) -> None:
    refuses = "import pytest\ndef pytest_sessionstart(): raise pytest.UsageError('no database')\n"
    write_project(home / "refuses", {"conftest.py": refuses, "test_a.py": "def test_x(): pass\n"})

    assert server.refusal("execute_tests", project="refuses") == "the run did not begin: no database"
    said = server.refusal("execute_tests", project="refuses", markers="slow")
    assert said == "targets, keywords or markers: no database"


@pytest.mark.parametrize("project, test", [("segfault", "test_segfault"), ("exit", "test_exit")])
def test_a_crash_names_its_test_and_costs_no_other(server: Talk, project: str, test: str) -> None:
    result = server.call("execute_tests", project=project)

    document = result.structured_content
    assert not result.is_error
    assert document["outcome"] == "crashed"
    assert document["current_test"] == f"test_a.py::{test}"
    assert document["restarts"] == 1
    assert text_of(result).startswith("CRASH")
    page = server.document("get_run", run_id=document["run_id"], select="tests", offset=1)
    assert [test["outcome"] for test in page["tests"]] == ["crash", "passed"]


def test_much_output_stays_within_the_budget_and_is_there_page_by_page(server: Talk) -> None:
    result = server.call("execute_tests", project="loud")
    document = result.structured_content
    run_id = document["run_id"]
    page = server.document("get_run", run_id=run_id, select="output", offset=1000, limit=5000)
    test = server.call("get_test", run_id=run_id, node_id="test_a.py::test_loud", budget=2000)

    assert document["outcome"] == "failed"
    assert weight(document) <= 6000
    assert size(text_of(result)) <= 6000
    assert len(document["tests"]) == 2
    assert len(page["text_output"]) == 5000
    assert weight(test.structured_content) <= 2000
    assert size(text_of(test)) <= 2000


@pytest.mark.parametrize("budget", [200, 500, 2000, 6000, 20_000])
def test_a_budget_is_kept_and_failing_ids_survive_longest(server: Talk, budget: int) -> None:
    result = server.call("execute_tests", project="failing", budget=budget)

    document = result.structured_content
    assert document["outcome"] == "failed"
    assert document["summary"]["failed"] == 50
    assert weight(document) <= budget
    assert size(text_of(result)) <= budget
    assert text_of(result).startswith("50 failed 450 passed")
    if budget >= 6000:
        assert len(document["tests"]) + document["omitted"].get("tests", 0) == 50
        assert all(f"[{number}]" in text_of(result) for number in range(0, 500, 10))
        assert "proctor show" not in text_of(result)
    elif budget <= 500:
        assert document["omitted"]


def test_every_id_can_be_had_within_a_small_budget(server: Talk) -> None:
    run_id = server.document("execute_tests", project="failing", detail="summary", budget=300)["run_id"]

    def all_ids(select: str) -> list[str]:
        ids: list[str] = []
        while page := server.document("get_run", run_id=run_id, select=select, offset=len(ids), budget=800):
            assert weight(page) <= 800
            ids += [test["node_id"] for test in page["tests"]]
            if not page["omitted"]:
                break
        return ids

    assert all_ids("tests") == [f"test_many.py::test_number[{number}]" for number in range(500)]
    assert all_ids("failures") == [f"test_many.py::test_number[{number}]" for number in range(0, 500, 10)]


def test_a_project_without_pytest_is_told_how_to_get_it(server: Talk, home: Path) -> None:
    venv.create(home / "kinds" / ".venv")
    said = server.refusal("execute_tests", project="kinds", python=".venv")

    assert "no pytest in" in said
    assert "install" in said
    assert ".venv" in " ".join(server.document("describe_project", project="kinds")["others"])


def test_a_project_runs_in_the_environment_that_was_named(tmp_path: Path) -> None:
    root = write_project(tmp_path, PASSES)
    venv.create(root / "own")
    (package,) = (root / "own" / "lib").glob("python*/site-packages")
    ours = [str(Path(module.__file__ or "").parent.parent) for module in (pytest, proctor)]
    (package / "this.pth").write_text("\n".join(ours))  # proctor too: pytest is told of its plugin there
    with talk(root, "--python", "own/bin/python") as server:
        document = server.document("execute_tests", detail="full")

    assert document["outcome"] == "passed"
    assert document["interpreter"] == str(root / "own" / "bin" / "python")


@pytest.mark.parametrize(
    "target",
    [
        "--pdb",
        "-pevil",
        "--basetemp=gone",
        "--rootdir=/",
        "@targets.txt",
        "test_a.py\0",
        "",
        "../green",
        "../green/test_many.py::test_number",
        "/etc/passwd",
        "out.py",
        "out/test_many.py",
        "nowhere.py",
        "test_a.py/../../green",
        "x[/../../green/test_many.py",
    ],
)
def test_a_target_that_is_none_or_leads_out_is_refused(server: Talk, home: Path, target: str) -> None:
    for link, to in (("out.py", "../green/test_many.py"), ("out", "../green")):
        if not os.path.lexists(home / "kinds" / link):
            os.symlink(to, home / "kinds" / link)
    (home / "kinds" / "gone").mkdir(exist_ok=True)
    before = runs_of(home / "kinds")

    said = server.refusal("execute_tests", project="kinds", targets=["test_a.py", target])
    assert said.startswith("targets[1]: ")
    assert server.refusal("discover_tests", project="kinds", targets=[target]).startswith("targets[0]: ")
    assert (home / "kinds" / "gone").is_dir()
    assert runs_of(home / "kinds") == before


def test_tests_behind_a_link_run_and_are_listed_but_cannot_be_named(tmp_path: Path) -> None:
    write_project(tmp_path, {"elsewhere/test_far.py": "def test_far(): assert 0"})
    root = write_project(tmp_path / "root", {"test_near.py": "def test_near(): pass"})
    (root / "test_link.py").symlink_to("../elsewhere/test_far.py")
    (root / "inside.py").symlink_to("test_near.py")
    link = "test_link.py::test_far"
    with talk(root) as server:
        assert server.document("execute_tests")["summary"]["total"] == 2
        assert link in {test["node_id"] for test in server.document("discover_tests")["tests"]}
        assert server.document("execute_tests", last_failed=True)["summary"]["total"] == 1
        for tool in ("execute_tests", "discover_tests"):
            for target in (link, "test_link.py"):
                assert "outside of the project, behind a link" in server.refusal(tool, targets=[target])
        assert server.document("execute_tests", targets=["inside.py"])["summary"]["passed"] == 1


def runs_of(project: Path) -> list[str]:
    return sorted(path.name for path in project.glob(".proctor/runs/*"))


@pytest.mark.parametrize("target", ["/bin/true", "../green", "/../green", "/../tool/tool.sh", "nowhere"])
def test_a_program_outside_of_the_project_is_refused(server: Talk, home: Path, target: str) -> None:
    write_project(home, {"tool/tool.sh": "#!/bin/sh\n"})
    (home / "tool" / "tool.sh").chmod(0o755)
    said = server.refusal("execute_tests", project="kinds", runner="command", targets=[target])

    assert said.startswith("targets[0]: ")


@pytest.mark.parametrize("name", ["keywords", "markers"])
def test_an_expression_cannot_become_an_option(server: Talk, home: Path, name: str) -> None:
    result = server.call("execute_tests", project="kinds", **{name: "--basetemp=gone"})

    assert result.is_error or result.structured_content["summary"]["total"] == 0
    assert (home / "kinds").is_dir()


def test_a_name_full_of_shell_is_a_name(server: Talk, home: Path) -> None:
    (name,) = PROJECTS["shell"]
    document = server.document("execute_tests", project="shell", targets=[name])

    assert document["outcome"] == "passed"
    assert sorted(os.listdir(home / "shell")) == sorted([name, ".proctor", *_caches(home / "shell")])


def _caches(root: Path) -> list[str]:
    return [name for name in os.listdir(root) if name in (".pytest_cache", "__pycache__")]


def test_many_targets_are_one_run(server: Talk) -> None:
    targets = [
        f"test_many.py::test_number[{number % 500}]" for number in range(10_000)
    ]  # more than a pipe holds
    document = server.document("execute_tests", project="green", targets=targets)

    assert document["outcome"] == "passed"
    assert document["summary"]["total"] == 500
    assert weight(document) <= 6000


def test_two_projects_at_once_do_not_mix(server: Talk) -> None:
    calls = [
        server.begin(server.client.call_tool("execute_tests", {"project": project}))
        for project in ("kinds", "exit", "empty", "kinds", "segfault", "empty", "exit", "kinds")
    ]

    assert [call.result().structured_content["outcome"] for call in calls] == [
        "failed",
        "crashed",
        "no_tests",
        "failed",
        "crashed",
        "no_tests",
        "crashed",
        "failed",
    ]


def test_a_run_that_cannot_be_kept_is_answered_all_the_same(tmp_path: Path) -> None:
    root = write_project(tmp_path, {**PROJECTS["kinds"], ".proctor": "in the way"})
    with talk(root, HOME="", XDG_CACHE_HOME="") as server:
        document = server.document("execute_tests")
        again = server.document("get_run", run_id=document["run_id"])

    assert document["outcome"] == again["outcome"] == "failed"
    assert [test["node_id"] for test in again["tests"]] == [test["node_id"] for test in document["tests"]]
    assert "not kept" in document["text"]


def test_programs_of_the_project_run_by_path_and_by_name(server: Talk, home: Path) -> None:
    root = write_project(home / "programs", {"checks/good.sh": "#!/bin/sh\nexit 0\n"})
    (root / "checks" / "good.sh").chmod(0o755)
    for target in ("checks/good.sh", "/checks/good.sh", "checks", str(root / "checks")):
        document = server.document("execute_tests", project="programs", runner="command", targets=[target])

        assert document["outcome"] == "passed"
        assert document["summary"]["total"] == 1


def test_several_kinds_of_tests_are_one_answer(server: Talk, home: Path) -> None:
    files = {
        "test_a.py": "def test_a(): pass\n",
        "t/a.t": "#!/bin/sh\nprintf '1..2\\nok 1 - one\\nnot ok 2 - two\\n'; exit 1\n",
        "proctor.toml": '[[tests]]\nname = "good"\ncommand = "true"\n',
    }
    write_project(home / "several", files)

    document = server.document("execute_tests", project="several")
    assert document["outcome"] == "failed"
    assert [test["node_id"] for test in document["tests"]] == ["t/a.t::two"]
    assert document["summary"]["total"] == 4
    alone = server.document("execute_tests", project="several", targets=["/good", "t/a.t::one"])
    assert alone["summary"]["total"] == 3
    again = server.document("execute_tests", project="several", last_failed=True)
    assert [test["node_id"] for test in again["tests"]] == ["t/a.t::two"]
    found = server.document("discover_tests", project="several")
    assert [test["node_id"] for test in found["tests"]] == ["test_a.py::test_a", "/good", "t/a.t"]
    assert server.document("execute_tests", project="several", runner="pytest")["summary"]["total"] == 1
    assert server.document("describe_project", project="several")["runners"] == ["pytest", "command", "tap"]


@pytest.fixture
def below(tmp_path: Path) -> Path:
    """A root with projects below it, one of them where nothing can be written."""
    write_project(tmp_path / "root" / "deep" / "one", PASSES)
    write_project(tmp_path / "root" / "two", {**PASSES, ".proctor": "in the way"})
    return tmp_path / "root"


def test_runs_of_projects_below_a_root_are_found_after_a_restart(below: Path, tmp_path: Path) -> None:
    cache: dict[str, Any] = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with talk(below, **cache) as first:
        ids = [first.document("execute_tests", project=name)["run_id"] for name in ("deep/one", "two")]
    with talk(below, **cache) as second:
        for run_id in ids:
            assert second.document("get_run", run_id=run_id)["outcome"] == "passed"
            assert second.document("get_test", run_id=run_id, node_id="test_a.py::test_a")["test"]
        assert second.document("get_run", run_id="last")["run_id"] in ids
        listed = second.do(second.client.list_resources()).resources
        later = document_of(below / "deep" / "one")["run_id"]
        assert second.document("get_run", run_id=later)["run_id"] == later

    assert {resource.name.removeprefix("run ") for resource in listed} == set(ids)


OTHERS = {"7.4.4": "3.11", "8.4.2": "3.12"}


@pytest.mark.parametrize("version", OTHERS)
def test_a_project_is_tested_with_its_own_pytest(tmp_path: Path, version: str) -> None:
    """In an environment of its own, which nobody has named."""
    python = OTHERS[version]
    if python not in interpreters():
        pytest.skip(f"no interpreter for Python {python}")
    made = environment(interpreters()[python], [f"pytest=={version}"])
    body = f"import pytest, sys\ndef test_it(): assert pytest.__version__ == '{version}', sys.prefix\n"
    root = write_project(tmp_path, {"test_a.py": body})
    (root / ".venv").symlink_to(os.path.dirname(os.path.dirname(made)))
    with talk(root, without_python=True) as server:
        about = server.document("describe_project")
        document = server.document("execute_tests", detail="full")

    assert about["pytest"] == version
    assert document["outcome"] == "passed"
    assert document["interpreter"] == str(root / ".venv" / "bin" / "python")


def test_an_environment_without_pytest_is_no_reason_to_look_elsewhere(tmp_path: Path) -> None:
    root = write_project(tmp_path, PASSES)
    venv.create(root / ".venv")
    with talk(root, without_python=True) as server:
        said = server.refusal("execute_tests")
        about = server.document("describe_project")

    assert f"no pytest in {root}/.venv" in said
    assert "install" in said
    assert about["pytest"] is None
    assert "no pytest" in about["problem"]


def test_nothing_of_the_project_is_touched_but_the_archive(tmp_path: Path) -> None:
    quiet = "[pytest]\naddopts = -p no:cacheprovider\n"
    root = write_project(tmp_path / "project", {**PROJECTS["kinds"], "pytest.ini": quiet})
    before = listed(tmp_path)
    with talk(root, PYTHONDONTWRITEBYTECODE="1") as server:
        run_id = server.document("execute_tests")["run_id"]
        server.document("discover_tests")
        server.document("get_run", run_id=run_id, select="output")
        server.document("get_test", run_id=run_id, node_id="test_a.py::test_bad")
        server.document("describe_project")

    assert runs_of(root) == [run_id]
    assert listed(tmp_path) == before


def listed(home: Path) -> dict[str, int]:
    """Every file and when it was written, without archives."""
    return {
        str(path): path.stat().st_mtime_ns
        for path in home.rglob("*")
        if ".proctor" not in path.parts and path.is_file()
    }


def test_very_much_output_is_answered_in_the_same_few_words(tmp_path: Path) -> None:
    body = """
        import os

        def test_loud(capfd):
            with capfd.disabled():
                for _ in range(128):  # MiB: more than the server needs for all else
                    os.write(1, b"x" * ((1 << 20) - 1) + b"\\n")
            assert 0
    """
    root = write_project(tmp_path, {"test_a.py": body})
    with talk(root) as server:
        result = server.call("execute_tests", budget=2000, wait=GUARD)
        document = result.structured_content
        page = server.document("get_run", run_id=document["run_id"], select="output", offset=1 << 26, limit=9)

    assert document["outcome"] == "failed"
    assert weight(document) <= 2000
    assert size(text_of(result)) <= 2000
    assert page["text_output"] == "x" * 9
    shutil.rmtree(root / ".proctor")

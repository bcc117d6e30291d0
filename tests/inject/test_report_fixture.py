"""The fixture `proctor_report`: what a pytest test says about its parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.inject import Version, each_version, plain
from support.projects import Ran, document_of, environment, interpreters, outcomes, run_suite, write_project

PARTS = """
    import os

    def test_parts(proctor_report, tmp_path):
        (tmp_path / "trace.log").write_text("hello")
        proctor_report("pass", "login/first", files=[tmp_path / "trace.log"], speed=3)
        proctor_report("fail", "login/second", note="too slow")
        proctor_report("warn", "later", partial=True)
        proctor_report("info", "later", lines=[1, 2])
        proctor_report(files={"own.txt": b"mine", "b/c": os.urandom(300000)}, browser="ff")

    def test_none(): pass
"""


def kept(root: Path, ran_document: dict[str, Any]) -> Path:
    return root / ".proctor" / "runs" / ran_document["run_id"]


def check(root: Path, found: dict[str, Any]) -> None:
    tests = {test["node_id"]: test for test in found["tests"]}
    test = "test_a.py::test_parts"
    assert outcomes(found) == {
        f"{test}/login/first": "passed",
        f"{test}/login/second": "failed",
        f"{test}/later": "info",
        test: "passed",
        "test_a.py::test_none": "passed",
    }
    assert found["outcome"] == "failed"
    assert tests[f"{test}/login/second"]["message"] == "too slow"
    assert tests[f"{test}/login/first"]["properties"] == {"speed": 3}
    assert tests[f"{test}/later"]["properties"] == {"lines": [1, 2]}
    assert tests[test]["properties"] == {"browser": "ff"}
    (log,) = tests[f"{test}/login/first"]["files"]
    assert (kept(root, found) / log["path"]).read_text() == "hello"
    own = {file["name"]: file["size"] for file in tests[test]["files"]}
    assert own == {"own.txt": 4, "b/c": 300000}
    assert [entry["nodeid"] for entry in found["json_report"]["tests"]] == [test, "test_a.py::test_none"]


def test_parts_and_files_are_in_the_document(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": PARTS})

    check(tmp_path, document_of(tmp_path))


def test_workers_pass_on_what_their_tests_report(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": PARTS})

    found = document_of(tmp_path, "-n", "1")

    check(tmp_path, found)


@pytest.mark.parametrize(("version", "pytest_version"), [("3.7", "6.2.5"), ("3.13", "9.2.0")])
def test_old_and_new_have_it(tmp_path: Path, version: str, pytest_version: str) -> None:
    if version not in interpreters():
        pytest.skip(f"no Python {version} here")
    python = environment(interpreters()[version], [f"pytest=={pytest_version}"])
    write_project(tmp_path, {"test_a.py": PARTS})

    check(tmp_path, document_of(tmp_path, python=python))


PLAIN = {
    "test_a.py": PARTS,
    "test_b.py": """
        import pytest

        @pytest.fixture
        def step(proctor_report): return lambda name: proctor_report("pass", name)

        def test_step(step): step("one")

        def test_wrong(proctor_report):
            with pytest.raises(ValueError, match="a status needs a name"):
                proctor_report("pass")
            with pytest.raises(FileNotFoundError):
                proctor_report("pass", "x", files=["nowhere"])
    """,
}


@pytest.mark.parametrize("environ", [{}, {"CLAUDECODE": "1"}], ids=["human", "agent"])
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["serial", "workers"])
@each_version
def test_without_proctor_nobody_hears_and_tests_go_on(
    tmp_path: Path, version: Version, workers: tuple[str, ...], environ: dict[str, str]
) -> None:
    """With the plugin that comes with proctor: a plain pytest in an environment that has it."""
    write_project(tmp_path, PLAIN)
    ran = plain(tmp_path, *workers, python=version.interpreter(), **environ)

    assert ran.code == 0, ran.out
    assert "4 passed" in ran.out
    assert not (tmp_path / ".proctor").exists()


def test_whoever_does_not_use_the_fixture_does_not_see_it(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": "def test_a(no_such_fixture): pass"})

    assert "proctor_report" not in plain(tmp_path).out
    assert "proctor_report" not in plain(tmp_path, "--fixtures").out


def test_parts_are_in_the_events_as_they_arrive_and_in_the_results(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": PARTS})
    lines = [json.loads(line) for line in run_suite(tmp_path, "--format", "events").out.splitlines()]
    labels = [line["label"] for line in lines if line["type"] in ("start", "test", "attachment")]

    assert labels[:4] == [
        "test_a.py::test_parts",
        "test_a.py::test_parts/login/first",
        "test_a.py::test_parts/login/first",
        "test_a.py::test_parts/login/second",
    ]
    results = [json.loads(line) for line in run_suite(tmp_path, "--format", "results").out.splitlines()]
    assert [line["test"] for line in results][:3] == [
        "test_a.py::test_parts/login/first",
        "test_a.py::test_parts/login/second",
        "test_a.py::test_parts/later",
    ]


def test_a_crash_keeps_what_was_reported_and_attached(tmp_path: Path) -> None:
    write_project(
        tmp_path,
        {
            "test_a.py": """
            import os
            def test_dies(proctor_report):
                proctor_report("pass", "done")
                proctor_report("error", "open", partial=True, step=1)
                proctor_report(files={"core.txt": b"all I know"})
                os.kill(os.getpid(), 11)
            """
        },
    )

    found = document_of(tmp_path)
    tests = {test["node_id"]: test for test in found["tests"]}

    assert outcomes(found) == {
        "test_a.py::test_dies/done": "passed",
        "test_a.py::test_dies/open": "error",
        "test_a.py::test_dies": "crash",
    }
    (file,) = tests["test_a.py::test_dies"]["files"]
    assert (kept(tmp_path, found) / file["path"]).read_bytes() == b"all I know"
    assert found["outcome"] == "crashed"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ('("good", "x")', "known: pass, fail"),
        ('("pass")', "a status needs a name"),
        ('("pass", "")', "not empty"),
        ('("pass", "x", proctor=1)', "is reserved"),
        ('("pass", "x", files=["nowhere"])', "nowhere"),
    ],
)
def test_a_wrong_call_fails_the_test_and_says_why(tmp_path: Path, call: str, said: str) -> None:
    write_project(tmp_path, {"test_a.py": f"def test_a(proctor_report): proctor_report{call}\n"})

    ran: Ran = run_suite(tmp_path, "--format", "agent")

    assert ran.code == 1
    assert said in ran.out


def test_a_part_does_not_stand_in_for_a_test_that_is_missing(tmp_path: Path) -> None:
    write_project(
        tmp_path,
        {
            "test_a.py": """
            import pytest
            def test_a(proctor_report): proctor_report("pass", "part")
            def test_b(): pytest.exit("enough", returncode=0)
            """
        },
    )

    assert document_of(tmp_path)["outcome"] == "incomplete"


def test_what_a_part_failed_at_is_run_again_with_its_test(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": PARTS})
    document_of(tmp_path)

    again = document_of(tmp_path, "--last-failed")

    assert "test_a.py::test_parts" in outcomes(again)
    assert "test_a.py::test_none" not in outcomes(again)

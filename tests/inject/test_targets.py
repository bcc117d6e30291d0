"""The id of each row of a failure index can be pasted as it stands, and runs that test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.inject import Version, each_version
from support.mcp_client import talk
from support.projects import Ran, document_of, outcomes, proctor, run_suite, write_project

from proctor.failure_row import CLOSE, OPEN

PROJECT = Path(__file__).parent.parent / "projects" / "failures"
TESTS = ("tests/test_names.py", "tests/test_subtests.py", "tests/test_unittest.py")
ODD = {
    "#first.py": "def test_first(): assert 0\n",
    "a|b/test_a.py": "def test_a(): assert 0\n",
    "test_raw.py": r"""
        import pytest

        @pytest.mark.parametrize("value", [r"a\\b", "a|b"], ids=str)
        def test_one(value): assert 0

        @pytest.mark.parametrize("value", ["x"], ids=["a [b]"])
        def test_bracket(value): assert 0
    """,
    "pytest.ini": "[pytest]\npython_files = *.py\n",
}


def pasted(text: str) -> list[str]:
    """The first fields of the rows, as a reader would copy them."""
    lines = text[text.rindex(f"{OPEN}\n") : text.rindex(CLOSE)].splitlines()[1:]
    return list(dict.fromkeys(line.split(" | ")[0] for line in lines))


def failing(root: Path, *arguments: str, python: str) -> Ran:
    return run_suite(root, "--format", "human", "--failure-summary", "on", *arguments, python=python)


@each_version
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "workers"])
def test_all_rows_together_run_what_they_name(
    tmp_path: Path, version: Version, workers: tuple[str, ...]
) -> None:
    python = version.interpreter()
    root = Path(shutil.copytree(PROJECT, tmp_path / "project"))
    first = failing(root, *TESTS, python=python)
    again = failing(root, *workers, *pasted(first.out), python=python)

    assert len(pasted(first.out)) == 11
    assert again.code == 1
    assert pasted(again.out) == pasted(first.out)


def test_each_row_alone_runs_its_test_and_no_other(tmp_path: Path) -> None:
    write_project(tmp_path, ODD)
    ran = run_suite(tmp_path, "--format", "human", "--failure-summary", "on")
    ids = pasted(ran.out)

    assert ids == [
        r"\#first.py::test_first",
        r"a\|b/test_a.py::test_a",
        r"test_raw.py::test_one[a\\\\\\\\b]",
        r"test_raw.py::test_one[a\|b]",
        "test_raw.py::test_bracket[a [b]]",
    ]
    for test in ids:
        assert list(outcomes(document_of(tmp_path, test)).values()) == ["failed"], test


def test_an_id_that_is_there_as_it_stands_is_never_taken_for_another(tmp_path: Path) -> None:
    body = r"""
        import pytest

        @pytest.mark.parametrize("value", [r"\|", "|"], ids=[r"\|", "|"])
        def test_bar(value): pass
    """
    write_project(tmp_path, {"test_a.py": body})
    names = list(outcomes(document_of(tmp_path)))

    for name in names:
        assert list(outcomes(document_of(tmp_path, name))) == [name]


def test_the_other_targets_choose_what_they_would_alone(tmp_path: Path) -> None:
    write_project(tmp_path, ODD)
    odd, plain = r"test_raw.py::test_one[a\|b]", "test_raw.py::test_bracket"

    assert len(outcomes(document_of(tmp_path, odd, "a|b"))) == 2
    assert len(outcomes(document_of(tmp_path, odd, plain))) == 2
    assert len(outcomes(document_of(tmp_path, odd, "."))) == 5
    assert len(outcomes(document_of(tmp_path, odd, plain, "-k", "bracket"))) == 1


def test_what_stands_for_nothing_is_refused_as_it_was_written(tmp_path: Path) -> None:
    write_project(tmp_path, ODD)
    ran = run_suite(tmp_path, "--format", "agent", r"test_raw.py::test_one[a\|c]")

    assert ran.code == 4
    assert r"not found: test_raw.py::test_one[a\|c]" in ran.out


def test_the_names_of_programs_too(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"a|b": "#!/bin/sh\nexit 1\n"})
    (root / "a|b").chmod(0o755)
    ran = proctor("run", "--runner", "command", "--format", "json", r"/a\|b", cwd=root)

    assert outcomes(ran.document) == {"/a|b": "failed"}


def test_an_agent_can_paste_them_too(tmp_path: Path) -> None:
    root = write_project(tmp_path, ODD)
    with talk(root) as server:
        for target in (r"test_raw.py::test_one[a\|b]", r"a\|b/test_a.py::test_a"):
            document = server.document("execute_tests", targets=[target])
            (test,) = document["tests"]
            told = server.document("get_test", run_id=document["run_id"], node_id=target)

            assert test["outcome"] == "failed"
            assert told["test"]["node_id"] == test["node_id"]
        assert server.document("discover_tests", targets=[r"\#first.py"])["total"] == 1
        for target in (r"..\|/x", r"\|" * 2000, r"a\u0000b", "\\"):
            assert "targets[0]" in server.refusal("execute_tests", targets=[target])

"""A module or package that skips itself counts as skipped, with its reason and its place, in every format."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from support.projects import (
    GUARD,
    clean_environment,
    document_of,
    outcomes,
    proctor,
    project_python,
    run_suite,
    write_project,
)

FILES = {
    "test_a.py": "def test_passes(): pass\n",
    "test_b.py": "import pytest\n\npytest.importorskip('no_such_module', reason='needs no_such_module')\n",
    "test_c.py": "import unittest\nraise unittest.SkipTest('their way')\n",
    "test_d.py": "import pytest\n\n\npytest.skip('not here\\nnor there', allow_module_level=True)\n",
    "pkg/__init__.py": "import pytest\npytest.skip('the whole package', allow_module_level=True)\n",
    "pkg/test_p.py": "def test_p(): pass\n",
    "sub/conftest.py": "import pytest\npytest.skip('by its conftest', allow_module_level=True)\n",
    "sub/test_s.py": "def test_s(): pass\n",
}
SKIPS = {
    "test_b.py": ("needs no_such_module", "test_b.py", 3),
    "test_c.py": ("their way", "test_c.py", 2),
    "test_d.py": ("not here\nnor there", "test_d.py", 4),
    "pkg/test_p.py": ("the whole package", "pkg/__init__.py", 2),
    "sub": ("by its conftest", "sub/conftest.py", 2),
}
ALL = {"test_a.py::test_passes": "passed"} | dict.fromkeys(SKIPS, "skipped")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_project(tmp_path_factory.mktemp("skips"), FILES)


@pytest.fixture(scope="module")
def told(root: Path) -> dict[str, Any]:
    return document_of(root)


def own(root: Path, *arguments: str) -> tuple[int, dict[str, int]]:
    """The exit code of pytest itself, and the counts of its last line."""
    command = [project_python(), "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments]
    ran = subprocess.run(
        command,
        cwd=root,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=False,
    )
    last = ran.stdout.strip().splitlines()[-1]
    return ran.returncode, {word: int(count) for count, word in re.findall(r"(\d+) (passed|skipped)", last)}


@pytest.mark.parametrize(
    "arguments",
    [[], ["-n2"], ["--doctest-modules"], ["test_b.py"], ["test_b.py", "-n2"], ["pkg"]],
    ids=" ".join,
)
def test_counts_and_exit_code_are_those_of_pytest_itself(root: Path, arguments: list[str]) -> None:
    ran = run_suite(root, "--format", "json", "--", *arguments)
    code, counts = own(root, *arguments)

    summary = ran.document["summary"]
    assert (ran.code, ran.document["exit_code"]) == (code, code)
    assert {word: summary[word] for word in ("passed", "skipped") if summary[word]} == counts


def test_each_has_an_entry_with_its_reason_and_place(told: dict[str, Any]) -> None:
    assert outcomes(told) == ALL
    skips = {test["node_id"]: test for test in told["tests"] if test["outcome"] == "skipped"}
    assert {
        name: (test["message"], test["place"]["file"], test["place"]["line"]) for name, test in skips.items()
    } == SKIPS


def test_the_report_of_json_report_is_what_that_plugin_writes(told: dict[str, Any]) -> None:
    report = told["json_report"]
    assert report["summary"] == {"passed": 1, "total": 1, "collected": 1}
    assert [test["nodeid"] for test in report["tests"]] == ["test_a.py::test_passes"]


@pytest.mark.parametrize("form", ["agent", "human", "github"])
def test_texts_count_them(root: Path, told: dict[str, Any], form: str) -> None:
    assert "1 passed 5 skipped" in proctor("show", told["run_id"], "--format", form, cwd=root).out


def test_a_people_text_gives_the_reasons(root: Path, told: dict[str, Any]) -> None:
    text = proctor("show", told["run_id"], "--format", "human", cwd=root).out
    assert all(f" 1x: {reason.partition(chr(10))[0]}\n" in text for reason, _, _ in SKIPS.values())


def test_junit_has_a_case_for_each_as_pytests_own_has(root: Path, told: dict[str, Any]) -> None:
    suite = ElementTree.fromstring(proctor("show", told["run_id"], "--format", "junit", cwd=root).out)[0]
    skipped = {case.get("name"): case.find("skipped") for case in suite if case.find("skipped") is not None}
    assert {name: found.get("message") for name, found in skipped.items() if found is not None} == {
        name.removesuffix(".py").replace("/", "."): reason for name, (reason, _, _) in SKIPS.items()
    }
    assert (suite.get("tests"), suite.get("skipped"), suite.get("errors")) == ("6", "5", "0")


@pytest.mark.parametrize("form", ["stream", "tap", "ctrf", "junit-full", "events"])
def test_reports_keep_them_when_they_are_read_again(
    root: Path, told: dict[str, Any], form: str, tmp_path: Path
) -> None:
    file = tmp_path / f"report.{'xml' if form == 'junit-full' else form}"
    text = proctor("show", told["run_id"], "--format", form, cwd=root).out
    file.write_text(text)
    again = proctor("show", str(file), "--format", "json", cwd=tmp_path).document

    assert (again["outcome"], outcomes(again)) == ("passed", ALL)
    reasons = {test["node_id"]: test["message"] for test in again["tests"] if test["outcome"] == "skipped"}
    assert {name: " ".join(reason.split()) for name, reason in reasons.items()} == {
        name: " ".join(reason.split()) for name, (reason, _, _) in SKIPS.items()
    }
    if form in ("stream", "events"):
        assert again["json_report"]["summary"]["total"] == 1


@pytest.mark.parametrize("option", ["--junitxml", "--json-report-file", "--report-log"])
def test_the_reports_of_other_tools_have_them_too(root: Path, tmp_path: Path, option: str) -> None:
    file = tmp_path / "report.xml"
    more = ["--json-report"] if option == "--json-report-file" else []
    own(root, f"{option}={file}", *more)
    found = proctor("show", str(file), "--format", "json", cwd=tmp_path).document

    assert (found["outcome"], found["summary"]["skipped"]) == ("passed", 5)
    told = {test["message"] for test in found["tests"] if test["outcome"] == "skipped"}
    assert {reason.partition("\\n")[0].partition("\n")[0] for reason in told} == {
        reason.partition("\n")[0] for reason, _, _ in SKIPS.values()
    }


def test_all_that_skips_itself_is_no_pass_and_says_so(root: Path) -> None:
    ran = run_suite(root, "--format", "agent", "test_b.py", "test_c.py")

    assert ran.code == 5
    assert ran.out.splitlines()[:3] == [
        "no tests 2 skipped",
        "everything was skipped before a test was found",
        "skipped: needs no_such_module; their way",
    ]


def test_an_all_skipped_stream_is_no_pass_either(root: Path, tmp_path: Path) -> None:
    ran = run_suite(root, "--format", "stream", "test_b.py")
    (tmp_path / "run.jsonl").write_text(ran.out)

    assert proctor("show", "run.jsonl", cwd=tmp_path).code == ran.code == 5


def test_discovery_lists_them_beside_the_tests(root: Path) -> None:
    base = ("discover", "--python", project_python())
    found = json.loads(proctor(*base, "--format", "json", cwd=root).out)
    tree = proctor(*base, cwd=root)

    assert (found["outcome"], found["total"]) == ("passed", 1)
    assert {skip["node_id"]: skip["message"] for skip in found["skipped"]} == {
        name: reason for name, (reason, _, _) in SKIPS.items()
    }
    assert "skipped: test_b.py:3 needs no_such_module\n" in tree.out
    assert tree.out.endswith("\n1 tests\n") and tree.code == 0


def test_a_module_that_is_ignored_is_no_skip(tmp_path: Path) -> None:
    files = {"conftest.py": "collect_ignore = ['test_b.py']\n", "test_a.py": FILES["test_a.py"]}
    document = document_of(write_project(tmp_path, {**files, "test_b.py": FILES["test_b.py"]}))

    assert document["summary"]["skipped"] == 0


def test_a_late_skip_does_not_stand_in_for_a_test_without_a_result(tmp_path: Path) -> None:
    source = """
        def pytest_collection_finish(session):
            from _pytest.reports import CollectReport
            late = CollectReport("test_late.py", "skipped", ("test_late.py", 1, "Skipped: late"), [])
            session.config.hook.pytest_collectreport(report=late)

        def pytest_runtest_protocol(item):
            return True if item.name == "test_two" else None
    """
    files = {"conftest.py": source, "test_a.py": "def test_one(): pass\ndef test_two(): pass\n"}
    document = document_of(write_project(tmp_path, files))

    assert document["outcome"] == "incomplete"


def test_unittest_names_the_place_of_the_skip(tmp_path: Path) -> None:
    files = {"test_c.py": FILES["test_c.py"], "test_u.py": "import unittest\n"}
    document = document_of(write_project(tmp_path, files), "--runner", "unittest")

    (test,) = document["tests"]
    assert (test["node_id"], test["outcome"], test["message"]) == ("test_c.py", "skipped", "their way")
    assert test["place"] == {"file": "test_c.py", "line": 2}

"""jest, where it differs from other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.javascript import found, project, run, run_raw
from support.projects import outcomes, write_project

from proctor.errors import UsageError
from proctor.runners import jest
from proctor.spec import RunSpec


def of(tmp_path: Path, text: str, *arguments: str) -> dict[str, Any]:
    return run(project(tmp_path, "jest", {"a.test.js": text}), "jest", *arguments)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_an_assertion_expected_and_got_in_its_own_process_or_in_a_worker(
    tmp_path: Path, workers: str
) -> None:
    files = {
        "a.test.js": "test('x', () => { expect({a: [1, 2]}).toEqual({a: [1, 3]}); });\n",
        "b.test.js": "test('y', () => {});\n",
    }
    document = run(project(tmp_path, "jest", files), "jest", "-n", workers)
    failure = found(document, "a.test.js::x")["failure"]

    assert failure["expected"] == "{ a: [ 1, 3 ] }"
    assert failure["actual"] == "{ a: [ 1, 2 ] }"
    assert failure["message"].startswith("expect(received).toEqual(expected) // deep equality")
    assert failure["place"] == {"file": "a.test.js", "line": 2}


def test_a_snapshot_that_does_not_match(tmp_path: Path) -> None:
    document = of(tmp_path, "test('x', () => { expect({a: 1}).toMatchInlineSnapshot('\"no\"'); });\n")
    failure = found(document, "a.test.js::x")["failure"]

    assert failure["expected"] == '"no"'
    assert failure["actual"] == '{\n  "a": 1,\n}'


def test_what_is_expected_to_fail(tmp_path: Path) -> None:
    document = of(
        tmp_path,
        "test.failing('does', () => { throw new Error('no'); });\ntest.failing('does not', () => {});\n",
    )

    assert outcomes(document) == {"a.test.js::does": "xfailed", "a.test.js::does not": "failed"}


def test_only_some_tests_of_a_file(tmp_path: Path) -> None:
    document = of(tmp_path, "test.only('x', () => {});\ntest('y', () => {});\ntest('y', () => {});\n")

    assert outcomes(document) == {
        "a.test.js::x": "passed",
        "a.test.js::y": "skipped",
        "a.test.js::y#2": "skipped",
    }


@pytest.mark.parametrize(
    ("body", "cause"), [("process.abort();", "SIGABRT"), ("process.exit(0);", "exitCode=0")]
)
def test_a_worker_that_dies_under_a_test(tmp_path: Path, body: str, cause: str) -> None:
    files = {
        "a.test.js": f"test('before', () => {{}});\ntest('ends', () => {{ {body} }});\n",
        "b.test.js": "test('y', () => {});\n",
    }
    document = run(project(tmp_path, "jest", files), "jest", "-n", "2")

    assert outcomes(document) == {
        "a.test.js::before": "passed",
        "a.test.js::ends": "crash",
        "b.test.js::y": "passed",
    }
    assert cause in found(document, "a.test.js::ends")["message"]
    assert document["outcome"] == "crashed"


@pytest.mark.parametrize("option", ["", ", {retryImmediately: true}"])
def test_retried_tests_have_one_result(tmp_path: Path, option: str) -> None:
    text = f"""
        jest.retryTimes(2{option});
        let n = 0;
        test('in the end', () => {{ if (n++ < 2) throw new Error('no'); }});
        test('never', () => {{ throw new Error('no'); }});
        test('other', () => {{}});
    """

    assert outcomes(of(tmp_path, text)) == {
        "a.test.js::in the end": "passed",
        "a.test.js::never": "failed",
        "a.test.js::other": "passed",
    }


def test_the_same_file_in_two_projects_has_two_results(tmp_path: Path) -> None:
    config = "module.exports = {projects: [{displayName: 'a'}, {displayName: 'b'}]};\n"
    root = project(tmp_path, "jest", {"a.test.js": "test('x', () => {});\n", "jest.config.js": config})

    assert outcomes(run(root, "jest", "-n", "2")) == {"a.test.js::x": "passed", "a.test.js::x#2": "passed"}


def test_a_hook_that_fails_after_all_tests_is_not_green(tmp_path: Path) -> None:
    document = of(tmp_path, "afterAll(() => { throw new Error('no disk'); });\ntest('x', () => {});\n")

    assert outcomes(document) == {"a.test.js::x": "passed"}
    assert document["outcome"] == "collection_error"
    assert "no disk" in document["collection_errors"][0]["failure"]["message"]


def test_more_than_one_failure_cannot_be_waited_for(tmp_path: Path) -> None:
    ran = run_raw(
        project(tmp_path, "jest", {"a.test.js": "test('x', () => {});\n"}), "jest", "--maxfail", "2"
    )

    assert ran.code == 4
    assert "-x stops it after the first" in ran.err


@pytest.mark.parametrize(
    ("files", "is_found"),
    [
        ({"package.json": '{"devDependencies": {"jest": "30"}}'}, True),
        ({"package.json": '{"jest": {"testEnvironment": "node"}}'}, True),
        ({"package.json": "{}", "jest.config.js": ""}, True),
        ({"package.json": '{"devDependencies": {"vitest": "^4"}}'}, False),
        ({}, False),
    ],
)
def test_jest_is_found_by_what_the_project_depends_on(
    tmp_path: Path, files: dict[str, str], is_found: bool
) -> None:
    assert jest.detect(write_project(tmp_path, files)) is is_found


def test_a_project_without_its_own_jest_is_told_what_would_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="npm install --save-dev jest"):
        jest.plan(RunSpec(str(tmp_path), "jest"), {"PATH": "/usr/bin:/bin"})


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ("toBe(2)", "expect(received).toBe(expected) // Object.is equality: Expected: 2; Received: 1"),
        ("toBeNull()", "expect(received).toBeNull(): Received: 1"),
    ],
)
def test_a_message_has_the_values(tmp_path: Path, assertion: str, message: str) -> None:
    text = f"test('x', () => expect(1).{assertion});\ntest('y', () => expect({{a: 1}}).toEqual({{a: 2}}));\n"
    document = run(project(tmp_path, "jest", {"a.test.js": text}), "jest")

    assert found(document, "a.test.js::x")["message"] == message
    differs = found(document, "a.test.js::y")["message"].partition("\n")[0]
    assert "2" in differs and "1" in differs

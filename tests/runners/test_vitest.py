"""vitest, where it differs from other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.javascript import found, project, run
from support.projects import outcomes, proctor, write_project

from proctor.errors import UsageError
from proctor.runners import vitest
from proctor.spec import RunSpec

HEAD = "import {expect, beforeAll, afterAll, beforeEach} from 'vitest';\n"


def of(tmp_path: Path, text: str, *arguments: str) -> dict[str, Any]:
    return run(project(tmp_path, "vitest", {"a.test.js": HEAD + text}), "vitest", *arguments)


def test_what_an_assertion_expected_and_got(tmp_path: Path) -> None:
    document = of(tmp_path, "test('x', () => { expect({a: 1, b: [1, 2]}).toEqual({a: 1, b: [1, 3]}); });\n")
    failure = found(document, "a.test.js::x")["failure"]

    assert failure["expected"] == '{\n  "a": 1,\n  "b": [\n    1,\n    3,\n  ],\n}'
    assert failure["actual"] == '{\n  "a": 1,\n  "b": [\n    1,\n    2,\n  ],\n}'
    assert failure["difference"] == ["- Expected", "+ Received", "-     3,", "+     2,"]
    assert failure["place"] == {"file": "a.test.js", "line": 3}


def test_a_snapshot_that_does_not_match(tmp_path: Path) -> None:
    document = of(tmp_path, "test('x', () => { expect({a: 1}).toMatchInlineSnapshot('\"no\"'); });\n")
    failure = found(document, "a.test.js::x")["failure"]

    assert failure["expected"] == '"no"'
    assert failure["actual"] == '{\n  "a": 1,\n}'


def test_what_is_expected_to_fail_and_what_skips_itself(tmp_path: Path) -> None:
    document = of(
        tmp_path,
        """
        test.fails('does', () => { throw new Error('no'); });
        test.fails('does not', () => {});
        test('skips', (context) => context.skip('no net'));
        """,
    )

    assert outcomes(document) == {
        "a.test.js::does": "xfailed",
        "a.test.js::does not": "failed",
        "a.test.js::skips": "skipped",
    }
    assert found(document, "a.test.js::skips")["message"] == "no net"


def test_what_a_test_prints_is_kept_with_it(tmp_path: Path) -> None:
    text = "test('x', () => { console.log('hello'); console.error('oh'); });\n"
    root = project(tmp_path, "vitest", {"a.test.js": text})
    ran = proctor("run", "--runner", "vitest", "--format", "stream", cwd=root)
    _, test, _ = map(json.loads, ran.out.splitlines())

    assert (test["stdout"], test["stderr"]) == ("hello\n", "oh\n")


def test_a_hook_of_a_group_that_fails_is_an_error_of_the_group(tmp_path: Path) -> None:
    document = of(
        tmp_path,
        """
        describe('g', () => {
          afterAll(() => { throw new Error('no disk'); });
          it('x', () => {});
        });
        """,
    )

    assert outcomes(document) == {"a.test.js::g > x": "passed", "a.test.js::g": "error"}
    assert found(document, "a.test.js::g")["message"] == "no disk"


def test_a_promise_that_nobody_waits_for_is_not_green(tmp_path: Path) -> None:
    document = of(tmp_path, "test('x', () => { Promise.reject(new Error('lost')); });\n")

    assert outcomes(document) == {"a.test.js::x": "passed"}
    assert document["outcome"] == "collection_error"
    assert document["collection_errors"][0]["failure"]["message"] == "lost"


def test_tests_at_the_same_time_keep_their_outcomes_when_one_aborts(tmp_path: Path) -> None:
    document = of(
        tmp_path,
        """
        const wait = (time) => new Promise((done) => setTimeout(done, time));
        test.concurrent('short', () => wait(1));
        test.concurrent('aborts', async () => { await wait(300); process.abort(); });
        test.concurrent('long', () => wait(60000));
        """,
    )

    assert outcomes(document) == {
        "a.test.js::short": "passed",
        "a.test.js::aborts": "crash",
        "a.test.js::long": "crash",
    }


def test_a_signal_in_a_thread_takes_all_of_vitest_along(tmp_path: Path) -> None:
    text = """
        test('before', () => {});
        test('ends', async () => {
          await new Promise((done) => setTimeout(done, 500));
          process.kill(process.pid, 'SIGSEGV');
        });
    """
    root = project(tmp_path, "vitest", {"a.test.js": text})
    document = run(root, "vitest", "--", "--pool=threads")

    assert outcomes(document)["a.test.js::ends"] == "crash"
    assert document["outcome"] == "crashed"


def test_retried_tests_have_one_result(tmp_path: Path) -> None:
    document = of(
        tmp_path, "let n = 0;\ntest('x', {retry: 2}, () => { if (n++ < 2) throw new Error('no'); });\n"
    )

    assert outcomes(document) == {"a.test.js::x": "passed"}


def test_the_same_file_in_two_projects_has_two_results(tmp_path: Path) -> None:
    projects = "projects: [{test: {name: 'a'}}, {test: {name: 'b'}}]"
    config = f"export default {{test: {{{projects}}}}};\n"
    root = project(tmp_path, "vitest", {"a.test.js": "test('x', () => {});\n", "vitest.config.js": config})

    assert outcomes(run(root, "vitest")) == {"a.test.js::x": "passed", "a.test.js::x#2": "passed"}


@pytest.mark.parametrize(
    ("files", "is_found"),
    [
        ({"package.json": '{"devDependencies": {"vitest": "^4"}}'}, True),
        ({"package.json": "{}", "vitest.config.ts": ""}, True),
        ({"package.json": '{"devDependencies": {"jest": "30"}}'}, False),
        ({"package.json": '["vitest"]'}, False),
        ({}, False),
    ],
)
def test_vitest_is_found_by_what_the_project_depends_on(
    tmp_path: Path, files: dict[str, str], is_found: bool
) -> None:
    assert vitest.detect(write_project(tmp_path, files)) is is_found


def test_a_project_without_its_own_vitest_is_told_what_would_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="npm install --save-dev vitest"):
        vitest.plan(RunSpec(str(tmp_path), "vitest"), {"PATH": "/usr/bin:/bin"})

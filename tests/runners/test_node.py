"""`node --test`, where it differs from other tools."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.javascript import found, node_binary, node_modules, project, run, run_raw
from support.projects import Ran, outcomes, proctor, write_project

from proctor.errors import UsageError
from proctor.runners import node
from proctor.spec import RunSpec, Selection

ASSERT = "const assert = require('node:assert');\n"


def of(tmp_path: Path, text: str, *arguments: str) -> dict[str, Any]:
    return run(project(tmp_path, "node", {"a.test.js": text}), "node", *arguments)


def test_what_an_assertion_expected_and_got(tmp_path: Path) -> None:
    document = of(
        tmp_path, ASSERT + "test('x', () => { assert.deepStrictEqual({a: [1, 2]}, {a: [1, 3]}); });\n"
    )
    failure = found(document, "a.test.js::x")["failure"]

    assert failure["type"] == "AssertionError"
    assert failure["expected"] == "{ a: [ 1, 3 ] }"
    assert failure["actual"] == "{ a: [ 1, 2 ] }"


def test_the_place_of_a_failure_is_in_the_product_where_it_was_thrown(tmp_path: Path) -> None:
    files = {
        "lib.js": "\nexports.f = () => {\n  throw new Error('no');\n};\n",
        "test/a.test.js": "test('x', () => require('../lib.js').f());\n",
    }
    document = run(project(tmp_path, "node", files), "node")
    failure = found(document, "test/a.test.js::x")["failure"]

    assert failure["place"] == {"file": "lib.js", "line": 2}
    assert failure["calls"][0]["places"] == [{"file": "test/a.test.js", "line": 2}]
    assert failure["source"] == ["    exports.f = () => {", ">     throw new Error('no');", "    };", ""]


def test_tests_that_a_test_makes_are_parts_of_it(tmp_path: Path) -> None:
    document = of(
        tmp_path,
        """
        test('whole', async (t) => {
          await t.test('fine', () => {});
          await t.test('outer', async (t) => { await t.test('inner', () => { throw new Error('no'); }); });
        });
        """,
    )

    assert outcomes(document) == {"a.test.js::whole": "failed"}
    assert found(document, "a.test.js::whole")["message"] == "outer > inner: no"


def test_work_that_is_still_to_be_done_may_fail(tmp_path: Path) -> None:
    document = of(
        tmp_path,
        """
        test('fails', {todo: 'later'}, () => { throw new Error('no'); });
        test('passes', {todo: true}, () => {});
        test('skips', (t) => t.skip('no net'));
        """,
    )

    assert outcomes(document) == {
        "a.test.js::fails": "xfailed",
        "a.test.js::passes": "skipped",
        "a.test.js::skips": "skipped",
    }
    assert found(document, "a.test.js::fails")["message"] == "todo: later"
    assert found(document, "a.test.js::skips")["message"] == "no net"
    assert document["outcome"] == "passed"


def test_a_hook_that_fails_is_an_error_of_its_test_or_of_its_group(tmp_path: Path) -> None:
    document = of(
        tmp_path,
        """
        const {beforeEach, after} = require('node:test');
        describe('each', () => {
          beforeEach(() => { throw new Error('no net'); });
          it('x', () => {});
        });
        describe('end', () => {
          after(() => { throw new Error('no disk'); });
          it('y', () => {});
        });
        """,
    )

    assert outcomes(document) == {
        "a.test.js::each > x": "error",
        "a.test.js::end > y": "passed",
        "a.test.js::end": "error",
    }
    assert found(document, "a.test.js::end")["message"] == "no disk"
    assert found(document, "a.test.js::each > x")["message"] == "no net"


def test_a_group_that_throws_is_an_error(tmp_path: Path) -> None:
    document = of(tmp_path, "describe('g', () => { it('x', () => {}); throw new Error('no'); });\n")

    assert outcomes(document)["a.test.js::g"] == "error"


def test_tests_at_the_same_time_keep_their_names(tmp_path: Path) -> None:
    groups = "".join(
        f"""
        describe('g{group}', {{concurrency: true}}, () => {{
          for (const n of [1, 2, 3]) it(`t${{n}}`, async (t) => {{
            await new Promise((done) => setTimeout(done, 5 * n));
            await t.test('part', () => {{}});
            if (n === 2) throw new Error('no');
          }});
        }});
        """
        for group in (1, 2)
    )
    body = f"describe('all', {{concurrency: true}}, () => {{ {groups} }});\n"
    told = outcomes(of(tmp_path, body))

    assert told == {
        f"a.test.js::all > g{group} > t{n}": "failed" if n == 2 else "passed"
        for group in (1, 2)
        for n in (1, 2, 3)
    }


@pytest.mark.parametrize(("status", "outcome"), [(0, "passed"), (1, "failed")])
def test_a_file_without_tests_is_a_test_that_its_exit_status_decides(
    tmp_path: Path, status: int, outcome: str
) -> None:
    document = run(project(tmp_path, "node", {"test/plain.js": f"process.exit({status});\n"}), "node")

    assert document["outcome"] == outcome
    assert outcomes(document) == {"test/plain.js": outcome}


def test_an_exit_before_any_test_has_run_is_not_green(tmp_path: Path) -> None:
    text = "test('x', async () => {});\ntest('y', () => {});\nprocess.exit(0);\n"
    ran = run_raw(project(tmp_path, "node", {"a.test.js": text}), "node")

    assert ran.document["outcome"] == "collection_error"
    assert ran.code == 1


def test_an_error_after_the_tests_is_not_green(tmp_path: Path) -> None:
    document = of(tmp_path, "test('x', () => {});\nprocess.on('exit', () => { throw new Error('late'); });\n")

    assert outcomes(document) == {"a.test.js::x": "passed"}
    assert document["outcome"] == "collection_error"
    assert document["collection_errors"][0]["failure"]["message"] == "late"


def test_an_exact_number_of_failures_ends_the_run(tmp_path: Path) -> None:
    fails = "".join(f"test('f{n}', () => {{ throw new Error('no'); }});\n" for n in range(3))
    root = project(tmp_path, "node", {f"{name}.test.js": fails for name in "abc"})
    document = run(root, "node", "--maxfail", "4")

    assert [test["outcome"] for test in document["tests"]].count("failed") == 4


def test_node_programs_that_a_test_forks_are_left_alone(tmp_path: Path) -> None:
    files = {
        "child.js": "require('node:test')('inner', () => {}); process.send?.('ready');\n",
        "a.test.js": """
            test('forks', () => new Promise((done) => {
              require('child_process').fork('./child.js', {silent: true}).on('exit', done);
            }));
        """,
    }
    root = project(tmp_path, "node", files)

    assert outcomes(run(root, "node", "a.test.js")) == {"a.test.js::forks": "passed"}


@pytest.mark.parametrize("version", ["22.23.3", "24.21.0"])
def test_other_versions_of_node(tmp_path: Path, version: str) -> None:
    body = """
        test('adds', () => {});
        describe('group', () => {
          it('fine', () => {});
          it('falls', async (t) => { await t.test('part', () => { throw new Error('no'); }); });
          it.skip('not now', () => {});
        });
        test('ends', () => process.exit(0));
        test('after', () => {});
    """
    root = project(tmp_path, "node", {"a.test.js": body})
    path = f"{node_binary(version)}:/usr/bin:/bin"
    document = run(root, "node", environ={"PATH": path})

    assert outcomes(document) == {
        "a.test.js::adds": "passed",
        "a.test.js::group > fine": "passed",
        "a.test.js::group > falls": "failed",
        "a.test.js::group > not now": "skipped",
        "a.test.js::ends": "crash",
    }
    again = run(root, "node", "a.test.js::group > falls", environ={"PATH": path})
    assert outcomes(again) == {"a.test.js::group > falls": "failed"}


CHOICE = """
    test('alone slow', (t, done) => done());
    test('alone fast', (t, done) => done());
    describe('Group', () => {
      require('node:test').beforeEach((t) => console.log(`before ${t.name}`));
      it('adds slow', () => {});
      it('adds', (t) => t.test('slow part', () => {}));
      describe('slow inner', () => { it('adds', () => {}); });
    });
"""
FAST = ["alone fast", "Group > adds"]
IN_GROUP = ["Group > adds slow", "Group > adds", "Group > slow inner > adds"]


@pytest.mark.parametrize("version", ["", "22.23.3", "24.21.0"])
@pytest.mark.parametrize(
    "expression, names",
    [("not slow", FAST), ("group and ADDS", IN_GROUP), ("adds and not (inner or alone)", IN_GROUP[:2])],
)
def test_keywords_choose_by_the_full_name_of_each_test(
    tmp_path: Path, version: str, expression: str, names: list[str]
) -> None:
    root = project(tmp_path, "node", {"a.test.js": CHOICE})
    environ = {"PATH": f"{node_binary(version)}:/usr/bin:/bin"} if version else None
    document = run(root, "node", "-k", expression, environ=environ)

    assert (document["outcome"], list(outcomes(document))) == ("passed", [f"a.test.js::{n}" for n in names])
    assert document["summary"]["deselected"] == 5 - len(names)
    lines = document["text_output"].split("\n")
    hooked = {name.rpartition(" > ")[2] for name in names if name.startswith("Group")}
    printed = {name for _, mark, name in (line.partition("before ") for line in lines) if mark}
    assert printed - {"slow part"} == hooked


def test_keywords_choose_among_single_tests_too(tmp_path: Path) -> None:
    root = project(tmp_path, "node", {"a.test.js": CHOICE})
    ids = ("a.test.js::alone fast", "a.test.js::alone slow")

    assert list(outcomes(run(root, "node", *ids, "-k", "not slow"))) == ["a.test.js::alone fast"]
    listed = proctor("discover", "--runner", "node", "-k", "not slow", "--format", "json", cwd=root)
    assert [test["node_id"] for test in json.loads(listed.out)["tests"]] == [f"a.test.js::{n}" for n in FAST]
    nothing = run(root, "node", "-k", "nobody")
    assert (nothing["outcome"], nothing["summary"]["deselected"]) == ("no_tests", 5)


@pytest.mark.parametrize(
    ("files", "is_found"),
    [
        ({"package.json": '{"scripts": {"test": "node --test"}}'}, True),
        ({"package.json": '{"scripts": {"test": "c8 node --import x --test test/"}}'}, True),
        ({"package.json": '{"scripts": {"test": "jest --testTimeout=5"}}'}, False),
        ({"package.json": '{"scripts": {"test": "node build.js && mocha --test"}}'}, False),
        ({"package.json": '{"scripts": {"test": "npm run all", "all": "npx c8 node --test"}}'}, True),
        ({"package.json": "{}", "test/a.js": "import test from 'node:test'\n"}, True),
        ({"package.json": "{}", "test/a.js": "import test from 'ava'\n"}, False),
        ({"package.json": "not json"}, False),
        ({"readme.txt": ""}, False),
    ],
)
def test_node_tests_are_found_by_scripts_and_imports(
    tmp_path: Path, files: dict[str, str], is_found: bool
) -> None:
    assert node.detect(write_project(tmp_path, files)) is is_found


def test_a_directory_without_tests_is_refused(tmp_path: Path) -> None:
    write_project(tmp_path, {"lib/a.js": ""})
    spec = RunSpec(str(tmp_path), "node", Selection(("lib",)))

    with pytest.raises(UsageError, match="no test file in"):
        node.plan(spec, {"PATH": "/usr/bin:/bin"})


def test_a_machine_without_node_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no node on PATH"):
        node.plan(RunSpec(str(tmp_path), "node"), {"PATH": "/nowhere"})


# What `npm test` runs


PASSES = "require('node:test')('passes', () => {});\n"
FAILS = "require('node:assert').equal(1, 2);\n"
MIXED = {
    "package.json": """
        {"scripts": {"test": "node --test && jest jest.test.js"}, "devDependencies": {"jest": "*"}}
    """,
    "test/a.test.js": PASSES,
    "test/plain.test.js": FAILS,
}


def npm(root: Path, script: str, files: dict[str, str], *arguments: str, **environ: str) -> Ran:
    """A run of a project whose test script that is."""
    if shutil.which("node") is None:
        pytest.skip("no node on this machine")
    write_project(root, {"package.json": json.dumps({"name": "shop", "scripts": {"test": script}}), **files})
    for tool in (root / "node_modules" / ".bin").glob("*"):
        tool.chmod(0o755)
    return proctor("run", "--format", "json", *arguments, cwd=root, environ={**os.environ, **environ})


@pytest.mark.parametrize("arguments", [(), ("--runner", "node")])
def test_a_file_that_imports_no_tool_is_run_beside_another_tool(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    ran = proctor("run", "--format", "json", *arguments, cwd=write_project(tmp_path, MIXED))

    assert outcomes(ran.document) == {"test/a.test.js::passes": "passed", "test/plain.test.js": "failed"}
    assert found(ran.document, "test/plain.test.js")["message"] == "1 == 2"
    assert ran.code == 1
    again = proctor("run", "--format", "json", "test/plain.test.js", cwd=tmp_path)
    assert outcomes(again.document) == {"test/plain.test.js": "failed"}


def test_files_that_node_does_not_find_are_no_success(tmp_path: Path) -> None:
    ran = npm(tmp_path, "node --test nowhere.js", {"a.test.js": PASSES})

    assert (ran.code, ran.document["outcome"]) == (1, "failed")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("node --test test/ checks/one.js", {"test/a.js::passes": "passed", "checks/one.js": "failed"}),
        ("node --test checks/*o*.js", {"checks/one.js": "failed", "checks/two.js": "passed"}),
        ("node --test $(ls checks/tw*.js)", {"checks/two.js": "passed"}),
        ("node checks/one.js", {"checks/one.js": "failed"}),
        ("node test", {"test/index.js": "passed"}),
        ("node --test-name-pattern nothing --test test/a.js", {}),
        ("node --import ./setup.mjs --test checks/needs.js", {"checks/needs.js": "passed"}),
        ("node -r ./setup.cjs --test checks/needs.js", {"checks/needs.js": "passed"}),
        (
            "SET_UP=$HOME NODE_OPTIONS='--require ./setup.cjs' node checks/test.js",
            {"checks/test.js": "passed"},
        ),
        (
            "node --test checks/two.js && node --test checks/needs.js",
            {"checks/two.js": "passed", "checks/needs.js": "failed"},
        ),
    ],
)
def test_the_script_decides_what_is_run_and_how(
    tmp_path: Path, script: str, expected: dict[str, str]
) -> None:
    files = {
        "test/a.js": PASSES,
        "test/index.js": "",
        "checks/one.js": FAILS,
        "checks/two.js": "",
        "checks/needs.js": "if (!globalThis.isSetUp) process.exit(1);\n",
        "checks/test.js": "process.exit(globalThis.isSetUp && process.env.SET_UP ? 0 : 1);\n",
        "setup.cjs": "globalThis.isSetUp = true;\n",
        "setup.mjs": "globalThis.isSetUp = true;\n",
    }
    told = outcomes(npm(tmp_path, script, files).document)

    if script.startswith("node --test test/ "):
        expected["test/index.js"] = "passed"
    assert told == expected


WRAPPER = """#!/usr/bin/env node
const [, , command, ...rest] = process.argv;
const {status} = require('node:child_process').spawnSync(command, rest, {stdio: 'inherit'});
process.exit(status || Number(process.env.LIMIT_MISSED ?? 0));
"""


@pytest.mark.parametrize(
    ("text", "missed", "code", "told"),
    [(PASSES, "0", 0, "passed"), (PASSES, "1", 1, "failed"), (FAILS, "0", 1, "failed")],
)
def test_a_program_around_node_has_its_say(
    tmp_path: Path, text: str, missed: str, code: int, told: str
) -> None:
    files = {"node_modules/.bin/c8": WRAPPER, "a.test.js": text}
    ran = npm(tmp_path, "c8 node --test", files, LIMIT_MISSED=missed)

    assert len(ran.document["tests"]) == 1
    assert (ran.code, ran.document["outcome"]) == (code, told)


def test_a_program_around_node_that_is_not_installed_is_named(tmp_path: Path) -> None:
    ran = npm(
        tmp_path, "c8 node --test", {"a.test.js": PASSES}, PATH=str(Path(shutil.which("node") or "").parent)
    )

    assert ran.code == 4
    assert "c8 is not installed" in ran.err


def published(root: Path, name: str, version: str, *others: str) -> Path:
    """A package as it was published, with its tests, and what these need."""
    modules = node_modules(f"{name}@{version}", *others)
    shutil.copytree(modules / name, root / "package")
    (root / "package" / "node_modules").symlink_to(modules)
    return root / "package"


def test_a_published_package_has_the_counts_and_the_exit_status_that_node_gives(tmp_path: Path) -> None:
    root = published(tmp_path, "@fastify/forwarded", "3.1.2", "c8@12.0.0")
    path = f"{root}/node_modules/.bin:{os.environ['PATH']}"
    tool = subprocess.run(
        ["sh", "-c", "c8 --100 node --test --test-reporter=tap"],
        cwd=root,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    counts = dict(re.findall(r"^# (tests|pass|fail) (\d+)$", tool.stdout, re.M))
    ran = proctor("run", "--format", "json", cwd=root)

    summary = ran.document["summary"]
    assert int(counts["tests"]) == 13
    assert counts == {"tests": str(summary["total"]), "pass": str(summary["passed"]), "fail": "0"}
    assert (ran.code, tool.returncode) == (0, 0)
    assert ran.document["notices"] == ["`npm test` also runs `tstyche`, which proctor does not run"]


def test_a_published_package_with_another_tool_is_told_so(tmp_path: Path) -> None:
    ran = proctor("run", cwd=published(tmp_path, "reusify", "1.1.0"))

    assert ran.code == 4
    assert "`tape test.js`, which no runner knows" in ran.err


def test_a_script_that_no_runner_knows_is_said_and_how_to_run_it(tmp_path: Path) -> None:
    ran = npm(tmp_path, "tape test/*.js", {"test/a.js": ""})

    assert ran.code == 4
    assert "`tape test/*.js`, which no runner knows (known: node --test, vitest, jest)" in ran.err
    assert "[[tool.proctor.tests]]" in ran.err
    settings = '[[tests]]\nname = "npm"\ncommand = "node -e 0"\n'
    write_project(tmp_path, {"proctor.toml": settings})
    ran = proctor("run", "--format", "json", cwd=tmp_path)
    assert outcomes(ran.document) == {"/npm": "passed"}
    (missing,) = ran.document["missing"]
    assert missing["runner"] == "npm" and "`tape test/*.js`" in missing["reason"]
    write_project(tmp_path, {"proctor.toml": '[[tests]]\nname = "npm"\ncommand = "npm --version"\n'})
    assert "missing" not in proctor("run", "--format", "json", cwd=tmp_path).document


def test_commands_of_the_script_that_are_no_tests_are_told(tmp_path: Path) -> None:
    ran = npm(tmp_path, "eslint . && node --test", {"a.test.js": PASSES})

    assert ran.document["notices"] == ["`npm test` also runs `eslint .`, which proctor does not run"]
    assert ran.code == 0


# What is asked for and shown


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ("strictEqual(1, 2)", "Expected values to be strictly equal: 1 !== 2"),
        (
            "deepStrictEqual({a: [1]}, {a: [2]})",
            "Expected values to be strictly deep-equal: { a: [ 1 ] } !== { a: [ 2 ] }",
        ),
        ("match('abc', /x/)", "The input did not match the regular expression /x/. Input: 'abc'"),
        ("doesNotThrow(() => { throw new Error('no') })", 'Got unwanted exception. Actual message: "no"'),
    ],
)
def test_a_message_has_the_values(tmp_path: Path, assertion: str, message: str) -> None:
    document = of(tmp_path, ASSERT + f"test('x', () => {{ assert.{assertion}; }});\n")

    assert found(document, "a.test.js::x")["message"] == message


def test_words_of_a_test_come_first(tmp_path: Path) -> None:
    document = of(tmp_path, ASSERT + "test('x', () => { assert.strictEqual(1, 2, 'the total'); });\n")

    message = found(document, "a.test.js::x")["message"]
    assert message in ("the total", "the total: 1 !== 2")  # not every node adds the values


def test_of_long_values_a_message_has_what_differs(tmp_path: Path) -> None:
    values = "Array.from({length: 99}, (_, n) => n)"
    document = of(
        tmp_path,
        ASSERT + f"test('x', () => {{ assert.deepStrictEqual({values}, {values}.with(50, 0)); }});\n",
    )

    message = found(document, "a.test.js::x")["message"]
    assert message.startswith("Expected values to be strictly deep-equal: +")
    assert "50," in message.partition("\n")[0]


@pytest.mark.parametrize("name", ["bad.test.mjs", "bad.test.js"])
def test_a_file_that_cannot_be_parsed_has_the_line(tmp_path: Path, name: str) -> None:
    root = project(tmp_path, "node", {"readme.txt": ""})
    (root / name).write_text("\n\n\nconst a = = 1;\n")
    (error,) = run(root, "node")["collection_errors"]

    assert error["failure"]["place"] == {"file": name, "line": 4}

"""What holds for every tool for JavaScript, each with its real self."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.javascript import HEADS, found, node_modules, project, run, run_raw
from support.projects import outcomes, proctor, with_enough_time, write_project

from proctor.failure_row import Row, encode
from proctor.runners import javascript, jest, node, vitest

TOOLS = tuple(HEADS)

SHOP = """
test('adds', () => {});
test('falls', () => { throw new TypeError('bad thing'); });
describe('group', () => {
  it('inner ünï "quoted" (1+1)', () => {});
  it.skip('not now', () => {});
  it.todo('some day');
  describe('deep', () => {
    it('adds', () => {});
  });
});
for (const n of [1, 2]) test(`of ${n}`, () => {});
test('same', () => {});
test('same', () => {});
"""
OTHER = """
test('adds', () => {});
test('elsewhere', () => {});
"""
SHOP_OUTCOMES = {
    "test/shop.test.js::adds": "passed",
    "test/shop.test.js::falls": "failed",
    'test/shop.test.js::group > inner ünï "quoted" (1+1)': "passed",
    "test/shop.test.js::group > not now": "skipped",
    "test/shop.test.js::group > some day": "skipped",
    "test/shop.test.js::group > deep > adds": "passed",
    "test/shop.test.js::of 1": "passed",
    "test/shop.test.js::of 2": "passed",
    "test/shop.test.js::same": "passed",
    "test/shop.test.js::same#2": "passed",
    "test/other.test.js::adds": "passed",
    "test/other.test.js::elsewhere": "passed",
}
#: An id of each shape. The failing one and one of a loop run alone in other tests.
TO_RUN_AGAIN = (
    "test/shop.test.js::adds",
    'test/shop.test.js::group > inner ünï "quoted" (1+1)',
    "test/shop.test.js::group > not now",
    "test/shop.test.js::group > some day",
    "test/shop.test.js::group > deep > adds",
    "test/shop.test.js::same#2",
    "test/other.test.js::adds",
)
ENDS = """
test('before', () => {});
test('ends', () => { %s });
test('after', () => {});
"""


@pytest.fixture(scope="module", params=TOOLS)
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    root = tmp_path_factory.mktemp(request.param)
    return request.param, project(
        root, request.param, {"test/shop.test.js": SHOP, "test/other.test.js": OTHER}
    )


@pytest.fixture(params=TOOLS)
def tool(request: pytest.FixtureRequest) -> str:
    return request.param


def test_every_test_has_an_id_an_outcome_and_a_place(shop: tuple[str, Path]) -> None:
    tool, root = shop
    document = run(root, tool)

    assert outcomes(document) == SHOP_OUTCOMES
    assert document["outcome"] == "failed"
    falls = found(document, "test/shop.test.js::falls")
    assert falls["failure"]["message"] == "TypeError: bad thing"
    assert falls["failure"]["type"] == "TypeError"
    assert falls["failure"]["place"] == {"file": "test/shop.test.js", "line": 4}


def test_discovery_lists_the_same_tests_and_runs_none_of_them(shop: tuple[str, Path]) -> None:
    tool, root = shop
    ran = proctor("discover", "--runner", tool, "--format", "json", cwd=root)
    listed = json.loads(ran.out)

    assert {test["node_id"] for test in listed["tests"]} == set(SHOP_OUTCOMES)
    assert {test["node_id"]: test["line"] for test in listed["tests"]}["test/shop.test.js::falls"] == 4
    assert ran.code == 0


def test_each_id_runs_that_test_again(shop: tuple[str, Path]) -> None:
    tool, root = shop
    for test in TO_RUN_AGAIN:
        told = outcomes(run(root, tool, test))
        assert told[test.removesuffix("#2")] == SHOP_OUTCOMES[test], test
        if tool != "node" and "same" not in test:
            assert list(told) == [test]


def test_several_ids_in_one_file(shop: tuple[str, Path]) -> None:
    tool, root = shop
    wanted = ["test/shop.test.js::of 2", "test/shop.test.js::falls"]

    assert set(outcomes(run(root, tool, *wanted))) == set(wanted)


def test_files_and_directories_are_targets(shop: tuple[str, Path]) -> None:
    tool, root = shop

    assert set(outcomes(run(root, tool, "test/other.test.js"))) == {
        "test/other.test.js::adds",
        "test/other.test.js::elsewhere",
    }
    assert outcomes(run(root, tool, "test")) == SHOP_OUTCOMES


@pytest.mark.parametrize("target", ["nothing.test.js", "test/nothing.test.js::adds", ""])
def test_what_is_no_target_is_refused_with_what_would_do(shop: tuple[str, Path], target: str) -> None:
    tool, root = shop
    ran = run_raw(root, tool, target)

    assert ran.code == 4
    assert "not a target" in ran.err
    assert "test/a.test.js::group > test" in ran.err


@pytest.mark.parametrize("target", ["test/shop.test.js::nothing", "./test/shop.test.js::group > deep > add"])
def test_an_id_that_is_nowhere_is_an_error_that_names_it(shop: tuple[str, Path], target: str) -> None:
    tool, root = shop
    for arguments in ([target], [target, "test/shop.test.js::adds"]):
        ran = run_raw(root, tool, *arguments)

        assert ran.code == 4
        assert ran.document["outcome"] == "usage_error"
        assert ran.document["reason"] == f"not found: {target.removeprefix('./')}"
    listed = proctor("discover", "--runner", tool, target, cwd=root)
    assert listed.code == 4


def test_files_and_projects_behind_links_have_their_ids(tool: str, tmp_path: Path) -> None:
    root = project(tmp_path / "real", tool, {"test/a.test.js": "test('x', () => {});\n"})
    (tmp_path / "link").symlink_to(root)
    for named in ("test/a.test.js", "./test/../test/a.test.js", str(root / "test/a.test.js")):
        ran = run_raw(tmp_path / "link", tool, f"{named}::x")
        assert outcomes(ran.document) == {"test/a.test.js::x": "passed"}
        assert ran.code == 0


def test_a_group_is_a_target(shop: tuple[str, Path]) -> None:
    tool, root = shop
    told = outcomes(run(root, tool, "test/shop.test.js::group"))

    assert {test for test in SHOP_OUTCOMES if "::group > " in test} == set(told)


def test_too_many_brackets_are_a_usage_error(shop: tuple[str, Path]) -> None:
    tool, root = shop
    ran = run_raw(root, tool, "-k", "(" * 900 + "a" + ")" * 900)

    assert ran.code == 4
    assert "nested 900 deep" in ran.err


def test_keywords_choose_by_name_in_any_case(shop: tuple[str, Path]) -> None:
    tool, root = shop

    assert set(outcomes(run(root, tool, "-k", "FALLS or elsewhere"))) == {
        "test/shop.test.js::falls",
        "test/other.test.js::elsewhere",
    }


def test_markers_are_refused(shop: tuple[str, Path]) -> None:
    tool, root = shop
    ran = run_raw(root, tool, "-m", "slow")

    assert ran.code == 4
    assert f"{tool} has no markers" in ran.err


def test_the_last_failed_run_again(shop: tuple[str, Path]) -> None:
    tool, root = shop
    run(root, tool)

    assert outcomes(run(root, tool, "--last-failed")) == {"test/shop.test.js::falls": "failed"}


def test_a_test_that_aborts_is_a_crash_and_the_tests_before_it_keep_their_outcomes(
    tool: str, tmp_path: Path
) -> None:
    root = project(tmp_path, tool, {"a.test.js": ENDS % "process.abort();"})
    document = run(root, tool, "-n", "2")

    told = outcomes(document)
    assert told["a.test.js::before"] == "passed"
    assert told["a.test.js::ends"] == "crash"
    assert told.get("a.test.js::after", "not_run") == "not_run"
    assert document["outcome"] == "crashed"


def test_an_exit_in_the_middle_is_never_green(tool: str, tmp_path: Path) -> None:
    root = project(tmp_path, tool, {"a.test.js": ENDS % "process.exit(0);"})
    ran = run_raw(root, tool)
    told = outcomes(ran.document)

    assert told["a.test.js::before"] == "passed"
    assert told["a.test.js::ends"] == (
        "failed" if tool == "vitest" else "crash"
    )  # vitest takes it for an error
    assert ran.code != 0


def test_an_exit_that_nothing_can_hold_up_is_never_green(tool: str, tmp_path: Path) -> None:
    root = project(tmp_path, tool, {"a.test.js": ENDS % "process.reallyExit(0);"})
    ran = run_raw(root, tool)

    assert outcomes(ran.document)["a.test.js::ends"] == "crash"
    assert ran.document["outcome"] == "crashed"


def test_the_time_limit_ends_an_endless_test(tool: str, tmp_path: Path) -> None:
    endless = "process.getBuiltinModule('fs').writeFileSync('reached', ''); for (;;);"
    root = project(tmp_path, tool, {"a.test.js": ENDS % endless})
    document = with_enough_time(lambda limit: run(root, tool, "--timeout", limit), root / "reached")

    told = outcomes(document)
    assert told["a.test.js::before"] == "passed"
    assert told["a.test.js::ends"] == "timeout"
    assert document["outcome"] == "timeout"


def test_a_file_that_cannot_be_read_is_a_collection_error_beside_the_others(
    tool: str, tmp_path: Path
) -> None:
    files = {
        "bad.test.js": "\ntest('x', () => { const a = = 1; });\n",
        "good.test.js": "test('adds', () => {});\n",
    }
    root = project(tmp_path, tool, files)
    document = run(root, tool)

    assert document["outcome"] == "collection_error"
    (error,) = document["collection_errors"]
    assert error["file"] == "bad.test.js"
    assert "Unexpected token" in error["failure"]["message"]
    assert error["failure"]["place"] == {"file": "bad.test.js", "line": 3}
    assert outcomes(document) == {"good.test.js::adds": "passed"}


def test_a_file_that_throws_is_a_collection_error(tool: str, tmp_path: Path) -> None:
    root = project(tmp_path, tool, {"a.test.js": "test('x', () => {});\nthrow new RangeError('too far');\n"})
    document = run(root, tool)

    (error,) = document["collection_errors"]
    assert error["failure"]["message"] == "RangeError: too far"
    assert error["failure"]["place"] == {"file": "a.test.js", "line": 3}
    assert document["outcome"] == "collection_error"


def test_tests_that_go_elsewhere_and_throw_strange_things(tool: str, tmp_path: Path) -> None:
    body = """
        test('elsewhere', () => process.chdir('/'));
        test('text', () => { throw 'just words'; });
        test('nothing', () => { throw undefined; });
        test('cause', () => { throw new Error('outer', {cause: new RangeError('inner')}); });
        test('after', () => {});
    """
    document = run(project(tmp_path, tool, {"a.test.js": body}), tool)

    assert outcomes(document) == {
        "a.test.js::elsewhere": "passed",
        "a.test.js::text": "failed",
        "a.test.js::nothing": "failed",
        "a.test.js::cause": "failed",
        "a.test.js::after": "passed",
    }
    assert "just words" in found(document, "a.test.js::text")["message"]
    assert found(document, "a.test.js::cause")["message"] == "outer"


def test_a_flood_of_output_loses_no_test(tool: str, tmp_path: Path) -> None:
    # four times what a pipe holds; jest takes a stack trace for each line
    flood = "for (let n = 0; n < 2600; n++) console.log('x'.repeat(100));"
    root = project(tmp_path, tool, {"a.test.js": ENDS % flood})

    assert set(outcomes(run(root, tool)).values()) == {"passed"}


def test_a_row_of_the_failure_index_can_be_pasted(tool: str, tmp_path: Path) -> None:
    body = "".join(
        f"test('{name}', () => {{ throw new Error('no'); }});\n" for name in ("a | b", "c\\\\d", "\\ud800 e")
    )
    root = project(tmp_path, tool, {"a.test.js": body})
    ids = [test["node_id"] for test in run(root, tool)["tests"]]
    rows = [encode(Row(test, "no")).partition(" | ")[0] for test in ids]

    assert len(rows) == 3
    assert not set(rows) & set(ids)
    for row in rows:
        document = run(root, tool, row)
        assert [test["outcome"] for test in document["tests"]] == ["failed"]


def test_long_and_hostile_names(tool: str, tmp_path: Path) -> None:
    names = ["x" * 5000, "a\\nb", "\\ud800 alone", "$ ^ .* [a] \\\\ /", "::", "</script>"]
    body = "".join(f"test('{name}', () => {{}});\n" for name in names)
    root = project(tmp_path, tool, {"a.test.js": body})
    told = outcomes(run(root, tool))

    assert len(told) == len(names)
    assert set(told.values()) == {"passed"}


def test_the_first_failure_ends_the_run_if_that_is_wanted(tool: str, tmp_path: Path) -> None:
    fails = "".join(f"test('f{n}', () => {{ throw new Error('no'); }});\n" for n in range(3))
    root = project(tmp_path, tool, {f"{name}.test.js": fails for name in "abc"})
    document = run(root, tool, "-x", "-n", "1")

    failed = [test for test in document["tests"] if test["outcome"] == "failed"]
    assert len(failed) == (3 if tool == "jest" else 1)  # jest finishes the file
    assert document["outcome"] == "failed"


def test_no_tests_are_no_success(tool: str, tmp_path: Path) -> None:
    root = project(tmp_path, tool, {"readme.txt": "nothing to run"})

    assert run(root, tool)["outcome"] == "no_tests"


def test_other_programs_do_not_find_the_channel(tool: str, tmp_path: Path) -> None:
    look = """
test('looks', () => {
  const {execFileSync} = process.getBuiltinModule?.('child_process') ?? require('child_process');
  const script = 'console.log(Object.keys(process.env).join())';
  const seen = execFileSync(process.execPath, ['-e', script], {encoding: 'utf8'});
  if (/PROCTOR_(CONTROL|LISTING|NAMES|NODE)/.test(seen)) throw new Error(seen);
});
"""
    root = project(tmp_path, tool, {"a.test.js": look})

    assert outcomes(run(root, tool)) == {"a.test.js::looks": "passed"}


def test_each_tool_owns_the_files_that_ask_for_it(tmp_path: Path) -> None:
    files = {
        "n/a.test.mjs": "import test from 'node:test';\n",
        "v/a.test.ts": "import { test } from 'vitest';\n",
        "j/a.test.js": "const { test } = require('@jest/globals');\n",
        "g/a.test.js": "test('globals', () => {});\n",
        "p/test_a.py": "def test_a(): ...\n",
    }
    write_project(tmp_path, files)
    modules = {"node": node, "vitest": vitest, "jest": jest}

    def owners(target: str) -> set[str]:
        return {name for name, module in modules.items() if module.owns(target, tmp_path)}

    for directory, expected in {
        "n": {"node"},
        "v": {"vitest"},
        "j": {"jest"},
        "g": {"vitest", "jest"},
        "p": set(),
    }.items():
        (file,) = (tmp_path / directory).iterdir()
        path = file.relative_to(tmp_path).as_posix()
        assert owners(directory) == owners(path) == owners(f"{path}::a > b") == expected


def test_two_tools_in_one_project_run_into_one_result(tmp_path: Path) -> None:
    files = {
        "web.test.js": "test('of vitest', () => {});\n",
        "test/server.js": "require('node:test')('of node', () => {});\n",
    }
    root = project(tmp_path, "vitest", files)
    described = '{"scripts": {"test": "node --test test/"}, "devDependencies": {"vitest": "4"}}'
    (root / "package.json").write_text(described)
    ran = proctor("run", "--format", "json", cwd=root)

    assert outcomes(ran.document) == {"test/server.js::of node": "passed", "web.test.js::of vitest": "passed"}
    assert ran.document["outcome"] == "passed"
    one = proctor("run", "--format", "json", "web.test.js::of vitest", cwd=root)
    assert outcomes(one.document) == {"web.test.js::of vitest": "passed"}


def test_expressions_become_patterns() -> None:
    pattern = re.compile(javascript.containing("net and not (slow or Big)").replace("[^]", r"[\s\S]"))

    assert pattern.match("on the\nNET")
    assert not pattern.match("net, slow")
    assert not pattern.match("net, bIG")
    assert not pattern.match("disk")


def test_names_become_patterns_that_match_nothing_else() -> None:
    pattern = re.compile(javascript.exactly(["a > b (1+1) [x]", "c#2"]))

    assert pattern.match("a b (1+1) [x]")
    assert pattern.match("a > b (1+1) [x]")
    assert pattern.match("c")
    assert not pattern.match("a b (1+1) [x] and more")
    assert not pattern.match("cc")


@pytest.mark.parametrize("tool", ["jest", "vitest"])  # node takes words only
def test_keywords_may_be_an_expression(tmp_path: Path, tool: str) -> None:
    text = """
        describe('net', () => { test('fast', () => {}); test('slow', () => {}); });
        test('disk', () => {});
    """
    root = project(tmp_path, tool, {"a.test.js": text})

    assert outcomes(run(root, tool, "-k", "net and not SLOW or disk")) == {
        "a.test.js::net > fast": "passed",
        "a.test.js::disk": "passed",
    }


@pytest.mark.parametrize(("tool", "older"), [("jest", "jest@29.7.0"), ("vitest", "vitest@3.2.4")])
def test_an_older_tool_is_heard_as_well(tmp_path: Path, tool: str, older: str) -> None:
    text = "test('x', () => {});\ntest('y', () => process.abort());\n"
    root = project(tmp_path, tool, {"a.test.js": text})
    (root / "node_modules").unlink()
    (root / "node_modules").symlink_to(node_modules(older))

    assert outcomes(run(root, tool)) == {"a.test.js::x": "passed", "a.test.js::y": "crash"}

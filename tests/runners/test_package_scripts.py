"""What `npm test` would run, read from package.json alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.projects import write_project

from proctor.runners import package_scripts, shell
from proctor.runners.package_scripts import Call


def package(root: Path, **scripts: str) -> Path:
    return write_project(root, {"package.json": json.dumps({"scripts": scripts})})


def told(call: Call) -> str:
    """The call as words of one line, with the tool and its files marked."""
    parts = [*call.assignments, *call.before]
    words = " ".join([*(part.text for part in parts), f"[{call.tool}]", *(one.text for one in call.options)])
    return " ".join([words, "|", *(file.text for file in call.files)]).strip()


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("node --test", "[node] |"),
        ("node --test test/ checks/one.js", "[node] | test/ checks/one.js"),
        ("node --test 'test/**/*.js'", "[node] | 'test/**/*.js'"),
        ("node --test-name-pattern x --test a.js", "[node] --test-name-pattern=x | a.js"),
        ("node --import ./setup.js --test", "[node] --import=./setup.js |"),
        ("node -r ts-node/register --test test/*.ts", "[node] -r ts-node/register | test/*.ts"),
        ("node --test --watch", "[node] |"),
        ("NODE_OPTIONS=--no-warnings node --test", "NODE_OPTIONS=--no-warnings [node] |"),
        ("c8 --100 node --test", "c8 --100 [node] |"),
        ("npx c8 -r html node --test a.js", "c8 -r html [node] | a.js"),
        ("cross-env X=1 node --test", "cross-env X=1 [node] |"),
        ("timeout 60 node --test >out.txt 2>&1", "timeout 60 [node] |"),
        ("/usr/bin/node --test $(ls test/*.js)", "[node] | $(ls test/*.js)"),
        ("tsx --test src/a.test.ts", "[node] | src/a.test.ts"),
        ("node test.js", "[node] | test.js"),
        ("node test", "[node] | test.js"),
        ("node tests/", "[node] | tests/index.js"),
        ("nyc -- node ./test/index.js", "nyc -- [node] | ./test/index.js"),
        ("node run.js", "[node] | run.js"),
        ("eslint . && node test.js", "[node] | test.js"),
        ("jest", "[jest] |"),
        ("jest --config x.json jest.test.js", "[jest] --config x.json | jest.test.js"),
        (
            "node --experimental-vm-modules node_modules/jest/bin/jest.js -i",
            "node --experimental-vm-modules [jest] -i |",
        ),
        ("yarn jest --coverage src", "[jest] --coverage | src"),
        ("vitest", "[vitest] |"),
        ("vitest run --coverage src/a", "[vitest] --coverage | src/a"),
        ("pnpm exec vitest --run --config c.ts", "[vitest] --run --config c.ts |"),
        ("npm run unit", "[node] | unit/"),
        ("npm run unit -- --only", "[node] | unit/ --only"),
        ("CI=1 c8 npm run unit", "CI=1 c8 [node] | unit/"),
        ("npm run lint && npm run -s unit", "[node] | unit/"),
        ("yarn unit", "[node] | unit/"),
        ("yarn run jest -i", "[jest] -i |"),
        ("node --run unit", "[node] | unit/"),
        ("run-s lint unit", "[node] | unit/"),
        ("echo start && node --test; exit 0", "[node] |"),
        ("node --test || true", "[node] |"),
        ("node --test | tap-spec", "[node] |"),
    ],
)
def test_a_script_names_the_tool_its_options_and_its_files(
    tmp_path: Path, script: str, expected: str
) -> None:
    write_project(tmp_path, {"test.js": "", "run.js": "", "test/index.js": "", "tests/index.js": ""})
    package(tmp_path, test=script, unit="node --test unit/", lint="eslint .")

    assert [told(call) for call in package_scripts.read(tmp_path).calls] == [expected]


@pytest.mark.parametrize(
    "script",
    [
        "tape test/*.js",
        "mocha --test node",
        "ava",
        "uvu test",
        "tap test.js",
        "karma start",
        "make test",
        "bun test",
        "deno test",
        "react-scripts test",
        "vitest bench",
        "npm test --workspaces",
        "npm run unit -w one",
        "pnpm -r test",
        "lerna run test",
        "c8 mocha",
        "npx tap",
        "node run.js && make test",
        "node -e 'require(\"x\")'",
        "node missing.js",
        "node test.js --some --arguments",
        "cd packages/one && node --test",
        "(cd one; node --test)",
        "for f in *.js; do node $f; done",
        "npm run absent",
        "ESLINT=1 eslint .",
    ],
)
def test_what_no_runner_knows_is_said_with_what_would_do(tmp_path: Path, script: str) -> None:
    write_project(tmp_path, {"test.js": "", "run.js": ""})
    package(tmp_path, test=script, unit="node --test unit/")
    assert not package_scripts.read(tmp_path).calls

    (said,) = package_scripts.left_out(tmp_path, ("pytest",))
    assert script.split(" && ")[0].split(";")[0] in said
    assert "known: node --test, vitest, jest" in said
    assert "[[tool.proctor.tests]]" in said
    assert "--runner command" in said


def test_several_commands_are_several_calls_and_nothing_is_left_out_in_silence(tmp_path: Path) -> None:
    package(
        tmp_path,
        pretest="npm run build",
        build="tsc -p .",
        test="npm run test:unit && npm run test:jest && tstyche",
        posttest="node --test late",
        **{"test:unit": "c8 --100 node --test", "test:jest": "jest jest.test.js", "test:e2e": "vitest run"},
    )
    script = package_scripts.read(tmp_path)

    assert [told(call) for call in script.calls] == [
        "c8 --100 [node] |",
        "[jest] | jest.test.js",
        "[node] | late",
    ]
    (said,) = package_scripts.left_out(tmp_path, ("node", "jest"))
    assert said == "`npm test` also runs `tsc -p .`, `tstyche`, which proctor does not run"


def test_coverage_of_several_commands_together_is_left_out_and_said(tmp_path: Path) -> None:
    package(tmp_path, test="c8 --100 npm run both", both="node --test a && node --test b")
    script = package_scripts.read(tmp_path)

    assert [told(call) for call in script.calls] == ["[node] | a", "[node] | b"]
    assert script.others == ("c8 --100",)


def test_a_status_that_the_script_itself_gives_is_said(tmp_path: Path) -> None:
    package(tmp_path, test="echo begin; node --test; exit 1")

    assert package_scripts.read(tmp_path).others == ("exit 1",)


def test_any_file_that_node_runs_beside_tests_is_one(tmp_path: Path) -> None:
    write_project(tmp_path, {"checks/one.js": ""})
    package(tmp_path, test="node --test a && node checks/one.js && eslint .")

    calls = [told(call) for call in package_scripts.read(tmp_path).calls]
    assert calls == ["[node] | a", "[node] | checks/one.js"]


def test_scripts_that_call_each_other_come_to_an_end(tmp_path: Path) -> None:
    package(tmp_path, test="npm run a", a="npm test && node --test")

    assert len(package_scripts.read(tmp_path).calls) == 1


def test_scripts_that_multiply_are_read_up_to_a_limit_and_the_rest_is_said(tmp_path: Path) -> None:
    scripts = {f"s{n}": f"npm run s{n + 1} && npm run s{n + 1} -- {n}" for n in range(60)}
    package(tmp_path, test="npm run s0", **scripts, s60="node --test")

    assert any(text.startswith("npm run s") for text in package_scripts.read(tmp_path).others)


def test_the_same_tests_in_other_surroundings_are_run_again(tmp_path: Path) -> None:
    package(tmp_path, test="MODE=a npm run unit && MODE=b npm run unit", unit="node --test")

    calls = [told(call) for call in package_scripts.read(tmp_path).calls]
    assert calls == ["MODE=a [node] |", "MODE=b [node] |"]


@pytest.mark.parametrize("test", [None, 'echo "Error: no test specified" && exit 1'])
def test_without_a_test_script_all_that_call_a_tool_decide(tmp_path: Path, test: str | None) -> None:
    scripts = {"unit": "node --test unit", "e2e": "node --test e2e", "unit:cov": "c8 node --test unit"}
    package(
        tmp_path, **scripts, **{"unit:watch": "node --test --watch src"}, **({"test": test} if test else {})
    )

    calls = [told(call) for call in package_scripts.read(tmp_path).calls]
    assert calls == ["[node] | unit", "[node] | e2e"]


@pytest.mark.parametrize(
    "text", ["", "[]", "null", '{"scripts": []}', '{"scripts": {"test": 1}}', "\ufeff{}", "{"]
)
def test_a_package_that_says_nothing_is_no_trouble(tmp_path: Path, text: str) -> None:
    write_project(tmp_path, {"package.json": text})

    assert package_scripts.read(tmp_path) == package_scripts.Script()
    assert package_scripts.left_out(tmp_path, ("pytest",)) == []


def test_workspaces_that_no_script_runs_are_said(tmp_path: Path) -> None:
    write_project(tmp_path, {"package.json": '{"workspaces": ["packages/*"]}'})

    (said,) = package_scripts.left_out(tmp_path, ("pytest",))
    assert "workspaces" in said


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a&&b||c;d|e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a 2>&1 >x <y b", [["a", "b"]]),
        ('a "x\\"y" \'$z\'', [["a", 'x"y', "$z"]]),
        ("a $(b `c` (d)) e", [["a", "$(b `c` (d))", "e"]]),
        ("", []),
        ("  &&  ", []),
    ],
)
def test_a_line_of_shell_is_commands_of_words(line: str, values: list[list[str]]) -> None:
    assert [[word.value for word in command.words] for command in shell.commands(line)] == values


@pytest.mark.parametrize("line", ["(a)", "a 'b", 'a "b', "a `b", "a $(b", "a )"])
def test_what_is_no_plain_line_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        shell.commands(line)

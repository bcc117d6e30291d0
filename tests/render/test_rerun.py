"""Commands that run tests again: words for a shell, and what a real shell makes of them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from support.made_runs import failed, run_of
from support.projects import (
    GUARD,
    clean_environment,
    outcomes,
    proctor,
    project_python,
    run_suite,
    write_project,
)

from proctor import events as e
from proctor.archive.lookup import find_run
from proctor.archive.read_log import read_log
from proctor.render.agent import SHELL, Hints
from proctor.render.rerun import project_option, rerun
from proctor.result import RunResult

HERE = e.Invocation("/home/me/shop", "/home/me/shop")


def result(invocation: e.Invocation | None, *tests: str) -> RunResult:
    found = run_of(*(failed(test, "assert 1 == 2") for test in tests or ("t.py::a",)))
    found.run = msgspec.structs.replace(found.run, invocation=invocation)
    return found


@pytest.mark.parametrize(
    "invocation, command",
    [
        (None, "proctor run t.py::a"),
        (HERE, "proctor run t.py::a"),
        (e.Invocation("/home/me/shop", "/home/me"), "proctor run -C shop t.py::a"),
        (e.Invocation("/home/me/my shop", "/home/me"), "proctor run -C 'my shop' t.py::a"),
        (e.Invocation("/home/me/-shop", "/home/me"), "proctor run -C ./-shop t.py::a"),
        (e.Invocation("/home/me/shop", "/home/me/shop/src"), "proctor run -C .. t.py::a"),
        (e.Invocation("/home/me/shop", "/home/me/till"), "proctor run -C ../shop t.py::a"),
        (e.Invocation("/srv/shop", "/home/me/a/b/c"), "proctor run -C /srv/shop t.py::a"),
        (e.Invocation("/srv/shop"), "proctor run -C /srv/shop t.py::a"),
        (
            e.Invocation("/home/me/shop", "/home/me", ("--python", "/home/me/.venv/bin/python")),
            "proctor run -C shop --python .venv/bin/python t.py::a",
        ),
        (
            e.Invocation("/home/me/shop", "/home/me", ("--python", "/home/me/.venv", "--seed", "3")),
            "proctor run -C shop --python ./.venv --seed 3 t.py::a",
        ),
        (
            e.Invocation("/s", "/s", ("--python", "/opt/python", "--runner", "pytest,tap")),
            "proctor run --python /opt/python --runner pytest,tap t.py::a",
        ),
        (
            e.Invocation("/s", "/s", (), ("-p", "no:randomly", "--ds=a b"), "pytest"),
            "proctor run t.py::a -- -p no:randomly '--ds=a b'",
        ),
        (e.Invocation("/s", "/s", (), ("--race",), "go"), "proctor run t.py::a"),
    ],
)
def test_a_command_repeats_what_decides_how_a_test_runs(
    invocation: e.Invocation | None, command: str
) -> None:
    assert rerun(result(invocation), ["t.py::a"]) == command


def test_many_tests_are_found_in_the_archive_if_the_run_is_kept() -> None:
    asked = e.Invocation("/home/me/shop", "/home/me", ("--runner", "pytest"))
    few, many, all_of_them = ([f"t.py::{n}" for n in range(count)] for count in (5, 6, 51))

    assert rerun(result(asked), few) == f"proctor run -C shop --runner pytest {' '.join(few)}"
    assert rerun(result(asked), many) == "proctor run -C shop --runner pytest --last-failed"
    lost = msgspec.structs.replace(asked, kept=False)
    assert rerun(result(lost), many) == f"proctor run -C shop --runner pytest {' '.join(many)}"
    assert rerun(result(lost), all_of_them) == ""


def test_there_is_no_command_without_tests_or_without_a_runner() -> None:
    unknown = result(HERE)
    unknown.run = msgspec.structs.replace(unknown.run, runner="")

    assert rerun(result(HERE), []) == ""
    assert rerun(unknown, ["a"]) == ""


@pytest.mark.parametrize(
    "test, word",
    [
        ("example.com/shop::TestPrice/tea_&_cup", "example.com/shop::TestPrice/tea_&_cup"),
        (
            "shop::doc-tests::src/lib.rs - add (line 3)",
            "shop::doc-tests::src/lib.rs - add (line 3)",
        ),
        ('test/a.test.js::it\'s > "x" $HOME', 'test/a.test.js::it\'s > "x" $HOME'),
        ("-d/test_a.py::t", "./-d/test_a.py::t"),
        ("@d/test_a.py::t", "./@d/test_a.py::t"),
        ("t.py::t[a\nb\\c]", "t.py::t[a\\nb\\\\c]"),
        ("t.py::t[\x1b[31m\u202e]", "t.py::t[\\u001b[31m\\u202e]"),
        ("/a program", "/a program"),
    ],
)
def test_a_shell_reads_an_id_as_one_word(test: str, word: str) -> None:
    command = rerun(result(HERE), [test])

    assert shlex.split(command) == ["proctor", "run", word]
    assert command.isprintable()


def test_commands_of_the_text_for_agents_name_the_project_only_where_it_is_elsewhere() -> None:
    away = result(e.Invocation("/home/me/my shop", "/home/me"))

    assert project_option(result(HERE)) == project_option(result(None)) == ""
    run_id = away.run.run_id
    assert SHELL.fill(SHELL.whole, away) == f"proctor show {run_id} -C 'my shop'"
    assert SHELL.fill(SHELL.test, result(HERE), ["a"]) == f"proctor show {run_id} --test a"
    call = Hints('get_run(run_id="{run}")', "", "", "", "", quotes_as_json=True)
    assert call.fill(call.whole, away) == f'get_run(run_id="{run_id}")'


# In a real shell


def pasted(line: str, cwd: Path, bin_directory: Path) -> dict[str, str]:
    """The outcomes of a command line, as a person would paste it."""
    bin_directory.mkdir(exist_ok=True)
    script = bin_directory / "proctor"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m proctor "$@"\n')
    script.chmod(0o755)
    line = line.replace("proctor run", "proctor run --no-archive --format json", 1)
    ran = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=cwd,
        env=clean_environment(PATH=f"{bin_directory}:{os.environ['PATH']}"),
        capture_output=True,
        timeout=GUARD,
        check=False,
    )
    assert ran.returncode == 1, ran.stderr
    return outcomes(json.loads(ran.stdout))


def kept_result(root: Path) -> RunResult:
    return read_log(find_run("last", root, os.environ)).result


def failing(tests: Iterable[str]) -> dict[str, str]:
    return dict.fromkeys(tests, "failed")


ODD = [
    "a b",
    "it's",
    'a"b',
    "$HOME",
    "`x`",
    "a;b|c",
    "[b]",
    "*",
    "ünï 😀",
    "a\\b",
    "tab\there",
    "#2",
    "!x",
    "~",
]


def test_any_id_of_pytest_runs_that_test_alone_when_it_is_pasted(tmp_path: Path) -> None:
    parameters = f"@pytest.mark.parametrize('x', {ODD!r}, ids=lambda x: x)"
    text = f"import pytest\n{parameters}\ndef test_it(x): assert not x\n"
    project = write_project(tmp_path / "my shop", {"-dash dir/test_a.py": text, "test_b.py": text})
    ran = proctor(
        "run", "-C", "my shop", "--python", project_python(), cwd=tmp_path, environ=clean_environment()
    )
    assert ran.code == 1
    found = kept_result(project)
    tests = list(found.tests)
    assert len(tests) == 2 * len(ODD)

    for some in (tests[:5], tests[5:10], tests[10:14], tests[-1:]):
        again = pasted(rerun(found, some), tmp_path, tmp_path / "bin")
        assert again == failing(some)


def test_the_line_that_is_printed_works_from_where_the_person_stands(tmp_path: Path) -> None:
    write_project(tmp_path / "shop", {"test_a.py": "def test_a(): assert 0\ndef test_b(): pass\n"})
    command = ("run", "-C", "shop", "--python", project_python(), "--runner", "pytest", "--format", "human")
    ran = proctor(*command, "--", "-p", "no:cacheprovider", cwd=tmp_path, environ=clean_environment())
    (line,) = [line.partition("rerun: ")[2] for line in ran.out.splitlines() if "rerun: " in line]
    elsewhere = tmp_path / "bin"
    elsewhere.mkdir()
    shown = proctor("show", "-C", "../shop", "--format", "human", cwd=elsewhere).out
    (other,) = [line.partition("rerun: ")[2] for line in shown.splitlines() if "rerun: " in line]

    assert line.startswith("proctor run -C shop --python ")
    assert line.endswith("test_a.py::test_a -- -p no:cacheprovider")
    assert other.startswith("proctor run -C ../shop --python ")
    assert pasted(line, tmp_path, elsewhere) == {"test_a.py::test_a": "failed"}
    assert pasted(other, elsewhere, elsewhere) == {"test_a.py::test_a": "failed"}


def test_ids_of_other_runners_run_that_test_alone_when_they_are_pasted(tmp_path: Path) -> None:
    project = write_project(
        tmp_path / "shop",
        {
            "proctor.toml": '[[tests]]\nname = "odd $name"\ncommand = "false"\n',
            "t/it's odd.t": "#!/bin/sh\nprintf '1..1\\nnot ok 1 - a \"b\" $c\\n'\n",
            "test_u.py": "import unittest\nclass T(unittest.TestCase):\n  def test_x(self): self.fail()\n"
            "  def test_y(self): pass\n",
        },
    )
    run_suite(project, "--runner", "command,tap")
    found = kept_result(project)
    (run,) = {found.run.invocation}
    assert run is not None and run.options[2:] == ("--runner", "command,tap")
    bin_directory = tmp_path / "bin"
    for test in found.tests:
        assert list(pasted(rerun(found, [test]), project, bin_directory)) == [test]

    run_suite(project, "--runner", "unittest")
    found = kept_result(project)
    line = rerun(found, ["test_u.py::T::test_x"])
    assert "--runner unittest" in line
    assert pasted(line, project, bin_directory) == {"test_u.py::T::test_x": "failed"}

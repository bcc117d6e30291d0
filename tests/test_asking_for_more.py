"""What a caller can ask for beyond a plain run: repeats, a seed, local variables, variables for the tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.mcp_client import talk
from support.projects import Ran, run_suite, write_project

from proctor import config
from proctor.config import Settings
from proctor.errors import UsageError

FLAKY = """
    import itertools

    numbers = itertools.count()

    def test_flaky():
        n = next(numbers)
        assert n != 1, "odd one"
        assert n != 3

    def test_ok(tmp_path):
        (tmp_path / "x").mkdir()
    """


def agent(root: Path, *arguments: str) -> Ran:
    return run_suite(root, "--format", "agent", *arguments)


@pytest.mark.parametrize("more", [(), ("-n", "2")], ids=["serial", "workers"])
def test_a_test_that_fails_in_one_of_its_tries_has_failed_with_every_message(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    ran = agent(write_project(tmp_path, {"test_a.py": FLAKY}), "--repeat", "5", *more)

    assert ran.code == 1
    assert ran.out.splitlines() == [
        "1 failed 1 passed",
        "test_a.py::test_flaky :7 AssertionError: odd one; assert 1 != 1",
        " failed in 2 of 5 tries",
        " another try: assert 3 != 3",
    ]


def test_tests_that_pass_every_time_are_counted_once(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_a(tmp_path): pass\n"})

    assert agent(root, "--repeat", "20").out == "1 passed\n"


LOCALS = """
    class Query:
        def __repr__(self):
            raise SystemExit("a query went to the database")

    class Shown:
        def __repr__(self): return "<Shown 7>"

    def helper(amount, shown, kind):
        query = kind()
        doubled = amount * 2
        assert doubled == 5

    def test_a():
        password = "hunter2hunter2"
        helper(21, Shown(), Query)
    """


def test_local_variables_are_kept_without_running_code_of_the_project(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": LOCALS})
    assert "doubled" not in agent(root).out

    shown = run_suite_show(root, "--locals")
    assert "test_a.py:11 in helper" in shown
    assert "doubled = 42" in shown
    assert "query = <Query>" in shown
    assert "hunter2" not in shown


def test_local_variables_that_were_asked_for_come_with_the_failure_in_their_own_words(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": LOCALS.replace("Shown(), Query", "Shown(), dict")})

    assert " locals: amount = 21, shown = <Shown 7>, query = {}, doubled = 42" in agent(root, "--locals").out


def run_suite_show(root: Path, *arguments: str) -> str:
    from support.projects import proctor

    return proctor("show", "last", "--test", "test_a.py::test_a", *arguments, cwd=root).out


SEEN = "import os\ndef test_a():\n    assert {name: os.environ.get(name) for name in %r} == {}\n"


def test_a_seed_is_that_of_hashes(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": SEEN % (("PYTHONHASHSEED", "PROCTOR_ASKED"),)})

    told = agent(root, "--seed", "7", "--repeat", "2").out

    assert "at ['PYTHONHASHSEED']: only on the left: '7'" in told
    assert "at ['PROCTOR_ASKED']: only on the left: None" in told


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--repeat", "0"), "invalid --repeat 0: expected 1 to 10000"),
        (("--seed", "-1"), "invalid --seed -1"),
        (("--retries", "-1"), "proctor: invalid --retries -1: expected 0 or more [usage]\n"),
        (("--retries", "1001"), "proctor: invalid --retries 1001: expected at most 1000 [usage]\n"),
        (("--retries", "9" * 5000), ": expected a whole number [usage]\n"),
        (("--retries", "two"), "proctor: invalid --retries 'two': expected a whole number [usage]\n"),
        (("--retries",), "proctor: --retries needs a value [usage]\n"),
        (
            ("--test-timeout", "soon"),
            "invalid --test-timeout 'soon': expected e.g. 90, 15m or 1h 30m [usage]\n",
        ),
        (("--test-timeout", "-1"), "invalid --test-timeout '-1': expected e.g. 90, 15m or 1h 30m [usage]\n"),
        (("--flaky", "maybe"), "proctor: invalid --flaky 'maybe'; known: pass, fail [usage]\n"),
        (("--flaky=fial",), "proctor: invalid --flaky 'fial'; did you mean fail? [usage]\n"),
        (("--parallel", "spawn"), "proctor: invalid --parallel 'spawn'; known: fork, xdist, off [usage]\n"),
        (("--isolate", "--parallel", "xdist"), "expected --parallel fork, or none [usage]\n"),
        (("-n", "many"), "proctor: invalid -n 'many': expected a number of processes or auto [usage]\n"),
        (("-n", "-2"), "proctor: invalid -n '-2': expected a number of processes or auto [usage]\n"),
        (("-n", ""), "proctor: invalid -n '': expected a number of processes or auto [usage]\n"),
        (("-n", "1001"), "proctor: invalid -n 1001: expected at most 1000 [usage]\n"),
        (("--runner", "unittest", "--repeat", "2"), "repeat: unittest has no such option; it is for pytest"),
        (
            ("--runner", "command", "--seed", "1"),
            "seed: command has no such option; it is for pytest, unittest",
        ),
    ],
)
def test_an_option_that_cannot_be_met_is_refused(
    tmp_path: Path, arguments: tuple[str, ...], why: str
) -> None:
    ran = agent(write_project(tmp_path, {"test_a.py": "def test_a(): pass\n"}), *arguments)

    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)
    assert why in ran.err
    assert not (tmp_path / ".proctor").exists()


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD",
        "ld_preload",
        "PYTHONPATH",
        "PYTEST_ADDOPTS",
        "PATH",
        "HOME",
        "PROCTOR_X",
        "DYLD_LIBRARY_PATH",
        "BAD-NAME",
        "",
        "A=B",
        "OTHER",
    ],
)
def test_a_caller_sets_only_variables_that_the_project_allows(name: str) -> None:
    settings = Settings(allow_env=("*",) if name != "OTHER" else ("DJANGO_*",))

    with pytest.raises(UsageError, match="env: "):
        config.allowed_environment({name: "x"}, settings)


def test_a_server_passes_all_of_it_on(tmp_path: Path) -> None:
    files = {
        "test_a.py": SEEN % (("DJANGO_DEBUG", "PYTHONHASHSEED"),),
        "proctor.toml": 'allow_env = ["DJANGO_*"]\n',
    }
    with talk(write_project(tmp_path, files)) as client:
        told = client.call("execute_tests", env={"DJANGO_DEBUG": "1"}, seed=3, repeat=2, locals=True)
        refused = client.refusal("execute_tests", env={"LD_PRELOAD": "x"})

    assert told.structured_content is not None
    text = told.structured_content["text"]
    assert "['DJANGO_DEBUG']: only on the left: '1'" in text
    assert "['PYTHONHASHSEED']: only on the left: '3'" in text
    assert "failed in 2 of 2 tries" in text
    assert "env: 'LD_PRELOAD' cannot be set by a caller" in refused

"""The request that the options of `proctor run` make."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support.projects import run_suite, write_project

from proctor.cli import options, run
from proctor.errors import UsageError
from proctor.mcp_server import schemas
from proctor.mcp_server.access import Access
from proctor.mcp_server.runs import ServerRuns
from proctor.mcp_server.tools import Tools
from proctor.plan_run import Asked, RunPlan


@pytest.mark.parametrize(
    "given, repeated",
    [
        ("-n 4 --retries 2 --flaky fail --parallel fork", ""),
        ("--test-timeout 1m --isolate", "--test-timeout 1m --isolate"),
        ("--test-timeout 0", "--test-timeout 0"),
        (
            "--isolate --runner unittest --repeat 3 --seed 0",
            "--runner unittest --seed 0 --repeat 3 --isolate",
        ),
    ],
)
def test_a_command_that_runs_tests_again_repeats_what_decides_how_they_run(given: str, repeated: str) -> None:
    parsed = run.parser().parse_args(given.split())

    assert options.invocation(parsed, Path("/shop")).options == tuple(repeated.split())


def test_a_wrong_setting_is_one_line_that_names_the_file_and_starts_nothing(tmp_path: Path) -> None:
    root = write_project(
        tmp_path, {"test_a.py": "def test_a(): pass\n", "proctor.toml": 'workers = "many"\n'}
    )
    ran = run_suite(root)

    expected = f"{root}/proctor.toml: invalid workers 'many': expected a number of processes or auto"
    assert (ran.code, ran.out, ran.err) == (4, "", f"proctor: {expected} [config]\n")
    assert not (root / ".proctor").exists()


@pytest.mark.parametrize(
    "given, expected",
    [
        ("", (None, None, None, None, "", False)),
        ("-n 0 --test-timeout 0 --retries 0 --flaky pass", ("", 0.0, 0, False, "", False)),
        (
            "-n auto --test-timeout 1m --retries 2 --flaky=fail --parallel off --isolate",
            ("auto", 60.0, 2, True, "off", True),
        ),
    ],
)
def test_an_option_that_is_not_given_is_left_to_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, expected: object
) -> None:
    requests: list[Asked] = []

    def plan(asked: Asked, *_: object) -> RunPlan:
        requests.append(asked)
        raise UsageError("enough")

    monkeypatch.setattr(run, "plan_run", plan)
    with pytest.raises(UsageError, match="enough"):
        run.main(["-C", str(tmp_path), *given.split()])

    (one,) = requests
    tries = (one.workers, one.test_timeout, one.retries, one.flaky_fails)
    assert (*tries, one.parallel, one.isolate) == expected


@pytest.mark.parametrize(
    "given, expected",
    [
        ({}, ("3", 9.0, 2)),
        ({"workers": 2, "test_timeout": 1.5, "retries": 0}, ("2", 1.5, 0)),
        ({"workers": "auto", "retries": 4}, ("auto", 9.0, 4)),
    ],
)
def test_a_client_of_the_server_wins_over_the_settings_too(
    tmp_path: Path, given: dict[str, object], expected: object
) -> None:
    settings = "workers = 3\nretries = 2\ntest_timeout = 9\n"
    root = write_project(tmp_path, {"test_a.py": "import unittest\n", "proctor.toml": settings})
    tools = Tools(Access([root], [sys.executable], {"PATH": os.environ["PATH"]}), ServerRuns(1))
    spec = tools._plan(schemas.check(schemas.ExecuteTests, {"runner": "unittest", **given})).spec

    assert (spec.workers, spec.test_timeout, spec.retries) == expected


@pytest.mark.parametrize("given", [{"retries": -1}, {"test_timeout": 0}, {"workers": 0}, {"workers": "many"}])
def test_a_client_of_the_server_is_told_which_number_is_wrong(given: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"^{next(iter(given))}: "):
        schemas.check(schemas.ExecuteTests, given)

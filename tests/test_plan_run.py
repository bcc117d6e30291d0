"""What request and settings add up to: the request wins, and the settings are only defaults."""

from __future__ import annotations

import os
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.projects import write_project

from proctor.config import QuarantineSettings, Settings, TestSettings
from proctor.errors import UsageError
from proctor.plan_run import Asked, RunPlan, plan_run
from proctor.spec import Quarantined

PYTHON = {"test_a.py": "def test_a(): pass\n"}
UNITTEST = {"test_a.py": "import unittest\n"}
TAP = {"t/a.t": "#!/bin/sh\n"}
EVERYTHING: dict[str, Any] = {"workers": "2", "test_timeout": 5.0, "retries": 2, "isolate": True, "repeat": 3}


def planned(root: Path, settings: Settings | None = None, **asked: Any) -> RunPlan:
    request = Asked(root=root, python=sys.executable, **asked)
    return plan_run(request, settings or Settings(), {"PATH": os.environ["PATH"]})


def test_settings_are_used_where_nobody_asks_and_a_request_wins(tmp_path: Path) -> None:
    write_project(tmp_path, UNITTEST)
    settings = Settings(test_timeout="1m", workers=3, retries=2, max_retried=7, max_restarts=5, flaky="fail")
    usual = planned(tmp_path, settings, runner="unittest").spec
    asked = planned(
        tmp_path, settings, runner="unittest", test_timeout=0.0, workers="", retries=0, flaky_fails=False
    ).spec

    assert (usual.test_timeout, usual.workers, usual.retries, usual.flaky_fails) == (60.0, "3", 2, True)
    assert (usual.max_retried, usual.max_restarts) == (7, 5)
    assert (asked.test_timeout, asked.workers, asked.retries, asked.flaky_fails) == (0.0, "", 0, False)


def test_without_settings_nothing_is_spread_limited_or_tried_again(tmp_path: Path) -> None:
    spec = planned(write_project(tmp_path, PYTHON)).spec

    assert (spec.workers, spec.parallel, spec.isolate, spec.test_timeout, spec.retries) == (
        "",
        "",
        False,
        0,
        0,
    )
    assert (spec.max_retried, spec.max_restarts, spec.flaky_fails, spec.quarantine) == (50, 20, False, ())


def test_a_list_of_tests_takes_no_notice_of_how_they_would_run(tmp_path: Path) -> None:
    settings = Settings(
        workers=3, retries=2, test_timeout=9, quarantine=(QuarantineSettings("a", until="2001-01-31"),)
    )
    plan = planned(write_project(tmp_path, PYTHON), settings, collect_only=True)

    assert (plan.spec.workers, plan.spec.retries, plan.spec.test_timeout) == ("", 0, 0.0)
    assert plan.prepared.notices == ()


def test_a_quarantine_that_has_ended_is_left_out_with_a_notice(tmp_path: Path) -> None:
    long = date.today() + timedelta(days=400)
    entries = ("a", QuarantineSettings("b", until="2001-01-31"), QuarantineSettings("c", "why", long))
    plan = planned(write_project(tmp_path, PYTHON), Settings(quarantine=entries))

    assert plan.spec.quarantine == (Quarantined("a"), Quarantined("c", "why"))
    assert plan.prepared.notices == ("the quarantine of 'b' ended on 2001-01-31: its failures count again",)


def test_a_runner_that_was_found_runs_without_the_options_that_it_lacks(tmp_path: Path) -> None:
    plan = planned(write_project(tmp_path, TAP), **EVERYTHING, parallel="fork")

    assert plan.prepared.runner == "tap"
    assert plan.prepared.notices == (
        "--repeat: tap has no such option; it is for pytest; its tests run without it",
        "--parallel: tap has no such option; it is for pytest; its tests run without it",
        "--isolate: tap has no such option; it is for pytest, unittest; its tests run without it",
        "--retries: tap has no such option; it is for pytest, unittest; its tests run without it",
        "--test-timeout: tap has no such option; it is for pytest, unittest; its tests run without it",
        "-n: tap has no such option; its tests run without it",
    )


@pytest.mark.parametrize("asked", [{"selection": ("t/a.t",)}, {"settings": Settings(runner="tap")}, {}])
def test_only_a_name_on_the_command_line_makes_a_lacking_option_an_error(
    tmp_path: Path, asked: dict[str, Any]
) -> None:
    from proctor.spec import Selection

    selection = Selection(asked.get("selection", ()))
    root = write_project(tmp_path, {**PYTHON, **TAP})
    plan = planned(root, asked.get("settings"), selection=selection, retries=1)

    assert plan.prepared.notices == (
        "--retries: tap has no such option; it is for pytest, unittest; its tests run without it",
    )
    with pytest.raises(UsageError, match=r"^--retries: tap has no such option; it is for pytest, unittest$"):
        planned(root, asked.get("settings"), selection=selection, retries=1, runner="tap")


@pytest.mark.parametrize(
    "option, shown",
    [
        ("retries", "--retries: command has no such option; it is for pytest, unittest"),
        ("isolate", "--isolate: command has no such option; it is for pytest, unittest"),
        ("test_timeout", "--test-timeout: command has no such option; it is for pytest, unittest"),
        ("repeat", "--repeat: command has no such option; it is for pytest"),
        ("parallel", "--parallel: command has no such option; it is for pytest"),
    ],
)
def test_a_runner_that_was_named_refuses_each_option_that_it_lacks(
    tmp_path: Path, option: str, shown: str
) -> None:
    settings = Settings(tests=(TestSettings("x", "true"),))
    given = {**EVERYTHING, "parallel": "off"}[option]

    with pytest.raises(UsageError, match=f"^{shown}$"):
        planned(tmp_path, settings, runner="command", **{option: given})


def test_settings_are_no_reason_for_a_notice_or_an_error_about_a_runner_that_lacks_them(
    tmp_path: Path,
) -> None:
    write_project(tmp_path, {**UNITTEST, **TAP})
    settings = Settings(workers="auto", retries=2, test_timeout="1m")

    for runner in ("unittest,tap", "tap"):
        assert planned(tmp_path, settings, runner=runner).prepared.notices == ()
    assert planned(tmp_path, Settings(retries=2, test_timeout=9), runner="").prepared.notices == ()
    with pytest.raises(UsageError, match=r"^--retries: tap has no such option"):
        planned(tmp_path, settings, runner="tap", retries=2)  # as the settings say, but asked for


@pytest.mark.parametrize(
    "asked, environment",
    [
        ({}, None),
        ({"workers": "2"}, {"workers": 2}),
        ({"retries": 2}, None),
        ({"test_timeout": 2.5, "isolate": True}, {"test_timeout": 2.5, "isolate": True}),
    ],
)
def test_a_session_of_unittest_is_told_what_was_asked(
    tmp_path: Path, asked: dict[str, Any], environment: object
) -> None:
    import json

    plan = planned(write_project(tmp_path, UNITTEST), runner="unittest", **asked)
    told = plan.prepared.suites[0].launches[0].environment.get("PROCTOR_ASKED")

    assert plan.prepared.notices == ()
    assert (told and json.loads(told)) == environment


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_a_session_is_told_about_the_quarantine_unless_it_is_too_long(tmp_path: Path, runner: str) -> None:
    write_project(tmp_path, UNITTEST)
    plan = planned(tmp_path, Settings(quarantine=("a", "ü*")), runner=runner)

    assert plan.prepared.suites[0].launches[0].environment["PROCTOR_ASKED"] == (
        '{"quarantine": ["a", "\\u00fc*"]}'
    )
    with pytest.raises(UsageError, match=r"quarantine: 9000 entries are .* bytes: expected at most 100,000"):
        planned(tmp_path, Settings(quarantine=("tests/test_a.py",) * 9000), runner=runner)


def test_a_way_to_run_in_parallel_that_changes_nothing_is_noticed(tmp_path: Path) -> None:
    write_project(tmp_path, PYTHON)

    assert planned(tmp_path, parallel="fork").prepared.notices == (
        "--parallel fork has no effect without -n",
    )
    assert planned(tmp_path, parallel="off").prepared.notices == ()
    assert planned(tmp_path, parallel="fork", isolate=True).prepared.notices == ()
    with pytest.raises(
        UsageError, match="--isolate runs each test in a fork: expected --parallel fork, or none"
    ):
        planned(tmp_path, parallel="xdist", isolate=True, workers="2")

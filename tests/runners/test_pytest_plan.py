"""What is started for a pytest run with workers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor.errors import UsageError
from proctor.launch import ASKED_VARIABLE, Launch
from proctor.processors import processors
from proctor.runners import pytest_suite
from proctor.spec import Python, RunSpec

BARE = {"pytest": "9.2.0"}
XDIST = {**BARE, "pytest-xdist": "3.8.0"}
OLD = {"pytest": "4.6.11"}


def launch(packages: dict[str, str], **asked: Any) -> Launch:
    (planned,) = pytest_suite.plan(RunSpec("/p", **asked), {}, Python("py", (3, 11), packages)).launches
    return planned


def asked_of(planned: Launch | None) -> dict[str, Any]:
    assert planned is not None
    return dict(json.loads(planned.environment.get(ASKED_VARIABLE, "{}")))


def test_a_plain_run_asks_for_nothing() -> None:
    assert asked_of(launch(XDIST)) == {}
    assert launch(XDIST).instead is None


def test_workers_are_forked_and_xdist_is_there_in_case_that_is_unsafe() -> None:
    planned = launch(XDIST, workers="3", maxfail=2)

    assert asked_of(planned) == {"workers": 3, "xdist": True}
    assert planned.instead is not None
    assert asked_of(planned.instead) == {}
    assert "--numprocesses=3" in planned.instead.argv
    assert "--numprocesses=3" not in planned.argv
    assert set(planned.instead.argv) - {"--numprocesses=3"} == set(planned.argv)


def test_workers_need_no_xdist() -> None:
    planned = launch(BARE, workers="auto")

    assert asked_of(planned) == {"workers": processors()}
    assert planned.instead is None


def test_a_way_can_be_chosen_by_hand() -> None:
    assert asked_of(launch(XDIST, workers="2", parallel="fork"))["parallel"] == "fork"
    by_xdist = launch(XDIST, workers="2", parallel="xdist", test_timeout=3.0)
    assert (asked_of(by_xdist), by_xdist.instead) == ({"test_timeout": 3.0}, None)
    assert "--numprocesses=2" in by_xdist.argv
    off = launch(XDIST, workers="2", parallel="off")
    assert (asked_of(off), off.argv) == ({}, launch(XDIST).argv)


def test_isolation_and_limits_are_asked_for() -> None:
    assert asked_of(launch(BARE, isolate=True, test_timeout=1.5)) == {"isolate": True, "test_timeout": 1.5}


@pytest.mark.parametrize(
    ("packages", "more"), [(BARE, {"parallel": "xdist"}), (OLD, {})], ids=["by hand", "old pytest"]
)
def test_xdist_that_is_needed_and_missing_is_an_error(packages: dict[str, str], more: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="`-n 2` needs pytest-xdist, which py does not have"):
        launch(packages, workers="2", **more)

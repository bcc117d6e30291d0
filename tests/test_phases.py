"""Which phases of a test are its failures."""

from __future__ import annotations

import pytest

from proctor.events import Failure, Phase
from proctor.phases import failed_phases

SUBTEST = Phase("call", "failed", subtest="[n=1]")
COUNTS = ["", "contains 1 failed subtest", "contains 12 failed subtests"]
OWN = ["ValueError: too late", "it contains 1 failed subtest", "contains 1 failed subtest\nand more"]


def test_phases_that_passed_or_were_skipped_are_no_failures() -> None:
    setup, call, teardown = (Phase(when, "failed") for when in ("setup", "call", "teardown"))
    others = Phase("call", "passed"), Phase("call", "skipped"), Phase("call", "passed", subtest="[n=2]")

    assert failed_phases((setup, *others, call, teardown)) == [setup, call, teardown]
    assert failed_phases(others) == []


@pytest.mark.parametrize("text", COUNTS)
def test_the_number_of_failed_subtests_is_no_failure_next_to_them(text: str) -> None:
    for phase in (
        Phase("call", "failed", longrepr=text),
        Phase("call", "failed", failure=Failure("Failed", text), longrepr="a traceback"),
    ):
        assert failed_phases((SUBTEST, phase)) == [SUBTEST]
        assert failed_phases((phase,)) == [phase]
        assert failed_phases((Phase("call", "passed", subtest="[n=1]"), phase)) == [phase]


@pytest.mark.parametrize("text", OWN)
def test_a_test_with_a_failure_of_its_own_keeps_it_next_to_its_subtests(text: str) -> None:
    for phase in (
        Phase("call", "failed", longrepr=text),
        Phase("call", "failed", failure=Failure("", text)),
        Phase("teardown", "failed", failure=Failure("E", text)),
    ):
        assert failed_phases((SUBTEST, phase)) == [SUBTEST, phase]


def test_a_failed_subtest_is_a_failure_whatever_it_says() -> None:
    counting = Phase("call", "failed", subtest="", longrepr=COUNTS[1])

    assert failed_phases((counting, SUBTEST)) == [counting, SUBTEST]

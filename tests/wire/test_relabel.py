"""Tests under other names, in every event that names one."""

from __future__ import annotations

import pytest

from proctor import events as e
from proctor.outcome import Outcome
from proctor.wire.relabel import SuiteLabels, relabelled

AT = e.Place("t.py", 3)
FILE = e.File("f", "files/f", 1)


@pytest.mark.parametrize(
    "event, expected",
    [
        (
            e.TestFinished("a", Outcome.FAILED, 1.0, "m", part_of="b"),
            e.TestFinished("x/a", Outcome.FAILED, 1.0, "m", part_of="x/b"),
        ),
        (e.TestFinished("a", Outcome.PASSED), e.TestFinished("x/a", Outcome.PASSED)),
        (e.TestStarted("a", AT), e.TestStarted("x/a", AT)),
        (e.ResultAmended("a", {"k": 1}), e.ResultAmended("x/a", {"k": 1})),
        (e.FileAttached("a", FILE), e.FileAttached("x/a", FILE)),
        (e.OutputReceived("stdout", "t", "a"), e.OutputReceived("stdout", "t", "x/a")),
        (e.OutputReceived("stdout", "t"), e.OutputReceived("stdout", "t")),
        (e.ProcessExited(1, None, "a"), e.ProcessExited(1, None, "x/a")),
        (e.ProcessExited(1), e.ProcessExited(1)),
        (e.WarningRecorded("W", "m", "f", 1, test="a"), e.WarningRecorded("W", "m", "f", 1, test="x/a")),
        (
            e.TestsSelected(("a", "b"), {"a": ("slow",)}, {"b": AT}),
            e.TestsSelected(("x/a", "x/b"), {"x/a": ("slow",)}, {"x/b": AT}),
        ),
        (e.TestsDeselected(("a",)), e.TestsDeselected(("x/a",))),
        (e.Noticed("a"), e.Noticed("a")),
    ],
)
def test_every_event_that_names_a_test_names_it_anew(event: e.Event, expected: e.Event) -> None:
    assert relabelled(event, lambda name: f"x/{name}") == expected


def test_what_another_suite_has_used_gets_a_number() -> None:
    labels = SuiteLabels(["a"])
    names = [
        [labels.relabelled(e.TestStarted(name), suite).test for name in ("a", "b", "a")]
        for suite in (0, 1, 0, 2)
    ]

    assert names == [["a", "b", "a"], ["a#2", "b#2", "a#2"], ["a", "b", "a"], ["a#3", "b#3", "a#3"]]

"""Shards that were asked to end: when they are cancelled and given up."""

from __future__ import annotations

import pytest

from proctor.engines.recall import Recall, Step


def test_nothing_is_due_before_anybody_has_asked() -> None:
    recall = Recall()

    assert not recall.begun
    assert recall.step(1e9, hurried=True) is None


@pytest.mark.parametrize(("hurried", "abandoned"), [(False, 30.0), (True, 13.0)])
def test_shards_get_some_time_are_then_cancelled_once_and_at_last_given_up(
    hurried: bool, abandoned: float
) -> None:
    recall = Recall()
    recall.begin(10.0)
    recall.begin(12.0)  # a second reason to end gives them no more time

    assert recall.step(11.0, hurried) is None
    assert recall.step(11.6, hurried) is Step.CANCEL
    assert recall.step(11.7, hurried) is None
    assert recall.step(abandoned - 0.1, hurried) is None
    assert recall.step(abandoned, hurried) is Step.ABANDON


def test_who_looks_late_gives_up_without_a_cancel_before() -> None:
    recall = Recall()
    recall.begin(0.0)

    assert recall.step(60.0, hurried=False) is Step.ABANDON

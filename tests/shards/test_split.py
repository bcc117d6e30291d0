"""Divides tests into shards: every test once, whole groups, always the same, and nearly as even as can be."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from proctor.shards.plan import Shard
from proctor.shards.split import Group, by_hash, by_time

_counts = st.lists(st.integers(1, 6), max_size=30)
_seconds = st.lists(st.floats(0, 1000, allow_nan=False), min_size=180, max_size=180)


def _groups(counts: list[int]) -> list[Group]:
    runners = ("pytest", "node")
    return [
        Group(f"f{at:03}", runners[at % 2], [f"f{at:03}::{number}" for number in range(count)])
        for at, count in enumerate(counts)
    ]


def _times(groups: list[Group], seconds: list[float]) -> dict[str, float]:
    tests = [test for group in groups for test in group.tests]
    return dict(zip(tests, seconds, strict=False))


def _tests(shards: tuple[Shard, ...]) -> list[str]:
    return sorted(test for shard in shards for test in shard.tests)


@given(_counts, _seconds, st.integers(1, 12))
def test_each_test_is_in_exactly_one_shard_beside_those_of_its_group(
    counts: list[int], seconds: list[float], number: int
) -> None:
    groups = _groups(counts)
    for shards in (by_time(groups, _times(groups, seconds), 1.0, number), by_hash(groups, number)):
        assert len(shards) == number
        assert _tests(shards) == sorted(test for group in groups for test in group.tests)
        for group in groups:
            assert len([shard for shard in shards if set(group.tests) & set(shard.tests)]) == 1
        for shard in shards:
            owners = {test: runner for runner, tests in shard.by_runner() for test in tests}
            assert all(
                owners[test] == group.runner for group in groups for test in group.tests if test in owners
            )


@given(_counts, _seconds, st.integers(1, 12), st.randoms(use_true_random=False))
def test_the_order_of_the_list_makes_no_difference(
    counts: list[int], seconds: list[float], number: int, chance: random.Random
) -> None:
    groups = _groups(counts)
    times = _times(groups, seconds)
    shuffled = [Group(one.name, one.runner, chance.sample(one.tests, len(one.tests))) for one in groups]
    chance.shuffle(shuffled)

    assert by_time(shuffled, times, 1.0, number) == by_time(groups, times, 1.0, number)
    assert by_hash(shuffled, number) == by_hash(groups, number)


@given(_counts.filter(bool), _seconds, st.integers(1, 12))
def test_the_longest_shard_is_at_most_half_longer_than_the_best_split_can_be(
    counts: list[int], seconds: list[float], number: int
) -> None:
    groups = _groups(counts)
    times = {test: max(spent, 0.001) for test, spent in _times(groups, seconds).items()}
    costs = sorted((sum(times[test] for test in group.tests) for group in groups), reverse=True)
    # No split is shorter than the fair share, the longest group, or two that must share a shard.
    shared = costs[number - 1] + costs[number] if len(costs) > number else 0.0
    least = max(sum(costs) / number, costs[0], shared)

    longest = max(shard.seconds for shard in by_time(groups, times, 1.0, number))

    assert longest <= least * 3 / 2 + 0.01


def test_tests_without_a_time_count_as_usual_and_without_any_times_the_number_decides() -> None:
    groups = [
        Group("a", "pytest", ["a1"]),
        Group("b", "pytest", ["b1", "b2", "b3"]),
        Group("c", "pytest", ["c"]),
    ]

    by_number = by_time(groups, {}, 0.0, 2)
    timed = by_time(groups, {"a1": 10.0}, 2.0, 2)

    assert [shard.tests for shard in by_number] == [("b1", "b2", "b3"), ("a1", "c")]
    assert [shard.seconds for shard in by_number] == [0, 0]
    assert [(shard.tests, shard.seconds) for shard in timed] == [
        (("a1",), 10.0),
        (("b1", "b2", "b3", "c"), 8.0),
    ]


def test_tests_that_take_no_time_at_all_are_still_spread() -> None:
    groups = [Group(name, "pytest", [name]) for name in "abcd"]

    shards = by_time(groups, dict.fromkeys("abcd", 0.0), 0.0, 2)

    assert [len(shard.tests) for shard in shards] == [2, 2]


def test_a_group_that_is_added_moves_no_other_where_no_plan_is_used() -> None:
    groups = _groups([2] * 20)
    before, after = by_hash(groups, 5), by_hash([*groups, Group("new", "pytest", ["new::1"])], 5)

    assert [tuple(test for test in shard.tests if test != "new::1") for shard in after] == [
        shard.tests for shard in before
    ]

"""Which shard starts next after workers have died."""

from __future__ import annotations

from proctor.engines.tries import Tries


def test_all_shards_begin_together() -> None:
    tries = Tries([1, 2, 3])

    assert [one.shard for one in tries.start()] == [1, 2, 3]
    assert tries.start() == []


def test_after_a_break_those_that_had_begun_run_one_at_a_time_before_the_others() -> None:
    tries = Tries([1, 2, 3])
    first, second, third = tries.start()
    for one, began in ((first, True), (second, True), (third, False)):
        assert tries.lose(one, broken=True, began=began)

    order = []
    while started := tries.start():
        order.append([one.shard for one in started])
        assert tries.start() == []  # while one runs alone
        for one in started:
            tries.settle(one)
    assert order == [[1], [2], [3]]
    assert tries.count == {1: 2, 2: 2, 3: 1}


def test_a_shard_that_breaks_everything_has_three_tries() -> None:
    tries = Tries([1, 2])
    (one, other) = tries.start()
    tries.settle(other)
    again = [tries.lose(one, broken=True)]
    while started := tries.start():
        again.append(tries.lose(started[0], broken=True))

    assert (again, tries.count[1]) == ([True, True, False], 3)


def test_one_that_never_begins_is_given_up_in_the_end() -> None:
    tries = Tries([1])
    again = []
    while started := tries.start():
        again.append(tries.lose(started[0], broken=True, began=False))

    assert again[-1] is False
    assert tries.count[1] == 0


def test_no_shard_starts_again_once_that_is_final() -> None:
    tries = Tries([1])
    (one,) = tries.start()

    assert not tries.lose(one, final=True)
    assert (tries.start(), tries.left) == ([], [])


def test_a_try_with_the_project_is_not_counted() -> None:
    tries = Tries([1])
    (one,) = tries.start()
    tries.settle(one)
    shipped = tries.ship(one)

    assert (shipped.shipped, shipped.id != one.id, tries.count[1]) == (True, True, 1)
    assert list(tries.under_way.values()) == [shipped]

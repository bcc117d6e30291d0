from __future__ import annotations

from proctor.process.deadline import ABORT_SECONDS, CLEANUP_SECONDS, INTERRUPT_SECONDS, Ending, Push


def test_a_run_is_pushed_harder_each_time_its_patience_ends() -> None:
    ending = Ending(100.0)
    abort = 100.0 + INTERRUPT_SECONDS
    kill = abort + ABORT_SECONDS

    assert ending.due(100.0) is Push.INTERRUPT
    assert ending.due(abort - 0.001) is None
    assert ending.due(abort) is Push.ABORT
    assert ending.due(kill - 0.001) is None
    assert ending.due(kill) is Push.KILL


def test_each_push_is_given_once_and_the_last_one_is_the_last() -> None:
    ending = Ending(0.0)

    pushes = [ending.due(float(now)) for now in range(0, 100, 10)]

    assert pushes == [Push.INTERRUPT, Push.ABORT, Push.KILL] + [None] * 7


def test_patience_counts_from_the_push_that_was_given_not_from_when_it_was_due() -> None:
    ending = Ending(0.0)

    assert ending.due(50.0) is Push.INTERRUPT
    assert ending.due(50.0 + INTERRUPT_SECONDS / 2) is None
    assert ending.wait(50.0 + INTERRUPT_SECONDS / 2) == INTERRUPT_SECONDS / 2


def test_a_clock_that_jumps_ahead_skips_no_step() -> None:
    ending = Ending(0.0)

    assert ending.due(1e9) is Push.INTERRUPT
    assert ending.due(1e9) is None


def test_hurry_kills_at_once_whatever_step_was_next() -> None:
    for steps_taken in range(3):
        ending = Ending(0.0)
        now = 0.0
        for _ in range(steps_taken):
            ending.due(now)
            now += 10.0
        ending.hurry(now)
        ending.hurry(now)

        assert ending.due(now) is Push.KILL
        assert ending.due(now + 100.0) is None


def test_hurry_after_the_kill_does_not_kill_again() -> None:
    ending = Ending(0.0, (Push.KILL,))
    ending.due(0.0)
    ending.hurry(1.0)

    assert ending.due(1.0) is None
    assert ending.wait(1.0) is None


def test_the_wait_is_never_negative_and_ends_with_the_steps() -> None:
    ending = Ending(5.0, (Push.KILL,))

    assert ending.wait(3.0) == 2.0
    assert ending.wait(9.0) == 0.0
    ending.due(9.0)
    assert ending.wait(9.0) is None


def test_who_heard_the_interrupt_gets_time_to_clean_up_once() -> None:
    ending = Ending(0.0)
    assert ending.due(0.0) is Push.INTERRUPT

    ending.heard(1.0)
    ending.heard(5.0)

    assert ending.due(1.0 + CLEANUP_SECONDS - 0.001) is None
    assert ending.due(1.0 + CLEANUP_SECONDS) is Push.ABORT
    ending.heard(1.0 + CLEANUP_SECONDS)
    assert ending.due(1.0 + CLEANUP_SECONDS + ABORT_SECONDS) is Push.KILL


def test_hurry_ends_the_time_to_clean_up() -> None:
    ending = Ending(0.0)
    ending.due(0.0)
    ending.heard(0.1)
    ending.hurry(0.2)
    ending.heard(0.2)

    assert ending.due(0.2) is Push.KILL

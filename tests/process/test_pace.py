"""Reads come in batches, and a flood is never kept waiting."""

from __future__ import annotations

from proctor.process.pace import LEAST, MOST, Pace


def test_a_trickle_is_read_ever_more_seldom_up_to_a_bound() -> None:
    pace = Pace()
    pauses = []
    for _ in range(20):
        pace.read(0.01)
        pauses.append(pace.pause)

    assert pauses == sorted(pauses)
    assert pauses[-1] == MOST


def test_a_full_pipe_is_read_again_at_once() -> None:
    pace = Pace()
    for _ in range(20):
        pace.read(0.01)
    pace.read(1.0)

    assert pace.pause == 0.0


def test_after_a_flood_the_batches_are_small_again() -> None:
    pace = Pace()
    for fullness in (0.01, 1.0, 1.0, 1.0, 1.0, 0.3):
        pace.read(fullness)

    assert pace.pause == LEAST


def test_silence_needs_no_pause() -> None:
    pace = Pace()
    pace.read(0.01)
    pace.read(0.0)

    assert pace.pause == 0.0

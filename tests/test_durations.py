"""Times as people write and read them."""

from __future__ import annotations

import pytest

from proctor.durations import ENDLESS, brief, clock, parse


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("90", 90),
        ("0", 0),
        ("90s", 90),
        ("15m", 900),
        ("15 m", 900),
        ("1h 30m", 5400),
        ("1h30m", 5400),
        (" 1d  1h 1m 1 ", 90061),
        ("1.5h", 5400),
        ("1m 0.5", 60.5),
        ("9" * 5000 + "d", ENDLESS),
    ],
)
def test_a_time_is_a_number_of_seconds(text: str, seconds: float) -> None:
    assert parse(text) == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "soon", "15min", "-3", "+3", "1 hour", "1 2", "1.", ".5", "1.2.3", "1,5h", "h", "٣"]
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    "seconds, shown",
    [(0, "0s"), (59.9, "59s"), (60, "1m00s"), (187, "3m07s"), (3600, "1h00m"), (7500, "2h05m")],
)
def test_a_clock_shows_two_units_at_most(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


@pytest.mark.parametrize(
    "seconds, shown", [(0, "0.0ms"), (0.0034, "3.4ms"), (0.045, "45ms"), (1.2, "1.20s"), (90, "90.00s")]
)
def test_a_short_time_has_the_unit_that_fits(seconds: float, shown: str) -> None:
    assert brief(seconds) == shown

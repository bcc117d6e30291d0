"""A recorded control stream: one line for a good one, the error in full for a broken one."""

from __future__ import annotations

import pytest

from proctor.errors import ControlError
from proctor.render.control_report import control_report
from proctor.wire.control.check import NO_STATUS, Checked
from proctor.wire.control.rules import RULES

RULE = next(iter(RULES))


@pytest.mark.parametrize(
    "checked, text",
    [
        (Checked(own=True), "no results"),
        (Checked(), "no results; no result for the test itself: its exit code decides"),
        (Checked(partials=[None]), "no results; 1 partial still open (the test itself)"),
        (Checked(own=True, results={"pass": 1}), "1 result (1 pass)"),
        (
            Checked(own=True, results={"pass": 2, NO_STATUS: 1}),
            "3 results (2 pass, 1 without a status)",
        ),
        (
            Checked(own=True, partials=["a\x07", None, "b", "c", "d"]),
            "no results; 5 partials still open (a\\x07, the test itself, b, c, d)",
        ),
        (
            Checked(own=True, partials=["a", "b", "c", "d", "e", "f"]),
            "no results; 6 partials still open (a, b, c, d, e, …)",
        ),
        (Checked(own=True, files=1, file_bytes=1), "no results; 1 file of 1 byte"),
        (Checked(own=True, files=2, file_bytes=30), "no results; 2 files of 30 bytes"),
        (Checked(own=True, words={"exitcode": 1, "sync": 2}), "no results; 1 exitcode; 2 sync"),
        (Checked(own=True, unread=1), "no results; 1 byte after disconnect, ignored"),
    ],
)
def test_a_good_stream_is_one_line_with_its_contents(checked: Checked, text: str) -> None:
    assert control_report(checked) == f"good: {text}\n"


def test_a_broken_stream_shows_the_byte_the_rule_and_the_likely_cause() -> None:
    error = ControlError("form", RULE, 12, "not a length", b"result \n", b"x1\n", "printed to it")

    assert control_report(Checked(results={"pass": 1}, error=error)) == (
        "broken at byte 12: not a length\n"
        "  bytes     result \\nx1\\n\n"
        "                     ^\n"
        f"  rule      {RULE}: {RULES[RULE]}\n"
        "  likely    printed to it\n"
        "  complete  1 result (1 pass)\n"
    )


def test_a_stream_that_is_broken_at_its_end_has_no_bytes_to_show_and_no_cause() -> None:
    error = ControlError("form", RULE, 0, "nothing at all")

    assert control_report(Checked(error=error)) == (
        f"broken at byte 0: nothing at all\n  rule      {RULE}: {RULES[RULE]}\n  complete  no results\n"
    )


@pytest.mark.parametrize("sides", [(b"ab", b""), (b"", b"ab")])
def test_one_side_of_the_broken_byte_is_enough_to_show_it(sides: tuple[bytes, bytes]) -> None:
    lines = control_report(Checked(error=ControlError("form", RULE, 2, "cut", *sides))).splitlines()

    assert lines[1] == "  bytes     ab"
    assert lines[2] == " " * (12 + len(sides[0])) + "^"

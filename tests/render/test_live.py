"""The terminal while a run is under way, looked at through a real pseudo-terminal and at every width."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console
from support.made_runs import run_of
from support.projects import GUARD, clean_environment, command
from support.streams import BUILD, STARTED, case, final, suite, written

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay
from proctor.render.failure_report import FailureLine, failure_line
from proctor.render.live import LiveTerminal, failure_text, picture
from proctor.render.progress import progress

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def under_way() -> Relay:
    """Forty tests, of which some have ended and six are running."""
    relay = Relay(STARTED, [])
    relay.publish(e.SuiteStarted("pytest", BUILD, 40), 0.5)
    for number in range(12):
        outcome = Outcome.FAILED if number < 2 else Outcome.PASSED
        relay.publish(e.TestFinished(f"t{number}", outcome), 1.0)
    for number in range(6):
        relay.publish(
            e.TestStarted(f"tests/test_a.py::test_with_a_ナ_name_that_is_long_{number}"), 2.0 + number
        )
    return relay


def drawn(relay: Relay, now: float, width: int) -> list[str]:
    file = io.StringIO()
    console = Console(width=width, file=file, color_system=None)
    console.print(picture(relay.result, progress(relay.result), now, width))
    return file.getvalue().splitlines()


def test_the_picture_has_counts_times_and_what_runs_longest_first() -> None:
    lines = drawn(under_way(), 62.0, 80)

    assert lines[0].endswith(" 12/40  2 failed  10 passed  1m02s  ~2m24s left")
    assert lines[1] == "  1m00s tests/test_a.py::test_with_a_ナ_name_that_is_long_0"
    assert len(lines) == 6
    assert lines[-1] == "  and 2 more"


@pytest.mark.parametrize("width", [1, 5, 10, 20, 33, 40, 60, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = drawn(under_way(), 62.0, width)

    assert max(cell_len(line) for line in lines) <= width
    assert len(lines) == 6


def test_a_narrow_terminal_shows_how_many_failed_and_the_end_of_long_names() -> None:
    first, second, *_ = drawn(under_way(), 62.0, 20)

    assert first == "12/40  2 failed"
    assert second == "  1m00s …is_long_0"


def test_a_run_that_is_still_collecting_says_so() -> None:
    assert drawn(Relay(STARTED, []), 3.0, 60)[0].endswith(" collecting  3s")


def test_it_is_drawn_at_most_ten_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = []
    console = Console(width=40, file=io.StringIO(), force_terminal=True)
    live = LiveTerminal(console)
    monkeypatch.setattr(live._live, "update", lambda shown, refresh: pictures.append(shown))
    relay = Relay(STARTED, [live])
    for tick in range(200):
        relay.tick(tick / 100)
    live.close()

    assert 15 <= len(pictures) <= 20


def shown_by(console: Console, *events: e.Event, ticks: tuple[float, ...] = ()) -> str:
    live = LiveTerminal(console)
    relay = Relay(STARTED, [live])
    for event in events:
        relay.publish(event, 1.0)
    for now in ticks:
        relay.tick(now)
    relay.close(2.0)
    assert relay.faults == []
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def console_of(width: int = 60, **more: Any) -> Console:
    return Console(width=width, file=io.StringIO(), force_terminal=True, _environ={}, **more)


FACTS = (
    e.SuiteStarted("pytest", BUILD, 3),
    e.TestFinished("a", Outcome.PASSED),
    e.TestFinished("b", Outcome.FAILED, message="E: no"),
    e.CollectionFailed("c.py", e.Failure("E", "E: what")),
    e.Noticed("by the way"),
)


def test_failures_are_written_as_they_happen_and_the_report_at_the_end() -> None:
    lines = ESCAPES.sub("", shown_by(console_of(), *FACTS)).replace("\r", "").splitlines()

    assert [line for line in lines if line][:2] == ["FAILED b: E: no", "ERROR cannot collect c.py: E: what"]
    assert lines[-3:] == [
        "note: by the way",
        "INCOMPLETE 1 failed 1 error 1 passed in 2.00s (the end of ",
        "  the process was not seen)",
    ]


PLACE = e.Place("tests/test_shop.py", 41)


def failure(name: str, message: str = "assert 1 == 2", place: e.Place | None = PLACE) -> FailureLine:
    test = e.TestFinished(name, Outcome.FAILED, failure=e.Failure("AssertionError", message, place))
    found = failure_line(test, run_of().suites[0])
    assert found is not None
    return found


@pytest.mark.parametrize(
    "width, lines",
    [
        (80, ["FAILED test_shop.py::test_total at tests/test_shop.py:41: assert 1 == 2"]),
        (71, ["FAILED test_shop.py::test_total at tests/test_shop.py:41: assert 1 == 2"]),
        (70, ["FAILED test_shop.py::test_total at tests/test_shop.py:41", "    assert 1 == 2"]),
        (56, ["FAILED test_shop.py::test_total at tests/test_shop.py:41", "    assert 1 == 2"]),
        (55, ["FAILED test_shop.py::test_total", "    at tests/test_shop.py:41: assert 1 == 2"]),
        (40, ["FAILED test_shop.py::test_total", "    at tests/test_shop.py:41: assert 1 …"]),
        (20, ["FAILED …::test_total", "    at tests/test_s…"]),
        (3, ["FAILED …", "  …"]),
    ],
)
def test_a_failure_takes_one_line_or_two(width: int, lines: list[str]) -> None:
    text = failure_text(failure("test_shop.py::test_total"), width).plain

    assert text.split("\n") == lines


@pytest.mark.parametrize(
    "name, shown",
    [
        ("tests/unit/test_shop.py::TestTotal::test_sum", "FAILED …_shop.py::TestTotal::test_sum"),
        ("test_a.py::test_x[" + "1-2-" * 30 + "end]", "FAILED test_a.py::test_x[…-2-1-2-end]"),
        ("test_a.py::test_" + "x" * 20 + "[1-2]", "FAILED …est_xxxxxxxxxxxxxxxxxxxx[1-2]"),
    ],
)
def test_a_long_name_keeps_its_end_and_loses_its_parameters_first(name: str, shown: str) -> None:
    assert failure_text(failure(name), 37).plain.split("\n")[0] == shown


@pytest.mark.parametrize("message", ["ナ" * 60, "e\u0301" * 80, "👨\u200d👩\u200d👧" * 30, "a" * 500])
@pytest.mark.parametrize("width", [60, 80])
def test_a_long_message_is_cut_to_the_terminal_in_whatever_script_it_is(message: str, width: int) -> None:
    first, second = failure_text(failure("test_a.py::test_ナ", message), width).plain.split("\n")

    assert cell_len(first) <= width
    assert width - 7 <= sum(map(cell_len, second)) <= width  # as wide as terminals that join nothing see it
    assert second.endswith("…")


def test_the_parts_of_a_failure_have_styles_of_their_own_and_lead_to_its_place() -> None:
    console = console_of(100, color_system="standard")
    console.print(failure_text(failure("test_a.py::test_x"), 100, "/my project"))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    url = "file:///my%20project/tests/test_shop.py"

    assert text.startswith("\x1b[1;31mFAILED\x1b[0m \x1b]8;id=")
    assert text.count(f";{url}\x1b\\") == 2
    assert f"{url}\x1b\\\x1b[1mtest_a.py::test_x\x1b[0m\x1b]8;;\x1b\\ at " in text
    assert f"{url}\x1b\\\x1b[36mtests/test_shop.py:41\x1b[0m\x1b]8;;\x1b\\: assert 1 == 2" in text


def test_there_are_no_links_where_the_terminal_has_none() -> None:
    for links in (False, True):
        console = console_of(100, color_system="standard")
        relay = Relay(STARTED, [LiveTerminal(console, links=links)])
        relay.publish(e.TestFinished("a", Outcome.FAILED, failure=e.Failure("", "no", PLACE)), 1.0)
        relay.close(2.0)
        assert ("\x1b]8;" in console.file.getvalue()) is links  # type: ignore[attr-defined]


def test_the_suite_is_named_where_there_are_several_and_the_bar_is_open() -> None:
    relay = Relay(msgspec.structs.replace(STARTED, suites=3), [])
    relay.publish(e.SuiteEntered("a suite with a long name", "tap", (), "/p", following=2), 0.0)
    relay.publish(e.SuiteStarted("x", BUILD, 4), 0.0)
    relay.publish(e.TestFinished("a", Outcome.PASSED), 1.0)

    assert drawn(relay, 2.0, 100)[0].endswith(" 1/4+  1 passed  …th a long name 1/3  2s")
    assert drawn(relay, 2.0, 60)[0].endswith(" 1/4+  1 passed  …long name 1/3  2s")


def test_a_stopped_run_says_so_at_once_and_how_to_kill_it() -> None:
    for reason, text in (
        (RunOutcome.INTERRUPTED, "interrupting… (again to kill)"),
        (RunOutcome.TIMEOUT, "time limit reached, stopping…"),
        (RunOutcome.CANCELLED, "cancelling…"),
    ):
        console = console_of()
        live = LiveTerminal(console)
        relay = Relay(STARTED, [live])
        relay.tick(1.0)
        relay.publish(e.RunStopped(reason), 1.001)  # sooner than the next picture would be due
        live.close()
        assert text in console.file.getvalue()  # type: ignore[attr-defined]


def test_what_a_run_waits_for_is_shown_until_it_is_stopped() -> None:
    relay = under_way()
    relay.result.waiting = "no worker at dask:127.0.0.1:8786: waiting, 42s left"

    assert drawn(relay, 3.0, 80)[1] == "no worker at dask:127.0.0.1:8786: waiting, 42s left"
    assert drawn(relay, 3.0, 20)[1] == "no worker at dask…"
    relay.publish(e.RunStopped(RunOutcome.CANCELLED), 3.0)
    assert drawn(relay, 3.0, 80)[1] == "cancelling…"


def test_a_total_on_the_terminal_never_shrinks() -> None:
    console = console_of()
    live = LiveTerminal(console)
    relay = Relay(STARTED, [live])
    relay.publish(e.SuiteStarted("pytest", BUILD, 40), 0.0)
    relay.tick(1.0)
    relay.publish(e.SuiteStarted("pytest", BUILD, 8), 1.0)
    relay.publish(e.TestFinished("a", Outcome.PASSED), 1.0)
    relay.tick(2.0)
    live.close()

    assert " 1/40" in console.file.getvalue()  # type: ignore[attr-defined]


def test_each_tone_has_its_colour() -> None:
    text = shown_by(console_of(color_system="standard"), *FACTS)

    assert "\x1b[1;31mFAILED\x1b[0m \x1b[1mb\x1b[0m: E: no" in text
    assert "\x1b[1;31m--- ERROR cannot collect c.py\x1b[0m" in text
    assert "\x1b[33mnote: by the way\x1b[0m" in text


def test_the_cursor_is_hidden_while_the_run_goes_on_and_given_back_at_its_end() -> None:
    text = shown_by(console_of(), *FACTS, ticks=(0.5, 1.0))

    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1
    assert text.index("\x1b[?25l") < text.index("3/3") < text.index("\x1b[?25h") < text.index("INCOMPLETE")


def test_nothing_is_drawn_after_the_end() -> None:
    console = console_of()
    live = LiveTerminal(console)
    relay = Relay(STARTED, [live])
    relay.close(1.0)
    before = console.file.getvalue()  # type: ignore[attr-defined]
    relay.tick(9.0)

    assert console.file.getvalue() == before  # type: ignore[attr-defined]


@pytest.mark.parametrize("width, broken", [(60, 0), (30, 1), (20, 3), (10, 7)])
def test_lines_that_a_narrower_terminal_has_broken_are_erased(width: int, broken: int) -> None:
    console = console_of()
    live = LiveTerminal(console)
    relay = Relay(STARTED, [live])
    relay.publish_all([e.SuiteStarted("pytest", BUILD, 3), e.TestStarted("t" * 80)], 0.0)
    relay.tick(5.0)
    seen_before = len(console.file.getvalue())  # type: ignore[attr-defined]
    console.width = width
    relay.publish(e.TestFinished("b", Outcome.FAILED, message="E: no"), 6.0)
    text = console.file.getvalue()[seen_before:]  # type: ignore[attr-defined]
    live.close()

    assert text.partition("\r")[0] == "\x1b[2K\x1b[1A" * broken  # of lines of 22 and 58 columns


@pytest.mark.parametrize(
    "width, bar, facts",
    [
        (200, 30, "12/40  2 failed  10 passed  1m02s  ~2m24s left"),
        (80, 19, "12/40  2 failed  10 passed  1m02s  ~2m24s left"),
        (60, 11, "12/40  2 failed  10 passed  1m02s  ~2m24s left"),
        (57, 8, "12/40  2 failed  10 passed  1m02s  ~2m24s left"),
        (56, 13, "12/40  2 failed  10 passed  1m02s"),
        (44, 8, "12/40  2 failed  10 passed  1m02s"),
        (43, 10, "12/40  2 failed  10 passed"),
        (36, 8, "12/40  2 failed"),
        (26, 8, "12/40  2 failed"),
        (25, 0, "12/40  2 failed"),
        (17, 0, "12/40  2 failed"),
        (16, 0, "12/40  2 fail…"),
        (10, 0, "12/40  2 …"),
    ],
)
def test_the_least_important_facts_give_way_to_the_bar_and_the_bar_to_the_others(
    width: int, bar: int, facts: str
) -> None:
    line = drawn(under_way(), 62.0, width)[0]

    assert line.endswith(facts)
    assert len(line) == (bar + 1 if bar else 0) + len(facts)


@pytest.mark.parametrize(
    "now, times",
    [(1.0, "1s  ~2s left"), (0.5, "0s  ~1s left"), (0.2, "0s")],
)
def test_the_time_that_is_left_is_shown_from_a_second_on(now: float, times: str) -> None:
    assert drawn(under_way(), now, 60)[0].endswith(f" 12/40  2 failed  10 passed  {times}")


def test_a_run_of_which_nothing_has_ended_has_no_time_left_to_tell() -> None:
    relay = Relay(STARTED, [])
    relay.publish(e.SuiteStarted("pytest", BUILD, 0), 0.0)

    assert drawn(relay, 5.0, 60)[0].rstrip().endswith(" 0/0  5s")


def test_tests_are_shown_as_running_from_a_second_on_and_four_at_most() -> None:
    assert len(drawn(under_way(), 2.9, 60)) == 1
    assert len(drawn(under_way(), 3.0, 60)) == 2
    assert len(drawn(under_way(), 6.0, 60)) == 5
    assert drawn(under_way(), 7.0, 80)[-1] == "  and 1 more"
    assert drawn(under_way(), 3.0, 80)[1] == "  1s tests/test_a.py::test_with_a_ナ_name_that_is_long_0"


@contextmanager
def terminal(root: Path, columns: int, **environ: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`proctor show -` on a terminal of its own; the process, and the other end of the terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, columns, 0, 0))
    process = subprocess.Popen(
        command("show", "-", "--format", "human"),
        cwd=root,
        env=clean_environment(TERM="xterm-256color", **environ),
        stdin=subprocess.PIPE,
        stdout=theirs,
    )
    os.close(theirs)
    with process:
        yield process, ours
    os.close(ours)


def seen(ours: int, until: str) -> str:
    """What the terminal got, up to a text or a code that has to come."""
    got = b""
    while True:
        text = got.decode("utf-8", "replace")
        if until in text or until in ESCAPES.sub("", text):
            return text
        ready, _, _ = select.select([ours], [], [], GUARD)
        assert ready, f"{until!r} never came: {text!r}"
        got += os.read(ours, 4096)


@pytest.mark.parametrize("columns", [20, 60])
def test_the_bar_moves_while_the_stream_arrives_and_leaves_only_the_report(
    tmp_path: Path, columns: int
) -> None:
    with terminal(tmp_path, columns) as (shown, ours):
        shown.stdin.write(written(suite(3), case("a")))
        shown.stdin.flush()
        first = seen(ours, "1/3")
        shown.stdin.write(written(case("b", "fail")))
        shown.stdin.flush()
        second = seen(ours, "2/3  1 failed")
        shown.stdin.write(written(case("c"), final(2, 1)))
        shown.stdin.close()
        last = seen(ours, "1 failed 2 passed"[:columns])

    assert "━" in first
    assert "FAILED b: it broke" in ESCAPES.sub("", second)
    assert "\x1b[?25l" in first  # the cursor is hidden
    assert "\x1b[?25h" in last  # and given back
    assert "\x1b[1;31m" in second
    assert shown.returncode == 1


def test_no_color_means_no_colour_on_a_terminal_too(tmp_path: Path) -> None:
    with terminal(tmp_path, 60, NO_COLOR="1") as (shown, ours):
        shown.stdin.write(written(suite(1), case("b", "fail"), final(0, 1)))
        shown.stdin.close()
        text = seen(ours, "1 failed in")

    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", text)


def test_the_terminal_is_left_in_order_when_we_are_stopped(tmp_path: Path) -> None:
    with terminal(tmp_path, 60) as (shown, ours):
        shown.stdin.write(written(suite(3), case("a")))
        shown.stdin.flush()
        seen(ours, "1/3")
        shown.send_signal(signal.SIGINT)
        seen(ours, "\x1b[?25h")

    assert shown.returncode == 2


def test_failed_tries_and_new_sessions_are_named_above_the_picture() -> None:
    file = io.StringIO()
    relay = Relay(
        STARTED, [LiveTerminal(Console(width=100, file=file, force_terminal=True, color_system=None))]
    )
    test = e.TestFinished("t.py::a", Outcome.FAILED, failure=e.Failure("E", "E: no", e.Place("t.py", 3)))

    relay.publish(e.AttemptFailed(test), 0.5)
    relay.publish(e.SessionStarted(2, tests=1, round=1), 0.6)
    relay.close(1.0)

    lines = ESCAPES.sub("", file.getvalue()).splitlines()
    assert "FAILED t.py::a at t.py:3: E: no (to be run again)" in lines
    assert "session 2: 1 test to be run again" in lines

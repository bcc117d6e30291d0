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

import pytest
from rich.cells import cell_len
from rich.console import Console
from support.projects import GUARD, clean_environment, command
from support.streams import BUILD, STARTED, case, final, suite, written

from proctor import events as e
from proctor.outcome import Outcome
from proctor.relay import Relay
from proctor.render.live import LiveTerminal, picture

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
    console.print(picture(relay.result, now, width))
    return file.getvalue().splitlines()


def test_the_picture_has_counts_times_and_what_runs_longest_first() -> None:
    lines = drawn(under_way(), 62.0, 80)

    assert lines[0].endswith(" 12/40 2 failed 1m02s ~2m24s left 10 passed")
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

    assert first == "12/40 2 failed 1m02s"
    assert second == "  1m00s …t_is_long_0"


def test_a_run_that_is_still_collecting_says_so() -> None:
    assert drawn(Relay(STARTED, []), 3.0, 60)[0].endswith(" collecting 3s")


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
        second = seen(ours, "2/3 1 failed")
        shown.stdin.write(written(case("c"), final(2, 1)))
        shown.stdin.close()
        last = seen(ours, "1 failed 2 passed"[:columns])

    assert "━" in first
    assert "FAILED b: it broke" in ESCAPES.sub("", second)
    assert "\x1b[?25l" in first  # the cursor is hidden
    assert "\x1b[?25h" in last  # and given back
    assert "\x1b[31m" in second
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

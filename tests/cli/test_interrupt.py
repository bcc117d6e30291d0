"""The answer to Ctrl-C on stderr: at once, and never in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from support.projects import GUARD

from proctor.outcome import INTERRUPTING, RunOutcome
from proctor.process.stop import stoppable

TELL = "from proctor.cli.interrupt import announce_interrupt; announce_interrupt()"


def test_the_first_ctrl_c_is_announced_once_and_sigterm_is_not() -> None:
    heard: list[str] = []
    with stoppable(lambda: heard.append("interrupted")) as stop:
        signal.raise_signal(signal.SIGINT)
        assert (heard, stop.reason, stop.hurried) == (["interrupted"], RunOutcome.INTERRUPTED, False)
        signal.raise_signal(signal.SIGINT)
        assert (heard, stop.hurried) == (["interrupted"], True)

    with stoppable(lambda: heard.append("cancelled")) as stop:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert (heard, stop.reason) == (["interrupted"], RunOutcome.CANCELLED)


def test_the_announcement_is_a_line_on_stderr() -> None:
    done = subprocess.run([sys.executable, "-c", TELL], capture_output=True, timeout=GUARD, check=True)

    assert (done.stdout, done.stderr.decode()) == (b"", f"proctor: {INTERRUPTING}\n")


@pytest.mark.parametrize("reader", ["nobody reads", "gone"])
def test_a_stderr_that_takes_nothing_holds_nothing_up(reader: str) -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while reader == "nobody reads":
            os.write(write, bytes(1 << 16))
    except BlockingIOError:
        os.set_blocking(write, True)
    if reader == "gone":
        os.close(read)

    done = subprocess.run([sys.executable, "-c", TELL], stderr=write, timeout=GUARD, check=False)
    assert done.returncode == 0
    os.close(write)
    if reader != "gone":
        os.close(read)


def test_a_closed_stderr_is_no_fault() -> None:
    closed = f"import os; os.close(2); {TELL}"

    assert subprocess.run([sys.executable, "-c", closed], timeout=GUARD, check=False).returncode == 0

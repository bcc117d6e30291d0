"""`proctor watch` at a real terminal: keys, the screen, and the terminal's modes."""

from __future__ import annotations

import signal
import sys
import termios
from pathlib import Path

import pytest
from support.projects import processes_with, project_python, write_project
from support.terminal import Terminal, at_terminal

FILES = {
    "cart.py": "VALUE = 1",
    "test_cart.py": "import cart\n\ndef test_value(): assert cart.VALUE == 1\n\ndef test_tax(): pass\n",
}
WAITS = "waiting for a change (Enter: all tests"
ICANON_ECHO = termios.ICANON | termios.ECHO


def modes(terminal: Terminal) -> int:
    local: int = termios.tcgetattr(terminal.descriptor)[3]
    return local & ICANON_ECHO


def rests(terminal: Terminal, result: str, title: str) -> list[str]:
    """The screen when a run of this title has ended so."""
    return terminal.wait(
        lambda lines: (
            lines[-1].startswith(WAITS) and lines[0].endswith(title) and any(result in line for line in lines)
        )
    )


def test_keys_choose_what_runs_and_the_screen_is_cleared_before(tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    with at_terminal(tmp_path, "watch", "--python", project_python(), WATCHED=str(tmp_path)) as terminal:
        rests(terminal, "2 passed", "all tests")
        assert modes(terminal) == 0
        write_project(tmp_path, {"cart.py": "VALUE = 2  # wrong"})
        lines = rests(terminal, "1 failed", "tests")
        assert "cart.py changed: " in lines[0]

        terminal.press(b"f")
        lines = rests(terminal, "1 failed", "failed tests")
        assert any("run" in line and "test" in line for line in lines[-2:-1])  # the other one was not
        terminal.press(b"\n")
        rests(terminal, "1 failed 1 passed", "all tests")
        terminal.press(b"pvalux\x7f\x1b[A")
        terminal.wait_for("only tests matching: valu")
        terminal.press(b"\x1b")
        rests(terminal, "1 failed 1 passed", "all tests")
        terminal.press(b"ptax\n")
        rests(terminal, "1 passed 1 deselected", "tests matching 'tax'")
        terminal.press(b"q")
        lines = terminal.end()

        assert terminal.process.returncode == 0  # of the last run
        assert WAITS not in "\n".join(lines)
        assert processes_with("WATCHED", str(tmp_path)) == []


@pytest.mark.parametrize(
    ("keys", "code"),
    [(b"q", 2), (b"\x03", 130), (b"f", None), (b"p\x1b", None)],
    ids=["q", "ctrl-c", "another run", "nothing"],
)
def test_a_key_ends_the_run_under_way(tmp_path: Path, keys: bytes, code: int | None) -> None:
    test = "import time\n\ndef test_long():\n    while True: time.sleep(0.1)\n"
    write_project(tmp_path, {"test_long.py": test})
    with at_terminal(tmp_path, "watch", "--python", project_python(), WATCHED=str(tmp_path)) as terminal:
        terminal.wait_for("test_long.py::test_long")  # it has been running for a second
        terminal.press(keys)
        if code is None:
            terminal.wait(lambda lines: not any("test_long.py::test_long" in line for line in lines))
            terminal.wait_for("test_long.py::test_long")
            terminal.process.send_signal(signal.SIGTERM)
        terminal.end()

        assert terminal.process.returncode == (143 if code is None else code)
        assert processes_with("WATCHED", str(tmp_path)) == []
        assert not terminal.cursor_hidden


SHELL = """
import os, signal, subprocess, sys, termios

def modes():
    return termios.tcgetattr(0)[3] & (termios.ICANON | termios.ECHO)

signal.signal(signal.SIGTTOU, signal.SIG_IGN)
before = modes()
child = os.fork()
if not child:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
_, status = os.waitpid(child, os.WUNTRACED)
os.tcsetpgrp(0, os.getpgrp())
print("\\r\\nstopped:", os.WIFSTOPPED(status), "as before:", modes() == before, flush=True)
sys.stdin.readline()
os.tcsetpgrp(0, child)
os.kill(child, signal.SIGCONT)
_, status = os.waitpid(child, 0)
os.tcsetpgrp(0, os.getpgrp())
print("\\r\\nexit code:", os.waitstatus_to_exitcode(status), "as before:", modes() == before, flush=True)
"""


def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(tmp_path: Path) -> None:
    """With what a shell does for its jobs."""
    write_project(tmp_path, FILES)
    arguments = (sys.executable, "-m", "proctor", "watch", "--python", project_python())
    with at_terminal(tmp_path, program=[sys.executable, "-c", SHELL, *arguments]) as terminal:
        rests(terminal, "2 passed", "all tests")
        terminal.press(b"\x1a")
        terminal.wait_for("stopped: True as before: True")
        terminal.press(b"\n")
        terminal.wait(lambda lines: lines[-1].startswith(WAITS))
        terminal.press(b"\n")
        rests(terminal, "2 passed", "all tests")
        terminal.press(b"q")

        assert terminal.end()[-1] == "exit code: 0 as before: True"


def test_without_keys_to_read_it_watches_all_the_same(tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    program = [
        "sh",
        "-c",
        f'exec {sys.executable} -m proctor watch --python "$0" </dev/null',
        project_python(),
    ]
    with at_terminal(tmp_path, program=program) as terminal:
        terminal.wait(lambda lines: lines[-1] == "waiting for a change (Ctrl-C: quit)")
        assert modes(terminal) == ICANON_ECHO
        write_project(tmp_path, {"cart.py": "VALUE = 1  # still"})
        terminal.wait(lambda lines: "cart.py changed" in lines[0] and lines[-1].startswith("waiting"))
        terminal.press(b"\x03")
        terminal.end()

        assert terminal.process.returncode == 130

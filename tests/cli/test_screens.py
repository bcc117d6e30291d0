"""What a person sees while a run goes on: real runs at a real terminal, stopped at gates to be looked at."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest
from support.projects import GUARD, clean_environment, command, project_python, run_suite, write_project
from support.terminal import Terminal, at_terminal

from proctor.outcome import INTERRUPTING

PYTEST = """
    def test_good():
        pass

    def test_bad():
        total = 7
        assert total == 9

    def test_waits():
        open("gate").read()

    def test_ナイス():
        pass
"""
STUBBORN = """
    import signal

    def test_stays():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        open("started", "w").close()
        open("gate").read()
"""
UNITTEST = """
    import unittest

    class Shop(unittest.TestCase):
        def test_1(self):
            pass

        def test_2(self):
            self.assertEqual(1, 2)

        def test_3(self):
            open("gate").read()
"""
NODE = """
    const {test} = require('node:test');
    test('good', () => {});
    test('bad', () => { throw new Error('no'); });
    test('waits', async () => { await require('node:fs/promises').readFile('gate'); });
"""
PROGRAMS = """
    [[tests]]
    name = "quick"
    command = ["true"]

    [[tests]]
    name = "waits"
    command = ["cat", "gate"]
"""


def project(root: Path, files: dict[str, str]) -> Path:
    """Its tests wait where they read the file `gate`."""
    os.mkfifo(write_project(root, files) / "gate")
    return root


def open_gate(root: Path) -> None:
    """Who waits at the gate goes on. Opening it waits for them."""
    os.close(os.open(root / "gate", os.O_WRONLY))


def run(*more: str) -> tuple[str, ...]:
    return "run", "--python", project_python(), "--no-archive", "--format", "human", *more


def bars(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("━")]


def length(bar: str) -> int:
    return len(bar.partition(" ")[0])


def waits(lines: list[str], suite: str = "") -> bool:
    """The test at the gate, one of this suite, has taken so long that it is shown."""
    return suite in "".join(bars(lines)) and any(re.match(r"  \d+s .*waits", line) for line in lines)


@pytest.mark.parametrize("columns, rows", [(60, 20), (80, 24), (200, 50)])
def test_a_pytest_run_at_every_size(tmp_path: Path, columns: int, rows: int) -> None:
    project(tmp_path, {"test_shop.py": PYTEST})

    with at_terminal(tmp_path, *run(), columns=columns, rows=rows) as terminal:
        lines = terminal.wait(waits)
        assert terminal.cursor_hidden
        (bar,) = bars(lines)
        assert re.search(r"━ 2/4  1 failed  1 passed  \d+s", bar)
        assert lines[: lines.index(bar)] == (
            ["FAILED test_shop.py::test_bad at test_shop.py:6", "    assert 7 == 9"]
            if columns == 60
            else ["FAILED test_shop.py::test_bad at test_shop.py:6: assert 7 == 9"]
        )
        assert re.fullmatch(r"  \d+s test_shop.py::test_waits", lines[-1])
        assert {"red", "bold"} <= terminal.styles("FAILED")
        assert {"red", "bold"} <= terminal.styles("1 failed")
        assert terminal.styles("1 passed") == {"green"}
        assert terminal.styles("test_shop.py::test_bad") == {"default", "bold"}
        assert f"file://{tmp_path.resolve()}/test_shop.py".encode() in terminal.raw
        open_gate(tmp_path)
        lines = terminal.end()

    assert terminal.process.returncode == 1
    assert lines[-1].startswith("1 failed 3 passed in")
    assert bars(lines) == []
    assert not terminal.cursor_hidden


def test_a_terminal_that_grows_gets_a_longer_bar(tmp_path: Path) -> None:
    project(tmp_path, {"test_shop.py": PYTEST})

    with at_terminal(tmp_path, *run("-k", "waits or good"), columns=60) as terminal:
        (bar,) = bars(terminal.wait(waits))
        assert length(bar) == 14
        terminal.resize(120, 30)
        terminal.wait(lambda lines: [length(bar) for bar in bars(lines)] == [29])
        open_gate(tmp_path)
        terminal.end()

    assert terminal.process.returncode == 0


def test_a_unittest_run_looks_like_a_pytest_run(tmp_path: Path) -> None:
    project(tmp_path, {"test_shop.py": UNITTEST})

    with at_terminal(tmp_path, *run("--runner", "unittest")) as terminal:
        lines = terminal.wait(lambda lines: any(re.match(r"  \d+s .*test_3", line) for line in lines))
        open_gate(tmp_path)
        terminal.end()

    assert lines[0] == "FAILED test_shop.py::Shop::test_2 at test_shop.py:8: AssertionError: 1 != 2"
    assert re.search(r"━ 2/3  1 failed  1 passed  \d+s", lines[1])


def test_a_mixed_repository_names_its_suites_and_never_reaches_its_total_before_the_last(
    tmp_path: Path,
) -> None:
    if shutil.which("node") is None:
        pytest.skip("no node on this machine")
    files = {"test_shop.py": PYTEST, "proctor.toml": PROGRAMS}
    files |= {"package.json": '{"scripts": {"test": "node --test"}}', "shop.test.js": NODE}
    project(tmp_path, files)

    with at_terminal(tmp_path, *run(), columns=100) as terminal:
        seen = []
        for suite in ("pytest 1/3", "command 2/3", "node 3/3"):
            lines = terminal.wait(partial(waits, suite=suite))
            assert "collecting" not in " ".join(lines)
            seen += bars(lines)
            open_gate(tmp_path)
        terminal.end()

    facts = [re.sub(r"^\S+ |\s+\d+s$", "", bar) for bar in seen]
    assert facts == [
        "2/4+  1 failed  1 passed  pytest 1/3",
        "5/6+  1 failed  4 passed  command 2/3",
        "8 done  2 failed  6 passed  node 3/3",
    ]
    assert terminal.process.returncode == 1


def interrupted(terminal: Terminal) -> list[str]:
    terminal.press(b"\x03")
    return terminal.wait_for(INTERRUPTING)


def test_ctrl_c_is_answered_at_once_and_a_second_one_kills(tmp_path: Path) -> None:
    project(tmp_path, {"test_shop.py": STUBBORN})

    os.mkfifo(tmp_path / "started")

    with at_terminal(tmp_path, *run()) as terminal:
        (tmp_path / "started").read_bytes()  # waits until the test is running
        terminal.wait_for("0/1")
        lines = interrupted(terminal)
        assert "0/1" in lines[0]
        assert lines[1] == INTERRUPTING
        terminal.press(b"\x03")
        lines = terminal.end()

    assert terminal.process.returncode == 2
    assert lines[-1].startswith("INTERRUPTED 1 error in")
    assert "^C" not in "".join(lines)
    assert INTERRUPTING not in lines
    assert not terminal.cursor_hidden


@pytest.mark.parametrize("form", ["human", "json"])
def test_off_a_terminal_ctrl_c_is_answered_on_stderr(tmp_path: Path, form: str) -> None:
    project(tmp_path, {"test_shop.py": STUBBORN})
    os.mkfifo(tmp_path / "started")
    arguments = ("run", "--python", project_python(), "--no-archive", "--format", form)

    with subprocess.Popen(
        command(*arguments),
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        (tmp_path / "started").read_bytes()  # waits until the test is running
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline().decode() == f"proctor: {INTERRUPTING}\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=GUARD)

    assert (process.returncode, err) == (2, b"")
    assert INTERRUPTING not in out.decode()


def test_a_terminal_that_would_show_their_codes_gets_no_links_and_a_dumb_one_no_codes(
    tmp_path: Path,
) -> None:
    write_project(tmp_path, {"test_shop.py": "def test_bad():\n    assert 0\n"})

    for term, codes, links in (("linux", True, False), ("dumb", False, False)):
        with at_terminal(tmp_path, *run(), TERM=term) as terminal:
            lines = terminal.end()
        assert lines[-1].startswith("1 failed in")
        assert (b"\x1b[" in terminal.raw) is codes
        assert (b"\x1b]8" in terminal.raw) is links


def test_off_a_terminal_each_suite_is_introduced_and_a_file_has_the_report_alone(tmp_path: Path) -> None:
    write_project(
        tmp_path, {"test_a.py": "def test_a():\n    pass\n", "proctor.toml": PROGRAMS.split("\n\n")[0]}
    )

    ran = run_suite(tmp_path, "--format", "human", "-o", "human=report.txt")

    assert re.fullmatch(r"pytest [\d.]+, Python [\d.]+: 1 test\ncommand: 1 test\n2 passed in \S+\n", ran.out)
    assert re.fullmatch(r"2 passed in \S+\n", (tmp_path / "report.txt").read_text())
